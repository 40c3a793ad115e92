"""What callers of the client put together themselves."""

from msgspec import Struct


class NewJob(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A job to be made, for `enqueue_many`."""

    job_type_uuid: str
    """Uuid or name."""
    arguments: dict[str, object] = {}
    priority: int = 0
    delay: int | str | None = None
    run_at: int | None = None
    expires: int | str | None = None
    expires_at: int | None = None
    unique_key: str | None = None
    timeout: int | str | None = None
    retries: dict[str, int | float] | None = None
    uuid: str | None = None
    """One's own id: handing the same job in again makes no second one."""


class Which(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Conditions that jobs must all meet; an absent one accepts everything."""

    state: list[str] | None = None
    job_type: str | None = None
    node_type: str | None = None
    node: str | None = None
    schedule: str | None = None
    since: int | None = None
    until: int | None = None
    search: str | None = None
