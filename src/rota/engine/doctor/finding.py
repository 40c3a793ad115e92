"""What a check of `rota doctor` found."""

from enum import StrEnum

from msgspec import Struct


class Level(StrEnum):
    OK = "ok"
    WARNING = "warning"
    """Worth knowing; nothing is wrong yet."""
    PROBLEM = "problem"


class Finding(Struct, frozen=True):
    check: str
    level: Level
    message: str
    fix: str | None = None
    """What to do about it."""


def ok(check: str, message: str) -> Finding:
    return Finding(check, Level.OK, message)


def warning(check: str, message: str, fix: str) -> Finding:
    return Finding(check, Level.WARNING, message, fix)


def problem(check: str, message: str, fix: str) -> Finding:
    return Finding(check, Level.PROBLEM, message, fix)
