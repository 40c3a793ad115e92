"""Why a configuration makes no job now: what lacks, and what an event was worth."""

from rota.model.events.configuration import Configuration, ConfigurationState, Dependency, Evidence
from rota.model.events.event import EventRef
from rota.model.job_type import JobType
from rota.model.node import Node, NodeType
from rota.model.why.answer import Code, Reason
from rota.model.why.configuration import ConfigurationFacts, why_configuration
from rota.model.why.queue import QueueFacts

NOW = 1_700_000_000_000
SECOND = 1_000
NODE = Node(uuid="n", node_type="q", last_ping=NOW, slots=2)


def lacking(life_s: int, came: int) -> Reason:
    """What is told of a dependency whose last event has this time, and which is valid from then on."""
    ref = EventRef("e", "a", came * 1_000, came)
    span = ((came * 1_000, (came + life_s * SECOND) * 1_000),) if life_s else ()
    configuration = Configuration(
        uuid="c",
        name="c",
        queue="q",
        job_type="t",
        dependencies=(Dependency(type="FILE", resource="a", life_s=life_s),),
    )
    facts = ConfigurationFacts(
        configuration=configuration,
        state=ConfigurationState(evidence=(Evidence(ref, span),)),
        queue=QueueFacts(now=NOW, queue="q", node_type=NodeType(uuid="q", name="default"), nodes=(NODE,)),
        job_type=JobType(uuid="t", name="report", executor="log"),
    )
    found = why_configuration(facts)
    assert found.also == ()
    return found.lead


def test_an_event_whose_life_is_over_has_expired_at_its_end() -> None:
    found = lacking(60, NOW - 60 * SECOND - 1)

    assert (found.code, found.event, found.since) == (Code.DEPENDENCY_EXPIRED, "e", NOW - 1)
    assert lacking(60, NOW - 60 * SECOND).code is Code.EVENT_MISSING


def test_an_event_that_is_dated_in_the_future_has_not_expired() -> None:
    found = lacking(60, NOW + 5 * SECOND)

    assert (found.code, found.event) == (Code.DEPENDENCY_MISSING, "e")
    assert "is dated in the future, 2023-11-14 22:13:25 UTC" in found.sentence


def test_what_has_no_life_does_not_expire() -> None:
    found = lacking(0, NOW - 5 * SECOND)

    assert (found.code, found.event) == (Code.DEPENDENCY_MISSING, "e")
    assert "has no life" in found.sentence
