"""What happens, as OpenTelemetry knows it: a span for each run of a job, and a few metrics.

Rota speaks to OpenTelemetry's API only. Where it goes is the affair of the SDK that the process was started with, for
instance by `opentelemetry-instrument rota worker`, which reads the OTEL_* variables. Needs the extra `otel`.
"""

from opentelemetry.metrics import Meter, get_meter
from opentelemetry.trace import SpanKind, Status, StatusCode, Tracer, get_tracer

from rota import __version__
from rota.engine.observation.happenings import JobsClaimed, JobsSettled, StoreFailed, TicksDecided
from rota.engine.observation.observers import Observers
from rota.model.job import JobState
from rota.model.runs.settlement import Settlement

_NS_PER_MS = 1_000_000


class OpenTelemetry:
    """Listens from when it is made."""

    def __init__(self, observers: Observers, tracer: Tracer | None = None, meter: Meter | None = None) -> None:
        """Without a tracer and a meter those of the process are taken."""
        self._tracer = tracer or get_tracer("rota", __version__)
        meter = meter or get_meter("rota", __version__)
        self._claimed = meter.create_counter("rota.jobs.claimed", "{job}", "Jobs that this node claimed")
        self._settled = meter.create_counter("rota.jobs.settled", "{job}", "Runs of this node, by the job's next state")
        self._duration = meter.create_histogram("rota.job.duration", "s", "How long runs took")
        self._ticks = meter.create_counter("rota.ticks", "{tick}", "Ticks that this node decided")
        self._store_failures = meter.create_counter("rota.store.failures", "{failure}", "Times the store went away")
        observers.add(JobsClaimed, self._on_claimed)
        observers.add(JobsSettled, self._on_settled)
        observers.add(TicksDecided, self._on_ticks)
        observers.add(StoreFailed, lambda _: self._store_failures.add(1))

    def _on_claimed(self, claimed: JobsClaimed) -> None:
        self._claimed.add(len(claimed.claims), {"rota.queue": claimed.queue})

    def _on_settled(self, settled: JobsSettled) -> None:
        for settlement in settled.settlements:
            job_type = settled.job_types.get(settlement.claim.spec.job_type, settlement.claim.spec.job_type)
            labels = {"rota.job_type": job_type, "rota.state": settlement.state.value}
            self._settled.add(1, labels)
            if settlement.ran is not None:
                began, ended = settlement.ran
                self._duration.record((ended - began) / 1000, labels)
                self._record_run(settlement, job_type, settled)

    def _record_run(self, settlement: Settlement, job_type: str, settled: JobsSettled) -> None:
        """The span of a run that is over; it is recorded afterwards, so that a run costs nothing while it lasts."""
        assert settlement.ran is not None
        began, ended = settlement.ran
        claim = settlement.claim
        span = self._tracer.start_span(
            job_type,
            kind=SpanKind.CONSUMER,
            start_time=began * _NS_PER_MS,
            attributes={
                "rota.job_id": claim.spec.id,
                "rota.job_type": job_type,
                "rota.queue": settled.queue,
                "rota.node": settled.node,
                "rota.attempt": claim.attempt,
                "rota.state": settlement.state.value,
            },
        )
        if settlement.state in (JobState.FAILED, JobState.DELAYED):
            span.set_status(Status(StatusCode.ERROR))
        span.end(ended * _NS_PER_MS)

    def _on_ticks(self, decided: TicksDecided) -> None:
        for tick in decided.ticks:
            self._ticks.add(tick.count, {"rota.status": tick.status.value})
