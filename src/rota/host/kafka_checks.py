"""Checks of the brokers that keep the light scheduler's task definitions."""

from collections.abc import Iterator

from rota.engine.doctor.finding import Finding, ok, problem, warning
from rota.errors import MissingExtra, StoreRefused, StoreUnavailable
from rota.host.kafka import survey_of
from rota.settings import Settings

CHECK = "kafka"


def check_kafka(settings: Settings) -> Iterator[Finding]:
    """Nothing where no brokers are named."""
    if not settings.kafka:
        return
    brokers = ", ".join(settings.kafka)
    try:
        found = survey_of(settings)
    except MissingExtra as error:
        yield problem(CHECK, str(error), "pip install 'rota[kafka]'")
    except StoreUnavailable as error:
        yield problem(CHECK, f"{brokers}: {error}", "see that kafka.brokers is right, and kafka.options lets Rota in")
    except StoreRefused as error:
        yield problem(CHECK, str(error), "make the topics alike, or name another one with kafka.input_topic")
    else:
        yield ok(CHECK, f"{found.brokers} brokers answer at {brokers}")
        if found.missing:
            names = ", ".join(found.missing)
            yield warning(CHECK, f"topics are missing: {names}", "the first `rota up --kafka` makes them")
        if not found.instances:
            yield warning(CHECK, "no instance is running, so nothing is sent", "start one with `rota up --kafka`")
        if found.dead_letters:
            topic = f"{settings.kafka_input_topic}-dead-letter"
            yield warning(
                CHECK,
                f"{topic} has {found.dead_letters} records that could not be carried out or sent",
                "read them with any Kafka client; the header `reason` says what was wrong",
            )
