"""A file of definitions, applied behind a server."""

from msgspec import Struct

from rota.cli.remote.server import Server
from rota.engine.access.keys.access import Caller
from rota.engine.definitions.file import Difference, FileDefinitions, Wanted
from rota.engine.engine import Engine
from rota.shapes.differences import DifferenceShape, difference_of


class Differences(Struct, frozen=True):
    changes: list[DifferenceShape]


class RemoteFile(FileDefinitions):
    """The file is read here, for errors that name its lines, and again there."""

    def __init__(self, engine: Engine, server: Server) -> None:
        super().__init__(engine.store, engine.definitions, engine.schedules, engine.configurations)
        self._server = server

    def diff(self, wanted: Wanted, *, by: Caller | None = None) -> list[Difference]:
        return self._send("diff", wanted)

    def apply(self, wanted: Wanted, *, by: Caller | None = None) -> list[Difference]:
        return self._send("apply", wanted)

    def _send(self, verb: str, wanted: Wanted) -> list[Difference]:
        body = {"owner": wanted.owner, "prune": wanted.prunes, "file": wanted.written}
        found: Differences = self._server.send("POST", "definitions", verb, answer=Differences, body=body)
        return [difference_of(one) for one in found.changes]
