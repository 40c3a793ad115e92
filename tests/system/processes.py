"""What processes there are, as the kernel tells it."""

from pathlib import Path


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
