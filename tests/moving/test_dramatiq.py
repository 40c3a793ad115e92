"""What Dramatiq's programs say, one thing at a time."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import rota.moving.dramatiq as dramatiq
from rota import GiveUp, InvalidInput
from rota.moving.dramatiq import broker as broker_module
from rota.moving.dramatiq.broker import Broker
from rota.moving.dramatiq.brokers.redis import RedisBroker
from rota.moving.dramatiq.results import ResultFailure, ResultMissing, Results, ResultTimeout

seen: list[str] = []


@pytest.fixture
def broker(folder: Path) -> Iterator[Broker]:
    made = RedisBroker(url="sqlite:///rota.db", middleware=[Results()])
    dramatiq.set_broker(made)
    yield made
    made.close()


def work(broker: Broker, queue: str | None = None) -> None:
    broker.__rota_app__.run_worker(burst=True, queue=queue)


def add(a: int, b: int = 1) -> int:
    return a + b


async def add_later(a: int, b: int) -> int:
    return a + b


def fail() -> None:
    raise LookupError("no")


def fail_too() -> None:
    raise LookupError("no")


def give_up() -> None:
    raise GiveUp("for good")


async def give_up_later() -> None:
    raise GiveUp("for good")


def ask_again() -> None:
    raise dramatiq.Retry("later", delay=0.4) from LookupError("busy")


def note(word: str, number: int = 7) -> None:
    seen.append(f"{word} {number}")


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"actor_class": object}, "actor_class"),
        ({"retry_when": add}, "retry_when"),
        ({"on_failure": "x"}, "on_failure"),
        ({"colour": 1}, "colour"),
    ],
)
def test_an_option_of_an_actor_that_is_not_carried_is_refused(broker: Broker, options: Any, field: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{field}: of @actor is not carried by Rota; "):
        dramatiq.actor(**options)(add)


@pytest.mark.parametrize("options", [{"on_success": "x"}, {"colour": 1}])
def test_an_option_of_a_message_that_is_not_carried_is_refused(broker: Broker, options: Any) -> None:
    actor = dramatiq.actor(add)

    with pytest.raises(InvalidInput, match=f"^{next(iter(options))}: of send_with_options is not carried"):
        actor.send_with_options(args=(1,), **options)


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"url": "amqp://"}, "client"),
        ({"namespace": "x"}, "namespace"),
        ({"middleware": [object()]}, "object"),
        ({"url": "sqlite:///a.db", "host": "b"}, "url"),
    ],
)
def test_a_broker_that_is_not_carried_is_refused(options: Any, field: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{field}: "):
        RedisBroker(**options)


def test_options_of_an_actor_are_carried(broker: Broker) -> None:
    plain = dramatiq.actor(add).send(1)
    limits: dict[str, Any] = {"max_retries": 2, "min_backoff": 100, "max_backoff": 300, "time_limit": 5_000}
    own = dramatiq.actor(actor_name="own", queue_name="mails", priority=3, **limits)(fail)
    message = own.send_with_options(delay=timedelta(hours=1), max_age=60_000)
    endless = dramatiq.actor(actor_name="endless", max_retries=None, time_limit=float("inf"))(fail)

    engine = broker.__rota_app__.engine
    engine_type = engine.definitions.job_type(message.handle.job.spec.job_type)
    assert (plain.actor_name, own.actor_name, own.queue_name, own.priority) == ("add", "own", "mails", 3)
    assert (engine_type.timeout_ms, engine_type.retry.attempts, engine_type.node_type) == (5_000, 3, "mails")
    assert [engine_type.retry.delay_after(number, 0) for number in (1, 2, 3)] == [100, 200, 300]
    spec = message.handle.job.spec
    assert (spec.priority, spec.run_at, spec.expires_at) == (
        -3,
        spec.enqueued_at + 3_600_000,
        spec.enqueued_at + 60_000,
    )
    endless.send()
    assert engine.definitions.job_type("endless").timeout_ms is None
    assert engine.definitions.job_type("add").timeout_ms == 600_000


def test_a_result_is_there_when_the_actor_has_ended(broker: Broker) -> None:
    actor = dramatiq.actor(add)
    message, coroutine = actor.send(1), dramatiq.actor(add_later).send(2, b=5)

    with pytest.raises(ResultMissing):
        message.get_result()
    with pytest.raises(ResultTimeout):
        message.get_result(block=True, timeout=1)
    with pytest.raises(ResultMissing):
        actor.message(1).get_result()
    work(broker)

    assert (message.get_result(), actor(1, b=2)) == (2, 3)
    assert str(coroutine.get_result(block=True)) == "7"


def test_what_an_actor_raises_says_whether_it_is_tried_again(broker: Broker) -> None:
    thrown = dramatiq.actor(throws=LookupError, max_retries=5)(fail).send()
    again = dramatiq.actor(max_retries=2, min_backoff=1, max_backoff=1)(fail_too).send()
    asked = dramatiq.actor(max_retries=3, min_backoff=3_600_000)(ask_again).send()
    work(broker)

    assert [one.handle.job.attempts for one in (thrown, again, asked)] == [1, 3, 4]
    for message, words in ((thrown, "no"), (again, "no"), (asked, "busy")):
        with pytest.raises(ResultFailure) as failed:
            message.get_result()
        assert (failed.value.orig_exc_type, failed.value.orig_exc_msg) == ("LookupError", words)


@pytest.mark.parametrize("function", [give_up, give_up_later])
def test_an_actor_that_gives_up_is_not_tried_again(broker: Broker, function: Any) -> None:
    message = dramatiq.actor(max_retries=3, min_backoff=1, max_backoff=1)(function).send()
    work(broker)

    assert message.handle.job.attempts == 1


def test_what_a_message_leaves_open_of_its_retries_is_as_its_actor_says(broker: Broker) -> None:
    never = dramatiq.actor(actor_name="never", max_retries=0)(fail).send_with_options(min_backoff=100)
    soon = dramatiq.actor(actor_name="soon", min_backoff=100, max_backoff=300)(fail).send_with_options(max_retries=5)
    always = dramatiq.actor(actor_name="always", max_retries=None)(fail).send_with_options(min_backoff=100)

    policies = [one.handle.job.spec.retry for one in (never, soon, always)]
    assert [policy and policy.attempts for policy in policies] == [1, 6, 1_000]
    assert [policies[1] and policies[1].delay_after(number, 0) for number in (1, 2, 3)] == [100, 200, 300]


def test_what_a_message_says_of_its_retries_goes_before_what_its_actor_says(broker: Broker) -> None:
    """More than there may be is as often as can be."""
    actor = dramatiq.actor(max_retries=2, min_backoff=100, max_backoff=300)(fail)
    policy = actor.send_with_options(max_retries=4, min_backoff=200).handle.job.spec.retry
    endless = actor.send_with_options(max_retries=1_000_000).handle.job.spec.retry

    assert policy is not None
    assert (policy.attempts, [policy.delay_after(number, 0) for number in (1, 2)]) == (5, [200, 300])
    assert endless is not None
    assert endless.attempts == 1_000


def test_a_message_is_enqueued_once(broker: Broker) -> None:
    message = dramatiq.actor(add).message(1)
    broker.enqueue(message)
    broker.enqueue(message)
    work(broker)

    assert message.get_result() == 2


def test_a_pipeline_hands_results_on(broker: Broker) -> None:
    actor = dramatiq.actor(add)
    pipe = actor.message(1, 2) | actor.message(10) | dramatiq.pipeline([actor.message(100)])
    ignoring = dramatiq.pipeline([actor.message(1, 2), actor.message_with_options(args=(5,), pipe_ignore=True)]).run()
    with pytest.raises(ResultMissing):
        pipe.get_result(block=True)
    pipe.run()
    assert (len(pipe), pipe.completed) == (3, False)
    work(broker)

    assert (pipe.get_result(), list(pipe.get_results(block=True)), pipe.completed) == (113, [3, 13, 113], True)
    assert ignoring.get_result(block=True) == 6


def test_a_group_is_waited_for_and_followed(broker: Broker) -> None:
    actor, noting = dramatiq.actor(add), dramatiq.actor(note)
    group = dramatiq.group([actor.message(1), actor.message(2)])
    group.add_completion_callback(noting.message("all"))
    group.run()
    assert (len(group), group.completed_count) == (2, 0)
    work(broker)

    group.wait()
    assert (list(group.get_results()), group.completed, seen) == ([2, 3], True, ["all 7"])


def test_a_composition_that_flows_cannot_carry_is_refused(broker: Broker) -> None:
    actor = dramatiq.actor(add)
    with pytest.raises(InvalidInput, match=r"^group: takes single messages"):
        dramatiq.group([dramatiq.pipeline([actor.message(1)])])  # type: ignore[list-item]
    with pytest.raises(InvalidInput, match=r"^delay: is not carried for a group or pipeline"):
        dramatiq.group([actor.message(1)]).run(delay=5)
    with pytest.raises(InvalidInput, match=r"^timeout: of add is not carried in a group or pipeline"):
        dramatiq.group([actor.message_with_options(args=(1,), time_limit=5)]).run()


def test_what_is_not_said_of_an_actor_is_as_in_dramatiq(broker: Broker) -> None:
    message = dramatiq.actor(add).send(1)

    found = broker.__rota_app__.engine.definitions.job_type("add")
    week_ms = 7 * 24 * 3600 * 1000
    assert (found.retry.attempts, found.retry.delay_ms, found.retry.max_delay_ms) == (21, 15_000, week_ms)
    assert (found.timeout_ms, found.node_type, message.handle.job.spec.priority) == (600_000, "default", 0)
    assert message.handle.job.spec.expires_at is None


@pytest.mark.parametrize(("of_message", "age_ms"), [({}, 5_000), ({"max_age": 60_000}, 60_000)])
def test_a_message_is_as_old_as_its_actor_allows_unless_it_says_more(
    broker: Broker, of_message: dict[str, Any], age_ms: int
) -> None:
    spec = dramatiq.actor(max_age=5_000)(add).send_with_options(args=(1,), **of_message).handle.job.spec

    assert spec.expires_at == spec.enqueued_at + age_ms


def test_options_of_a_message_are_in_milliseconds(broker: Broker) -> None:
    actor = dramatiq.actor(add)
    sent = actor.send_with_options(args=(1,), kwargs={"b": 2}, delay=1_500, time_limit=2_500)
    enqueued = broker.enqueue(actor.message(1), delay=700)
    now = broker.enqueue(actor.message_with_options(args=(1,), delay=0))

    specs = [one.handle.job.spec for one in (sent, enqueued, now)]
    assert [one.run_at and one.run_at - one.enqueued_at for one in specs] == [1_500, 700, None]
    assert (specs[0].timeout_ms, specs[0].arguments) == (2_500, {"a": 1, "b": 2})


def test_only_an_actor_may_have_no_time_limit(broker: Broker) -> None:
    actor = dramatiq.actor(add)

    with pytest.raises(InvalidInput, match="time_limit: of one message must be finite; give its actor"):
        actor.send_with_options(args=(1,), time_limit=float("inf"))


async def fail_later() -> None:
    raise LookupError("no")


@pytest.mark.parametrize(("throws", "attempts"), [((), 3), (LookupError, 1), ((KeyError, LookupError), 1)])
def test_what_an_asynchronous_actor_raises_says_so_too(broker: Broker, throws: Any, attempts: int) -> None:
    message = dramatiq.actor(throws=throws, max_retries=2, min_backoff=1, max_backoff=1)(fail_later).send()
    work(broker)

    assert message.handle.job.attempts == attempts
    with pytest.raises(ResultFailure) as failed:
        message.get_result()  # type: ignore[unused-coroutine]
    assert failed.value.orig_exc_type == "LookupError"


def test_a_pipeline_that_fails_or_takes_too_long_says_so(broker: Broker) -> None:
    actor, failing = dramatiq.actor(add), dramatiq.actor(max_retries=0)(fail)
    pipe = (failing.message() | actor.message_with_options()).run()
    with pytest.raises(ResultMissing):
        pipe.get_result()
    with pytest.raises(ResultTimeout):
        pipe.get_result(block=True, timeout=1)
    work(broker)

    with pytest.raises(ResultFailure) as failed:
        pipe.get_result(block=True)
    assert (failed.value.orig_exc_type, failed.value.orig_exc_msg) == ("LookupError", "no")
    assert "LookupError: no" in str(failed.value)
    assert (pipe.completed_count, pipe.completed) == (1, False)


def test_a_group_has_ended_although_some_have_failed(broker: Broker) -> None:
    messages: list[Any] = [dramatiq.actor(add).message(1), dramatiq.actor(max_retries=0)(fail).message()]
    group = dramatiq.group(messages).run()
    before = group.completed
    work(broker)

    assert (before, group.completed_count, group.completed) == (False, 2, True)
    with pytest.raises(ResultFailure):
        group.wait()


def test_messages_that_were_not_run_or_are_none_have_no_result(broker: Broker) -> None:
    pipe = dramatiq.pipeline([dramatiq.actor(add).message(1)])

    assert (pipe.completed_count, pipe.completed) == (0, False)
    with pytest.raises(InvalidInput, match=r"^pipeline: needs at least one message"):
        dramatiq.pipeline([])


def test_an_actor_is_of_the_broker_that_is_given_or_that_was_set(broker: Broker, folder: Path) -> None:
    other = Broker("sqlite:///other.db")

    made: list[Any] = [dramatiq.actor(add), dramatiq.actor(broker=other)(note)]

    assert [one.broker for one in made] == [broker, other]
    with pytest.raises(InvalidInput, match=r"^broker: must be one of rota.moving.dramatiq, got str"):
        dramatiq.set_broker("redis://")  # type: ignore[arg-type]
    assert dramatiq.get_broker() is broker
    other.close()


def test_without_a_broker_there_is_one_on_the_store_of_the_settings(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broker_module, "_brokers", [])

    made = dramatiq.get_broker()

    assert (made.__rota_app__.url, dramatiq.get_broker() is made) == (None, True)


def test_a_broker_by_host_has_the_usual_port_and_database() -> None:
    found = [RedisBroker(host="shop"), RedisBroker(host="shop", port=7000, db=2), RedisBroker(url="redis://shop:1/5")]

    assert [one.__rota_app__.url for one in found] == ["redis://shop:6379/0", "redis://shop:7000/2", "redis://shop:1/5"]


def test_a_broker_that_is_closed_has_given_up_its_connections(broker: Broker) -> None:
    dramatiq.actor(add).send(1)
    connection = broker.__rota_app__._connection
    was_open = connection.is_open

    broker.close()

    assert (was_open, connection.is_open) == (True, False)
