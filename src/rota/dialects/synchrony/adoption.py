"""Takes jobs that others pushed into one of Synchrony's lists, from its head, in order.

An entry is looked at where it lies; then one script takes it from the list and puts it into its queue, or among the
dead letters, if it is still the head. So nothing is in between, whenever this process dies, and of two nodes one is too
late.
"""

import logging
from collections.abc import Callable, Sequence
from itertools import groupby

import msgspec
from msgspec import Struct, structs

from rota.dialects.synchrony import keys
from rota.dialects.synchrony.definition_hashes import JobTypes
from rota.dialects.synchrony.shapes import MAX_BYTES, JobRecord, dead_letter, read_record
from rota.engine.engine import Engine
from rota.engine.jobs.intake import JobRequest
from rota.engine.jobs.spec import make_spec
from rota.errors import NotFound, RotaError, StoreError
from rota.model.ids import check_id, is_id
from rota.model.job import Cause, Ending, Job, JobSpec, JobState, rank_of
from rota.model.job_type import JobType
from rota.model.limits import MAX_PAYLOAD_BYTES
from rota.store.records.codec import encode
from rota.store.redis.keys import CHOSEN_IDS, QUEUES, QueueKeys
from rota.store.redis.link.access import RedisAccess
from rota.store.redis.link.commands import Value
from rota.store.redis.link.scripts import load_scripts
from rota.store.redis.nouns.jobs.lookup import last_number
from rota.store.redis.nouns.jobs.marks import Mark
from rota.store.redis.nouns.queues.stats import stats_args, stats_keys

BATCH = 100
MOST_DEAD = 10_000
_CAUSE = Cause("synchrony")
_RANK_HERE = "@"
_DEAD_LETTER = "dead_letter"
_MOST_REASON = 1_000
_ADOPT = load_scripts("rota.dialects.synchrony")["adopt_jobs"]
_logger = logging.getLogger("rota.synchrony")


class Verdict(Struct, frozen=True):
    """What an entry is: a job, or none and why."""

    entry: bytes
    spec: JobSpec | None
    reason: str = ""
    named: JobSpec | None = None
    """Of a dead letter that says which job it was to be: what is known of it."""
    is_double: bool = False
    """A job whose id another queue has: nothing is made of it."""

    @property
    def about(self) -> JobSpec | None:
        return self.spec or self.named

    @property
    def queue(self) -> str | None:
        return self.about.queue if self.about else None


class NamedEntry(Struct, frozen=True):
    """An entry that is no job, as far as it says which one it was to be."""

    uuid: str
    job_type_uuid: object = None
    arguments: object = None


