"""Judges from sightings when a job of Sidekiq has ended.

Sidekiq takes a job out of its queue first and shows it among its running jobs at the next heartbeat, five seconds
apart. So a job that is nowhere to be seen has ended only when every process has had a whole heartbeat since: the
second one that is seen, because the first may have been under way.
"""

from msgspec import Struct

from rota.engine.executors.output import LogCap
from rota.engine.executors.sidekiq.job import Completion, PushedJob
from rota.model.runs.outcome import Outcome, failed, succeeded

_BEATS = 2
_MAX_MESSAGE = 8 * 1024


class Sighting(Struct, frozen=True):
    """Where a job was when somebody looked."""

    place: str
    """`reported`, `queued`, `running`, `retrying`, `dead` or `gone`."""
    details: dict[str, str] = {}
    """The report, or what Sidekiq noted about a failure."""
    process: str = ""
    """The Sidekiq process that runs it."""
    beats: dict[str, str | None] = {}
    """The last heartbeat of every known process; None if it died without a word. Known when the job is gone."""

    @property
    def is_withdrawable(self) -> bool:
        """Whether the job could be taken back then. One that is gone may have been begun since the last heartbeat."""
        return self.place in ("queued", "retrying")


class Watch:
    """One pushed job, from sighting to sighting."""

    def __init__(self, job: PushedJob, log: LogCap) -> None:
        self._job = job
        self._log = log
        self._last = Sighting("queued")
        self._process = ""
        """The process that ran it when it was last seen."""
        self._absence: dict[str, list[str]] = {}
        """The different heartbeats of each process since the job is gone."""
        self._looks = 0

    def judge(self, sighting: Sighting) -> Outcome | None:
        """The outcome, or None as long as the job has not ended."""
        self._note(sighting)
        if sighting.place == "reported":
            return self._reported(sighting.details)
        if sighting.place == "dead":
            return self._failed("dead", _message_of(sighting.details))
        if sighting.place != "gone":
            self._absence, self._looks = {}, 0
            return None
        return self._ended(sighting.beats) if self._is_over(sighting.beats) else None

    def _note(self, sighting: Sighting) -> None:
        if sighting.place == "running":
            self._process = sighting.process
        if (sighting.place, sighting.details) != (self._last.place, self._last.details):
            if sighting.place == "running":
                self._log(f"runs in the Sidekiq process {sighting.process}")
            elif sighting.place == "retrying":
                self._log(f"failed, and Sidekiq will try it again: {_message_of(sighting.details)}", "warning")
        self._last = sighting

    def _is_over(self, beats: dict[str, str | None]) -> bool:
        self._looks += 1
        for process, beat in beats.items():
            seen = self._absence.setdefault(process, [])
            if beat is not None and (not seen or seen[-1] != beat):
                seen.append(beat)
        living = [process for process, beat in beats.items() if beat is not None]
        # The first beat that is noted was before the job went, so it does not count.
        return self._looks >= _BEATS and all(len(self._absence[process]) > _BEATS for process in living)

    def _ended(self, beats: dict[str, str | None]) -> Outcome:
        if self._process in beats and beats[self._process] is None:
            return self._failed("lost", f"the Sidekiq process {self._process} died while it ran the job")
        if self._job.plan.completion is Completion.REPORT:
            return self._failed(
                "unreported",
                "it left Sidekiq without a report: rota_report.rb is not loaded there, or the class "
                f"{self._job.plan.class_name} does not exist",
            )
        return succeeded(self._results("gone"))

    def _reported(self, report: dict[str, str]) -> Outcome:
        results = self._results(report.get("status", ""))
        if report.get("ms", "").isdecimal():
            results["ms"] = int(report["ms"][:15])
        if report.get("status") == "succeeded":
            return succeeded(results)
        return failed({"type": "sidekiq", "message": report.get("error", "")[:_MAX_MESSAGE]}, results)

    def _failed(self, state: str, message: str) -> Outcome:
        return failed({"type": "sidekiq", "message": message[:_MAX_MESSAGE]}, self._results(state))

    def _results(self, state: str) -> dict[str, object]:
        return {"jid": self._job.jid, "queue": self._job.plan.queue, "state": state}


def _message_of(details: dict[str, str]) -> str:
    return f"{details.get('error_class', '')}: {details.get('error_message', '')}"
