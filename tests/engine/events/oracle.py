"""The rules of event-based scheduling once more, written from their text alone and as simply as can be.

Everything is kept, nothing is merged or forgotten, and every whole second is tried. Times are whole seconds. It shares
no code with Rota.
"""


class Dep:
    """A dependency: accepts a type and a resource; lives for some seconds."""

    def __init__(self, kind: str, resource: str, life: int) -> None:
        self.kind, self.resource, self.life = kind, resource, life

    def takes(self, kind: str, resource: str) -> bool:
        if kind != self.kind:
            return False
        if self.kind == "FILE" and self.resource.endswith("/"):
            return resource.startswith(self.resource)
        return resource == self.resource


class Oracle:
    """One configuration that needs all of its dependencies."""

    def __init__(self, deps: list[Dep], *, clock: str = "event", late: str = "ignore") -> None:
        self.deps = deps
        self.clock = clock
        self.late = late
        self.stored: list[tuple[int, int]] = []
        """Number of a dependency, and the instant at which an event validated it."""
        self.last: int | None = None

    def on_event(self, kind: str, resource: str, timestamp: int, received: int) -> tuple[list[int], bool]:
        """The dependencies that the event validates, and whether it triggers."""
        hit = [n for n, dep in enumerate(self.deps) if dep.takes(kind, resource)]
        t = min(timestamp, received)
        if not hit:
            return [], False
        if self.last is not None and not t > self.last:
            return [], False
        place = t if self.clock == "event" else received
        met_at = self._first_instant(hit, place)
        self.stored += [(n, place) for n in hit]
        if met_at is None:
            return hit, False
        self.last = met_at if self.last is None else max(met_at, self.last)
        return hit, True

    def _first_instant(self, hit: list[int], place: int) -> int | None:
        longest = max(self.deps[n].life for n in hit)
        for met_at in range(place, place + longest + 1):
            if all(self._met(n, hit, place, met_at) for n in range(len(self.deps))):
                return met_at
        return None

    def _met(self, number: int, hit: list[int], place: int, met_at: int) -> bool:
        life = self.deps[number].life
        if number in hit and met_at <= place + life:
            return True
        if life == 0 and self.late != "join":
            return False
        return any(n == number and s <= met_at <= s + life for n, s in self.stored)
