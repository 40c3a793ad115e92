"""What the executors of a process are told beside the job types. It can be handed to another process."""

from msgspec import Struct


class ExecutorOptions(Struct, frozen=True, omit_defaults=True):
    """The same for all nodes of an installation, as a rule."""

    http_allow: tuple[str, ...] = ()
    """Hosts and networks that every http job may reach although they are not public."""
