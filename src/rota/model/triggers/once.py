"""Firing once: at an instant, or a while after the schedule was made."""


def instant_of_once(at_ms: int | None, delay_ms: int | None, created_at: int) -> int:
    """When it fires. An instant wins over a delay; with neither it is at once."""
    if at_ms is not None:
        return at_ms
    return created_at + (delay_ms or 0)


def next_once(instant_ms: int, after_ms: int) -> int | None:
    """The instant, if it is strictly after another; else there is none to come."""
    return instant_ms if instant_ms > after_ms else None
