"""Sequences of events in any order, repeated, late, with restarts in between: Rota answers what the oracle answers."""

from collections.abc import Callable
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rota.model.events.configuration import ClockKind, Configuration, Dependency, Late, default_match, first_state
from rota.model.events.event import make_event
from rota.model.ids import new_id
from rota.store import Store
from rota.store.contract.events import ConfigurationChange
from tests.engine.events.installation import NOW, EventsInstallation
from tests.engine.events.oracle import Dep, Oracle

START_S = 1_000_000
KINDS = ("FILE", "TABLE", "TIME_BASED")
PLACES = ("a", "b", "in/", "in/x", "in/y")

lives = st.sampled_from((0, 0, 1, 5, 20))
dependencies = st.lists(st.tuples(st.sampled_from(KINDS), st.sampled_from(PLACES), lives), min_size=1, max_size=4)
steps = st.tuples(
    st.sampled_from(KINDS),
    st.sampled_from(PLACES),
    st.integers(0, 40),  # when it happened
    st.integers(0, 15),  # how much later it was received
    st.booleans(),  # whether the process starts anew before it
)
sequences = st.lists(steps, min_size=1, max_size=25)


def defined(
    installation: EventsInstallation, queue: str, wishes: list[tuple[str, str, int]], clock: str, late: str
) -> Configuration:
    """A configuration put into the store as it is; the engine would refuse some that can never be met."""
    made = Configuration(
        uuid=new_id(NOW),
        name=f"c-{uuid4()}",
        queue=queue,
        job_type=str(uuid4()),
        dependencies=tuple(
            Dependency(type=kind, resource=place, life_s=life, match=default_match(kind, place))
            for kind, place, life in wishes
        ),
        clock=ClockKind(clock),
        late=Late(late),
    )
    installation.store.put_configurations([ConfigurationChange(made, first_state(made), None)])
    return made


@pytest.mark.stores("sqlite-file", "redis")  # a cluster runs the same scripts, and costs minutes here
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    wishes=dependencies,
    sequence=sequences,
    clock=st.sampled_from(("event", "event", "reception")),
    late=st.sampled_from(("ignore", "ignore", "join")),
    repeats=st.lists(st.integers(0, 24), max_size=3),
)
def test_every_sequence_gives_what_the_rules_say(
    store: Store,
    open_again: Callable[[], Store],
    wishes: list[tuple[str, str, int]],
    sequence: list[tuple[str, str, int, int, bool]],
    clock: str,
    late: str,
    repeats: list[int],
) -> None:
    own = f"{uuid4()}/"  # so that no configuration of an earlier example is hit
    wishes = [(kind, own + place, life) for kind, place, life in wishes]
    installation, handle = EventsInstallation(store), store
    configuration = defined(installation, str(uuid4()), wishes, clock, late)
    oracle = Oracle([Dep(*wish) for wish in wishes], clock=clock, late=late)
    for number in repeats:
        if number < len(sequence):
            sequence = [*sequence, sequence[number]]

    for kind, place, happened, delay, restarts in sequence:
        if restarts:
            if handle is not store:
                handle.close()
            handle = open_again()
            installation = EventsInstallation(handle)
        timestamp, received = START_S + happened, START_S + happened + delay
        event = make_event(
            id=new_id(NOW),
            type=kind,
            resource=own + place,
            stated_time=timestamp * 1_000_000,
            received_at=received * 1_000,
        )
        expected = oracle.on_event(kind, own + place, timestamp, received)
        answer = installation.events.post([event])

        assert [one.dependency for one in answer.validated] == [configuration.dependencies[n] for n in expected[0]]
        assert bool(answer.triggered) is expected[1]
    (entry,) = installation.store.find_configurations([configuration.uuid])
    assert entry is not None
    assert entry.state.last_execution == (None if oracle.last is None else oracle.last * 1_000_000)
