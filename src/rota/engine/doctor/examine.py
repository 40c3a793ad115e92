"""The whole examination of an installation, as one process sees it."""

from collections.abc import Iterator

from rota.engine.access.keys.access import Caller
from rota.engine.access.keys.rights import check_may_repair
from rota.engine.doctor.finding import Finding, ok
from rota.engine.doctor.key_checks import check_keys
from rota.engine.doctor.record_checks import check_records
from rota.engine.doctor.schedule_checks import check_schedules
from rota.engine.doctor.store_checks import check_store
from rota.engine.engine import Engine
from rota.model.access.masking import mask_url
from rota.settings import Settings


def examine(
    rota: Engine, settings: Settings, *, forgets: bool = False, sets_back: bool = False, by: Caller | None = None
) -> Iterator[Finding]:
    """What there is to say of a store that answers. `forgets` deletes what cannot be read, `sets_back` lets schedules
    that a wrong clock sent into the future go on from now."""
    check_may_repair(by, forgets=forgets, sets_back=sets_back)
    yield ok("store", f"{mask_url(settings.store)} answers")
    yield from check_keys(rota, settings)
    yield from check_store(rota)
    yield from check_records(rota, forgets=forgets)
    yield from check_schedules(rota, sets_back=sets_back)
