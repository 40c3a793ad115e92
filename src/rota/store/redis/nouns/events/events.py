"""What events did to the configurations of the Redis store."""

from collections.abc import Iterable, Sequence

import msgspec

from rota.model.events.evaluation import Evaluation
from rota.model.events.event import Event
from rota.store.contract.events import MAX_EVALUATIONS, MAX_VALIDATIONS, Applied, Place, Validation, Verdicts
from rota.store.records.codec import decode_evaluation
from rota.store.redis.keys import CONFIGURATION_QUEUES, EVENT_QUEUES
from rota.store.redis.link.commands import Value
from rota.store.redis.link.scripts import ScriptCall
from rota.store.redis.nouns.events.configurations import MOST_PER_CALL, RedisConfigurations
from rota.store.redis.nouns.events.entries import applied, histories_of, verdicts_entry
from rota.store.redis.nouns.events.listening import sorted_names
from rota.store.redis.nouns.events.outbox import RedisOutbox
from rota.store.redis.nouns.events.records import RedisEventRecords
from rota.store.redis.nouns.jobs.ending import RedisEnding
from rota.store.redis.nouns.queues.stats import stats_args, stats_keys

_decode_validation = msgspec.json.Decoder(Validation).decode


class RedisEvents(RedisConfigurations, RedisOutbox, RedisEventRecords, RedisEnding):
    """See `rota.store.contract.events.EventStore` for what each method promises."""

    _event_queues: tuple[str, ...] = ()
    """Those that had configurations when this process looked last."""

    def match_events(self, events: Sequence[Event]) -> list[list[Place]]:
        places: list[list[Place]] = [[] for _ in events]
        for start in range(0, len(events), MOST_PER_CALL):
            part = events[start : start + MOST_PER_CALL]
            args = [word for event in part for word in (event.type, event.resource)]
            for queue, answer in self._match_everywhere(args):
                for number, uuids in enumerate(answer, start):
                    places[number] += [Place(queue, raw.decode()) for raw in dict.fromkeys(uuids)]
        return places

    def _match_everywhere(self, args: Sequence[Value]) -> Iterable[tuple[str, list[list[bytes]]]]:
        """Ask every queue that has configurations. Those known from the last time are asked at once, together with the
        question whether there are more."""
        asked = () if self._link.is_cluster else self._event_queues
        calls: list[ScriptCall] = [("match_events", [self._keys_of(queue).dependency_index], args) for queue in asked]
        *answers, queues = self._link.run_together([*calls, ("event_queues", [EVENT_QUEUES], [])]) if asked else [None]
        self._event_queues = self._read_event_queues() if queues is None else sorted_names(queues)
        yield from zip(asked, answers, strict=True)
        for queue in self._event_queues:
            if queue not in asked:
                yield queue, self._link.run("match_events", [self._keys_of(queue).dependency_index], args)

    def apply_verdicts(self, queue: str, verdicts: Sequence[Verdicts], *, now: int) -> list[Applied]:
        answers: list[Applied] = []
        for start in range(0, len(verdicts), MOST_PER_CALL):
            answers += self._apply(queue, verdicts[start : start + MOST_PER_CALL], now)
        return answers

    def _apply(self, queue: str, verdicts: Sequence[Verdicts], now: int) -> list[Applied]:
        self._expire_for(queue, (spec for one in verdicts for spec in one.specs), now)
        k = self._keys_of(queue)
        keys = [
            k.configuration_states,
            k.jobs,
            k.ready,
            k.delayed,
            k.unique,
            k.marks,
            k.wake,
            *stats_keys(k, now),
            k.series,
        ]
        args: list[Value] = [MAX_EVALUATIONS, MAX_VALIDATIONS, *stats_args(now)]
        for one in verdicts:
            keys += histories_of(k, one.configuration.uuid)
            args += verdicts_entry(one, now)
        # Repeated, it would find the version that it wrote itself, and take it for somebody else's.
        raw = self._link.run("apply_verdicts", keys, args, repeats=False)
        return [applied(one, answer) for one, answer in zip(verdicts, raw, strict=True)]

    def list_evaluations(self, uuid: str, *, limit: int) -> list[Evaluation]:
        queue = self._redis.hget(CONFIGURATION_QUEUES, uuid)
        if queue is None or limit < 1:
            return []
        rows = self._redis.lrange(self._keys_of(queue.decode()).evaluations(uuid), 0, limit - 1)
        return self._unreadable.read_all("evaluation of configuration", uuid, decode_evaluation, rows)

    def list_validations(self, uuid: str, *, limit: int) -> list[Validation]:
        queue = self._redis.hget(CONFIGURATION_QUEUES, uuid)
        if queue is None or limit < 1:
            return []
        rows = self._redis.zrevrange(self._keys_of(queue.decode()).validations(uuid), 0, limit - 1)
        return self._unreadable.read_all("validation of configuration", uuid, _decode_validation, rows)
