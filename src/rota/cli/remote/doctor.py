"""An installation that its server examines."""

from msgspec import Struct

from rota.cli.remote.engine import RemoteEngine
from rota.engine.doctor.finding import Finding, ok
from rota.engine.engine import Engine


class Examination(Struct, frozen=True):
    findings: list[Finding]


def examine_remote(rota: Engine, *, forgets: bool, sets_back: bool) -> list[Finding]:
    """What the server found, on its own machine and in the store."""
    assert isinstance(rota, RemoteEngine)
    if forgets or sets_back:
        body = {"forget_unreadable": forgets, "set_back": sets_back}
        found: Examination = rota.server.send("POST", "doctor", answer=Examination, body=body)
    else:
        found = rota.server.store.get("doctor", answer=Examination)
    return [ok("server", f"{rota.store.url} answers"), *found.findings]
