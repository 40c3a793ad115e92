"""Schedules and backfills behind a server."""

from typing import Any

import msgspec

from rota.cli.remote.server import Server
from rota.engine.access.keys.access import Caller
from rota.engine.engine import Engine
from rota.engine.schedules.backfill import BackfillPlan, BackfillRequest, Backfills
from rota.engine.schedules.schedules import Schedules
from rota.model.schedules.request import ScheduleRequest
from rota.model.schedules.schedule import Schedule
from rota.sdk.call import present
from rota.shapes.schedules import BackfillPlanShape, ScheduleShape, backfill_plan_of, schedule_entry_of
from rota.store.contract.jobs import Admission
from rota.store.contract.schedules import ScheduleEntry


class RemoteSchedules(Schedules):
    """Schedules are told and changed there."""

    def __init__(self, engine: Engine, server: Server) -> None:
        super().__init__(engine.store, engine.definitions, engine.intake, engine.clock)
        self._server = server

    def find(self, name: str) -> ScheduleEntry:
        return schedule_entry_of(self._server.store.get("schedules", name, answer=ScheduleShape))

    def create(
        self,
        request: ScheduleRequest,
        *,
        by: Caller | None = None,
        uuid: str | None = None,
        managed_by: str = "",
        now: int | None = None,
    ) -> ScheduleEntry:
        done = self._server.send("POST", "schedules", body=_body(request))
        return self.find(done["uuid"])

    def replace(
        self, name: str, request: ScheduleRequest, *, by: Caller | None = None, expected: int | None = None
    ) -> ScheduleEntry:
        version = {} if expected is None else {"version": expected}
        return self._changed("PUT", name, body=_body(request) | version)

    def pause(self, name: str, note: str = "") -> ScheduleEntry:
        return self._changed("POST", name, "pause", body={"note": note})

    def resume(self, name: str) -> ScheduleEntry:
        return self._changed("POST", name, "resume")

    def run_now(self, name: str, *, by: Caller | None = None) -> Admission:
        return Admission(self._server.send("POST", "schedules", name, "run")["uuid"], True)

    def delete(self, *names: str) -> list[Schedule]:
        found = [self.find(name).schedule for name in names]
        for one in found:
            self._server.send("DELETE", "schedules", one.uuid)
        return found

    def _changed(self, method: str, name: str, *verb: str, body: object = None) -> ScheduleEntry:
        shape = self._server.send(method, "schedules", name, *verb, answer=ScheduleShape, body=body)
        return schedule_entry_of(shape)


def _body(request: ScheduleRequest) -> dict[str, Any]:
    """What differs from the defaults, as it was given."""
    default: dict[str, Any] = msgspec.to_builtins(ScheduleRequest(job_type=""))
    given: dict[str, Any] = msgspec.to_builtins(request)
    return {name: value for name, value in given.items() if name == "job_type" or value != default.get(name)}


class RemoteBackfills(Backfills):
    """Backfills are planned, made and cancelled there."""

    def __init__(self, engine: Engine, server: Server) -> None:
        super().__init__(engine.store, engine.definitions, engine.schedules, engine.clock)
        self._server = server

    def preview(self, name: str, request: BackfillRequest) -> BackfillPlan:
        return self._sent(name, request, preview=True)

    def start(self, name: str, request: BackfillRequest, *, by: Caller | None = None) -> BackfillPlan:
        return self._sent(name, request, preview=False)

    def progress(self, name: str, backfill_id: str) -> dict[str, int]:
        counts: dict[str, int] = self._server.store.get(
            "schedules", name, "backfills", backfill_id, answer=dict[str, int], within="jobs"
        )
        return counts

    def cancel(self, name: str, backfill_id: str) -> int:
        done: dict[str, int] = self._server.send("POST", "schedules", name, "backfills", backfill_id, "cancel")
        return done["cancelled"]

    def _sent(self, name: str, request: BackfillRequest, *, preview: bool) -> BackfillPlan:
        body = {**present(msgspec.to_builtins(request)), "preview": preview}
        shape = self._server.send("POST", "schedules", name, "backfills", answer=BackfillPlanShape, body=body)
        return backfill_plan_of(shape)
