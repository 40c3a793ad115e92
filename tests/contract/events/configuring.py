"""Configurations, events and what they mean, as the tests of stores need them."""

from msgspec import structs

from rota.model.events.configuration import Configuration, Dependency, first_state
from rota.model.events.evaluation import Evaluation, Verdict, evaluate
from rota.model.events.event import Event, ref_of
from rota.model.ids import new_id
from rota.model.job import JobSpec
from rota.model.job_type import JobType
from rota.model.node import NodeType
from rota.store import Store
from rota.store.contract.events import (
    ConfigurationChange,
    ConfigurationEntry,
    Validation,
    Verdicts,
)
from tests.contract.building import (
    NOW,
    new_queue,
)

JOB_TYPE = "0190b0c0-0000-7000-8000-000000000001"


def dependency(resource: str, type: str = "FILE", life_s: int = 60, **changes: object) -> Dependency:
    fields: dict[str, object] = {"type": type, "resource": resource, "life_s": life_s}
    return Dependency(**fields | changes)  # type: ignore[arg-type]


def configuration(queue: str, *dependencies: Dependency, name: str | None = None, **changes: object) -> Configuration:
    uuid = new_id(NOW)
    fields: dict[str, object] = {
        "uuid": uuid,
        "name": name or uuid,
        "queue": queue,
        "job_type": JOB_TYPE,
        "dependencies": dependencies or (dependency("a"),),
    }
    return Configuration(**fields | changes)  # type: ignore[arg-type]


def put(store: Store, one: Configuration) -> ConfigurationEntry:
    state = first_state(one)
    assert store.put_configurations([ConfigurationChange(one, state, None)]) == [True]
    return ConfigurationEntry(one, state)


def event(resource: str = "a", type: str = "FILE", *, at: int = NOW, own_id: str | None = None) -> Event:
    return Event(
        id=own_id or new_id(NOW),
        type=type,
        resource=resource,
        time=at * 1_000,
        received_at=at,
        has_own_id=own_id is not None,
    )


def verdicts(entry: ConfigurationEntry, one: Event, *specs: JobSpec) -> Verdicts:
    """What one event means, with these jobs."""
    judgement = evaluate(entry.configuration, entry.state, one)
    told: list[Evaluation] = [judgement.evaluation]
    if specs:
        told = [structs.replace(judgement.evaluation, verdict=Verdict.TRIGGERED, job=each.id) for each in specs]
    state = structs.replace(judgement.state, evaluated=entry.state.evaluated + len(told))
    valid = tuple(Validation(ref_of(one), n, one.has_own_id) for n in judgement.hits)
    return Verdicts(entry.configuration, entry.state.version, state, tuple(told), valid, specs)


def found(store: Store, one: Configuration) -> ConfigurationEntry:
    entry = store.find_configurations([one.uuid])[0]
    assert entry is not None
    return entry


def matched(store: Store, *events: Event) -> list[set[str]]:
    return [{place.uuid for place in places} for places in store.match_events(events)]


def make_queue(store: Store) -> str:
    """A queue as a node type has one, and the job type `load`, of which all jobs of these tests are."""
    queue = new_queue()
    store.put_node_types([NodeType(uuid=queue, name=queue)])
    store.put_job_types([JobType(uuid=JOB_TYPE, name="load", executor="log", node_type=queue)])
    return queue


def await_ends(store: Store, name: str = "load") -> Configuration:
    """A configuration, in a queue of its own, that waits for jobs of a type."""
    return put(store, configuration(new_queue(), dependency(name, "JOB"))).configuration


def outcomes(store: Store, queue: str) -> list[str | None]:
    return [event.outcome for event in store.read_outbox(queue, limit=10)]
