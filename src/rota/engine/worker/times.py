"""How long a worker waits for what. A value that it is given, so that a test need not wait as long."""

from msgspec import Struct

IDLE_CHECK_S = 5.0
ABANDON_S = 7.0


class WorkerTimes(Struct, frozen=True, kw_only=True):
    """The waiting times of one worker; nobody but a test has a reason to change them."""

    idle_check_s: float = IDLE_CHECK_S
    """A waiting worker asks for jobs at least this often, should ever a wake-up be lost."""
    retry_s: tuple[float, ...] = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
    """How long to wait after the first, the second, ... failure of the store in a row; the last one is repeated."""
    abandon_s: float = ABANDON_S
    """Runs that do not end this long after they were told to, when the node must go, are left behind. Longer than the
    grace that executors give to what they stop."""
