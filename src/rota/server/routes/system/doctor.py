"""The examination of an installation."""

from collections.abc import Iterator

from msgspec import Struct

from rota.engine.access.keys.access import Caller, Scope
from rota.engine.doctor.examine import examine
from rota.engine.doctor.finding import Finding, Level, problem
from rota.engine.doctor.machine_checks import check_machine
from rota.engine.engine import Engine
from rota.errors import StoreError
from rota.server.api import Api
from rota.server.operations import Call, Routes
from rota.store.contract.store import Store

routes = Routes("doctor")


class Repairs(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What to mend on the way."""

    forget_unreadable: bool = False
    """Delete jobs, schedules, configurations and events that cannot be read."""
    set_back: bool = False
    """Let schedules that a wrong clock sent into the future go on from now."""


class Examination(Struct, frozen=True):
    """What was found, and what to do about it."""

    healthy: bool
    findings: list[Finding]


@routes.get("/api/doctor", needs=Scope.AUDIT_READ, answer=Examination)
def examine_installation(api: Api, call: Call[None, None]) -> Examination:
    """Look for problems of the server's machine, the store and what is in it."""
    return _examined(api, Repairs(), call.caller)


@routes.post("/api/doctor", needs=Scope.TYPES_WRITE, body=Repairs, answer=Examination)
def repair_installation(api: Api, call: Call[Repairs, None]) -> Examination:
    """The same, and mend what is asked for.

    A repair also needs the scopes of what it changes: `sched:w`, and to forget jobs, configurations and events
    `jobs:w`, `config:w` and `events:w`."""
    return _examined(api, call.body, call.caller)


def _examined(api: Api, repairs: Repairs, by: Caller) -> Examination:
    """By a handle of its own on the store: one that has been open for long remembers records that were mended since."""
    found = [*check_machine(api.settings), *_light_scheduler(api)]
    store = api.engine.store.reopen()
    try:
        rota = Engine.open(store, event_types=api.engine.event_types)
        forgets, sets_back = repairs.forget_unreadable, repairs.set_back
        found += examine(rota, api.settings, forgets=forgets, sets_back=sets_back, by=by)
    finally:
        found += _close(store)
    return Examination(all(one.level is not Level.PROBLEM for one in found), found)


def _close(store: Store) -> Iterator[Finding]:
    """Whether what was written on the way reached the disk is known only now."""
    try:
        store.close()
    except StoreError as error:
        yield problem("store", str(error), "see to the store's disk; nodes go on by themselves")


def _light_scheduler(api: Api) -> Iterator[Finding]:
    """Whether the one on Kafka does its duty, as this server's instance sees it."""
    trouble = api.engine.light.trouble if api.engine.light else None
    if trouble:
        yield problem("kafka", trouble, "see that kafka.brokers is right, and kafka.options lets Rota in")
