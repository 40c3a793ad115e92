"""What people are told of events that were taken."""

import pytest

from rota.engine.access.audit.actor import acting
from rota.engine.events import records as told
from rota.engine.events.records import RecordQuery, read_records
from rota.model.access.audit import Actor
from rota.model.events.record import MAX_MEANINGS, EventRecord
from rota.model.ids import new_id
from rota.model.job_type import JobType, Unique
from rota.store import Store
from rota.testing import Faults
from rota.testing.faults import away
from tests.engine.events.installation import EventsInstallation, needs

ALL = RecordQuery()


def meant(record: EventRecord) -> list[tuple[str, str]]:
    return [(one.name, one.verdict.value) for one in record.meanings]


def test_each_event_is_told_with_who_told_of_it_and_what_it_meant(store: Store) -> None:
    here = EventsInstallation(store)
    here.define_configuration("fires", needs("FILE", "/in/"))
    here.define_configuration("waits", needs("FILE", "/in/"), needs("TABLE", "orders"))
    with acting(Actor("shop", "api 10.0.0.5")):
        job = here.post("FILE", "/in/a", 1).triggered[0].job
        here.post("TABLE", "nobody waits for this", 2)

    unheard, heard = read_records(store, ALL, limit=10).records

    assert (heard.event.resource, heard.event.by, heard.matched) == ("/in/a", "shop", 2)
    assert sorted(meant(heard)) == [("fires", "triggered"), ("waits", "waiting")]
    assert [one.job for one in heard.meanings if one.job] == [job]
    assert (unheard.event.type, unheard.matched, unheard.meanings) == ("TABLE", 0, ())


def test_an_event_that_did_not_count_is_told_too(store: Store) -> None:
    here = EventsInstallation(store)
    here.define_configuration("fires", needs("FILE", "/in/"))
    here.post("FILE", "/in/a", 2, eventId="mine")
    here.post("FILE", "/in/a", 3, eventId="mine")
    here.post("FILE", "/in/b", 1)

    older, duplicate, first = read_records(store, ALL, limit=10).records

    assert [meant(one) for one in (first, duplicate, older)] == [
        [("fires", "triggered")],
        [("fires", "duplicate")],
        [("fires", "older")],
    ]


def test_an_event_whose_job_lives_already_names_that_job(store: Store) -> None:
    here = EventsInstallation(store)
    here.definitions.define_job_type(
        JobType(uuid=new_id(1), name="single", executor="log", unique=Unique.WHILE_PENDING)
    )
    here.define_configuration("c", needs("FILE", "a"), job={"job_type": "single"})
    job = here.post("FILE", "a", 1).triggered[0].job
    here.post("FILE", "a", 2)

    (meaning,) = read_records(store, ALL, limit=1).records[0].meanings

    assert (meaning.verdict.value, meaning.job) == ("unique", job)


def test_of_very_many_configurations_the_first_are_told_and_all_are_counted(store: Store) -> None:
    here = EventsInstallation(store)
    for number in range(MAX_MEANINGS + 3):
        here.define_configuration(f"c{number}", needs("FILE", "/in/"))
    here.post("FILE", "/in/a", 1)

    (record,) = read_records(store, ALL, limit=10).records

    assert record.matched == MAX_MEANINGS + 3
    assert len(record.meanings) == MAX_MEANINGS


def test_events_are_found_by_type_and_the_beginning_of_their_resource(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = EventsInstallation(store)
    for number in range(6):
        here.post("FILE", f"/in/{number % 2}/{number}", 1)
        here.post("TABLE", f"/in/{number % 2}/{number}", 1)
    monkeypatch.setattr(told, "_PAGE", 2)
    monkeypatch.setattr(told, "_MOST_READ", 4)
    query = RecordQuery("FILE", "/in/1/")

    found, cursor, rounds = list[str](), None, 0
    while rounds < 20:
        page = read_records(store, query, limit=2, cursor=cursor)
        found += [one.event.resource for one in page.records]
        cursor, rounds = page.cursor, rounds + 1
        if cursor is None:
            break

    assert found == ["/in/1/5", "/in/1/3", "/in/1/1"]
    assert rounds > 2, "few are looked at in one call"


def test_an_event_is_taken_although_nobody_can_be_told_of_it(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    faults = Faults(store)
    here = EventsInstallation(faults.store)
    here.define_configuration("fires", needs("FILE", "/in/"))
    faults.before("record_events", away)

    assert here.triggers("FILE", "/in/a", 1)
    assert "not recorded" in caplog.text
