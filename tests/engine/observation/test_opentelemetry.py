"""What a node does, as OpenTelemetry's own SDK hears of it."""

import asyncio

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from rota.engine.observation.happenings import StoreFailed, TicksDecided
from rota.engine.observation.observers import Observers
from rota.engine.observation.opentelemetry import OpenTelemetry
from rota.errors import StoreUnavailable
from rota.model.job import Job
from rota.model.runs.retry import RetryPolicy
from rota.model.schedules.schedule import Tick, TickStatus
from rota.store import Store
from tests.engine.job_functions import new_stage
from tests.engine.working import until, working
from tests.installation import Installation

# What is told does not depend on the store.
pytestmark = pytest.mark.stores("sqlite-file")


class Telemetry:
    """What the SDK has heard."""

    def __init__(self) -> None:
        self.observers = Observers()
        self._spans, self._metrics = InMemorySpanExporter(), InMemoryMetricReader()
        tracers, meters = TracerProvider(), MeterProvider([self._metrics])
        tracers.add_span_processor(SimpleSpanProcessor(self._spans))
        OpenTelemetry(self.observers, tracers.get_tracer("test"), meters.get_meter("test"))

    def spans(self) -> list[ReadableSpan]:
        return sorted(self._spans.get_finished_spans(), key=lambda span: span.end_time or 0)

    def totals(self) -> dict[str, float]:
        """Of each metric the sum of its points; of a histogram how many there are."""
        found = self._metrics.get_metrics_data()
        metrics = (
            [metric for one in found.resource_metrics for scope in one.scope_metrics for metric in scope.metrics]
            if found
            else []
        )
        return {
            metric.name: sum(getattr(point, "value", getattr(point, "count", 0)) for point in metric.data.data_points)
            for metric in metrics
        }


def run_job(store: Store, telemetry: Telemetry) -> Job:
    """One that fails at first and then ends well."""

    async def scene() -> Job:
        new_stage()
        installation = Installation(store)
        installation.define_python("fail_until", retry=RetryPolicy(attempts=2, delay_ms=1))
        async with working(store, observers=telemetry.observers, dead_after_ms=4 * 3_600_000):
            (job,) = await installation.ended(installation.enqueue("fail_until", {"attempt": 2}))
            await until(lambda: len(telemetry.spans()) == 2, "both spans")
            return job

    return asyncio.run(scene())


def test_each_run_of_a_job_is_a_span(store: Store) -> None:
    telemetry = Telemetry()

    job = run_job(store, telemetry)

    first, second = telemetry.spans()
    assert first.name == second.name == "fail_until"
    assert second.kind is SpanKind.CONSUMER
    assert (second.start_time, second.end_time) == ((job.started_at or 0) * 10**6, (job.ended_at or 0) * 10**6)
    assert dict(second.attributes or {}) == {
        "rota.job_id": job.id,
        "rota.job_type": "fail_until",
        "rota.queue": job.spec.queue,
        "rota.node": job.node,
        "rota.attempt": 2,
        "rota.state": "succeeded",
    }
    assert (first.status.status_code, second.status.status_code) == (StatusCode.ERROR, StatusCode.UNSET)


def test_jobs_ticks_and_failures_are_counted(store: Store) -> None:
    telemetry = Telemetry()
    missed = Tick(nominal=2, status=TickStatus.MISSED, decided_at=9, until=8, count=7)

    run_job(store, telemetry)
    telemetry.observers.tell(TicksDecided("nightly", "queue", [missed]))
    telemetry.observers.tell(StoreFailed(StoreUnavailable("away")))

    assert telemetry.totals() == {
        "rota.jobs.claimed": 2,
        "rota.jobs.settled": 2,
        "rota.job.duration": 2,
        "rota.ticks": 7,
        "rota.store.failures": 1,
    }
