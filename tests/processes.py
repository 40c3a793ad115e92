"""What processes there are, as the kernel tells it."""

from pathlib import Path

from tests.servers import wait_until


def state_of(pid: int) -> str:
    """Of a process or thread, in the kernel's letters; empty if there is none."""
    return b"".join(_facts(pid)[:1]).decode()


def is_alive(pid: int) -> bool:
    """Whether it runs. One that nobody has reaped yet is dead all the same."""
    return state_of(pid) not in ("", "Z", "X")


def processes_with(marker: str) -> list[int]:
    """The living processes that have this text in their environment. A zombie has none."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if marker.encode() in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue  # it ended meanwhile, or is not ours
    return found


def sleepers_with(marker: str) -> list[int]:
    """Those of them that have become the program `sleep`."""
    return [pid for pid in processes_with(marker) if _read(pid, "cmdline").startswith(b"sleep\0")]


def keepers_of(parent: int) -> list[int]:
    """The keepers that this process has started and that are alive."""
    return [pid for pid in children_of(parent) if b"\0rota-keeper\0" in _read(pid, "cmdline")]


def keeper_of(parent: int) -> int:
    """The one that it has; waits for it, because the kernel tells the name of a process only a moment after its start,
    and while another one is still going."""
    found: list[int] = []

    def is_one() -> bool:
        found[:] = keepers_of(parent)
        return len(found) == 1

    wait_until(is_one, "one keeper to run")
    return found[0]


def children_of(parent: int) -> list[int]:
    """Also those that have ended and that nobody has reaped."""
    pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    facts = {pid: _facts(pid) for pid in pids}
    return [pid for pid, fields in facts.items() if fields and int(fields[1]) == parent]


def _facts(pid: int) -> list[bytes]:
    """Its state, its parent and so on; nothing if there is none. The name before them, up to the last parenthesis, may
    hold anything."""
    return _read(pid, "stat").rpartition(b")")[2].split()


def _read(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""  # it ended meanwhile