class Adoption:
    """Takes entries for one node."""

    def __init__(self, access: RedisAccess, engine: Engine, learn: Callable[[], None]) -> None:
        self._access = access
        self._engine = engine
        self._learn = learn

    def take(self, key: str) -> int:
        """Take what is at the head of a list; returns how many entries."""
        now = self._engine.clock.now()
        seen = last_number(self._access.ask("zrange", CHOSEN_IDS, -1, -1, withscores=True))
        verdicts = self._judge_all(self._access.ask("lrange", key, 0, BATCH - 1), now)
        verdicts = [one if one.spec else self._with_name(key, one, now) for one in verdicts]
        verdicts = self._without_doubles(verdicts)
        taken = 0
        for queue, some in groupby(verdicts, key=lambda one: one.queue):
            run = list(some)
            done = self._adopt(key, queue, run, seen=seen, now=now)
            if done < 0:  # somebody came since the look for doubles
                return taken + self.take(key)
            taken += done
            if done < len(run):
                break
        return taken

    def _judge_all(self, entries: Sequence[bytes], now: int) -> list[Verdict]:
        """A job of a type that nobody knows yet may have been defined a moment ago."""
        try:
            return [self._judge(entry, now) for entry in entries]
        except NotFound:
            self._learn()
        return [self._judge(entry, now, is_last_word=True) for entry in entries]

    def _judge(self, entry: bytes, now: int, *, is_last_word: bool = False) -> Verdict:
        try:
            return Verdict(entry, self._spec(read_record(entry, JobRecord), now))
        except StoreError:
            raise
        except NotFound as error:
            if not is_last_word:
                raise
            return Verdict(entry, None, self._why_unknown(error))
        except RotaError as error:
            return Verdict(entry, None, str(error))
        except Exception as error:  # whatever it is: an entry that cannot be judged must not lie in the way of others
            return Verdict(entry, None, f"{type(error).__name__}: {error}")

    def _with_name(self, key: str, one: Verdict, now: int) -> Verdict:
        """Whoever pushed an entry looks for its job by the uuid in it: that job is there, and says what was wrong."""
        try:
            found = msgspec.json.decode(one.entry[:MAX_BYTES], type=NamedEntry)
            queue = self._engine.definitions.node_type(keys.node_type_of_list(key)).uuid
            id = check_id("uuid", found.uuid)
        except StoreError:
            raise
        except (RotaError, ValueError, RecursionError):
            return one
        job_type = str(found.job_type_uuid)
        is_kept = isinstance(found.arguments, dict) and len(one.entry) <= MAX_PAYLOAD_BYTES
        named = make_spec(
            JobType(uuid=job_type if is_id(job_type) else "", name="", executor=""),
            id=id,
            queue=queue,
            enqueued_at=now,
            arguments=found.arguments if is_kept and isinstance(found.arguments, dict) else {},
            priority=0,
            cause=_CAUSE,
        )
        return structs.replace(one, named=named)

    def _without_doubles(self, verdicts: Sequence[Verdict]) -> list[Verdict]:
        """An id belongs to one job, in whichever queue. The script sees to that in its own, and to what came since
        others were asked here."""
        about = [one.about for one in verdicts if one.about]
        jobs = self._engine.store.find_jobs([spec.id for spec in about])
        found = [job for spec, job in zip(about, jobs, strict=True) if job and job.spec.queue != spec.queue]
        pushed = {one.spec.id for one in verdicts if one.spec}
        letters = {job.id for job in found if _was_dead_letter(job) and job.id in pushed}
        if letters:
            self._engine.jobs.delete_each(sorted(letters))
        owners = {job.id: job.spec.queue for job in found if job.id not in letters}
        for one in verdicts:
            if one.spec:
                owners.setdefault(one.spec.id, one.spec.queue)
        return [_unless_elsewhere(one, owners) for one in verdicts]

    def _why_unknown(self, error: NotFound) -> str:
        """A job type that is unknown here may be defined among Synchrony's keys, in a way that cannot be used."""
        text = self._access.ask("hget", keys.JOB_TYPES, error.name) if error.kind == "job type" else None
        if text is None:
            return str(error)
        try:
            JobTypes(self._engine.definitions).take(error.name, text)
        except StoreError:
            raise
        except RotaError as fault:
            return f"its job type {error.name} in {keys.JOB_TYPES} cannot be used: {fault}"
        return str(error)

    def _spec(self, record: JobRecord, now: int) -> JobSpec:
        job_type = check_id("job_type_uuid", record.job_type_uuid)
        request = JobRequest(
            id=check_id("uuid", record.uuid), job_type=job_type, arguments=record.arguments, cause=_CAUSE
        )
        spec = self._engine.intake.make_spec(request, now)
        pushed_at = record.enqueued_at
        return spec if pushed_at is None or not 0 < pushed_at <= now else structs.replace(spec, enqueued_at=pushed_at)

    def _adopt(self, key: str, queue: str | None, verdicts: Sequence[Verdict], *, seen: int, now: int) -> int:
        k = QueueKeys(queue or "")
        names = [key, k.jobs, k.ready, k.delayed, k.unique, k.marks, k.wake, QUEUES, keys.ORDER, keys.DEAD]
        names += [*stats_keys(k, now), k.series, k.ended, k.failed, CHOSEN_IDS]
        args: list[Value] = [queue or "", rank_of(0, now), MOST_DEAD, *stats_args(now), now, seen]
        for one in verdicts:
            args += _entry(key, one, now)
        taken, *doubles = self._access.run(_ADOPT, names, args)
        self._tell(key, verdicts[: max(taken, 0)], doubles)
        return int(taken)

    def _tell(self, key: str, verdicts: Sequence[Verdict], doubles: Sequence[object]) -> None:
        for one in verdicts:
            if one.spec is None:
                _logger.warning("an entry is no job", extra={"key": key, "reason": one.reason, "kept_in": keys.DEAD})
        if jobs := sum(one.spec is not None for one in verdicts):
            known_before = len(doubles) // 2 + sum(one.is_double for one in verdicts)
            extra = {"key": key, "jobs": jobs, "known_before": known_before}
            _logger.debug("jobs adopted", extra=extra)


def _was_dead_letter(job: Job) -> bool:
    return job.state is JobState.FAILED and isinstance(job.errors, dict) and job.errors.get("type") == _DEAD_LETTER


def _unless_elsewhere(one: Verdict, owners: dict[str, str]) -> Verdict:
    """What an entry is, where another queue may have its id."""
    if one.about is None or owners.get(one.about.id, one.queue) == one.queue:
        return one
    return structs.replace(one, is_double=True) if one.spec else structs.replace(one, named=None)


def _entry(key: str, one: Verdict, now: int) -> tuple[Value, ...]:
    spec = one.spec
    if one.is_double:
        return one.entry, *[""] * 7
    if spec is None:
        return one.entry, "", dead_letter(key, one.entry, one.reason, now), "", "", *_record(one, now)
    mark = Mark(_RANK_HERE, lock=spec.lock_key, unique=spec.unique_key, rate=spec.rate_key)
    has_mark = spec.series or mark != Mark(_RANK_HERE)
    return one.entry, spec.id, encode(spec), encode(mark) if has_mark else b"", spec.unique_key or "", "", "", ""


def _record(one: Verdict, now: int) -> tuple[Value, Value, Value]:
    """How a job ended that could not be taken. `adopt_jobs.lua` knows it again by the type of its errors."""
    if one.named is None:
        return "", "", ""
    errors = {"type": _DEAD_LETTER, "message": one.reason[:_MOST_REASON]}
    return one.named.id, encode(one.named), encode(Ending(state=JobState.FAILED, ended_at=now, errors=errors))
