"""Values in which every field says something of its own, so that none can be left out or taken for another unseen."""

from rota.model.schedules.schedule import Overlap, Schedule
from rota.model.triggers.catch_up import CatchUp, CatchUpMode
from rota.model.triggers.trigger import Trigger


def whole_schedule(trigger: Trigger) -> Schedule:
    return Schedule(
        uuid="id",
        name="nightly",
        trigger=trigger,
        queue="",
        job_type="jt",
        arguments={"a": 1},
        priority=2,
        max_runs=3,
        overlap=Overlap.BUFFER_ONE,
        catch_up=CatchUp(mode=CatchUpMode.ALL, window_ms=40_000, max_fires=5),
        paused=True,
        pause_note="why",
        pause_on_failure=True,
        excluded=("2030-01-01",),
        created_at=6,
        managed_by="file",
    )
