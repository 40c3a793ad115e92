"""What events did to the configurations of the Redis store."""

from collections.abc import Iterable, Sequence

import msgspec

from rota.model.events.evaluation import Evaluation
from rota.model.events.event import Event
from rota.store.contract.events import MAX_EVALUATIONS, MAX_VALIDATIONS, Applied, Place, Validation, Verdicts
from rota.store.records.codec import decode_evaluation
from rota.store.redis.keys import CONFIGURATION_QUEUES
from rota.store.redis.link.commands import Value
from rota.store.redis.link.scripts import ScriptCall
from rota.store.redis.nouns.events.configurations import RedisConfigurations
from rota.store.redis.nouns.events.entries import applied, histories_of, verdicts_entry
from rota.store.redis.nouns.events.listening import ASK_EVENT_QUEUES, EventQueues, event_queues
from rota.store.redis.nouns.events.outbox import RedisOutbox
from rota.store.redis.nouns.events.places import MOST_PER_CALL
from rota.store.redis.nouns.events.records import RedisEventRecords
from rota.store.redis.nouns.jobs.ending import RedisEnding
from rota.store.redis.nouns.queues.stats import stats_args, stats_keys

_decode_validation = msgspec.json.Decoder(Validation).decode


class RedisEvents(RedisConfigurations, RedisOutbox, RedisEventRecords, RedisEnding):
    """See `rota.store.contract.events.EventStore` for what each method promises."""

    _event_queues = EventQueues()
    """Those that had configurations when this process looked last."""

    def match_events(self, events: Sequence[Event]) -> list[list[Place]]:
        found: list[dict[str, None]] = [{} for _ in events]
        seen: set[Place] = set()
        for start in range(0, len(events), MOST_PER_CALL):
            part = events[start : start + MOST_PER_CALL]
            args = [word for event in part for word in (event.type, event.resource)]
            for queue, answer in self._match_everywhere(args):
                for number, raw in enumerate(answer, start):
                    uuids = [one.decode() for one in raw]
                    found[number] |= dict.fromkeys(uuids)
                    seen |= {Place(queue, uuid) for uuid in uuids}
        homes = self._homes_of(seen)
        return [[Place(homes[uuid], uuid) for uuid in uuids if uuid in homes] for uuids in found]

    def _homes_of(self, seen: Iterable[Place]) -> dict[str, str]:
        """Where each of these lives: only that counts. A move that was cut short leaves it in two queues."""
        homes = self._queues_of(list({place.uuid for place in seen}))
        for place in seen:
            if homes.get(place.uuid) != place.queue:
                self._forget_left_over(place.queue, place.uuid, homes.get(place.uuid))
        return homes

    def _match_everywhere(self, args: Sequence[Value]) -> Iterable[tuple[str, list[list[bytes]]]]:
        """Ask every queue that has configurations. Those known from the last time are asked at once, together with the
        question whether there are more. If any configuration moved since then, all are asked once more: it may have
        come to a queue that had been asked, out of one that was yet to be."""
        known = self._event_queues
        *answers, last = self._link.run_each([*self._matching(known.names, args), ASK_EVENT_QUEUES])
        self._event_queues = now = event_queues(last)
        yield from zip(known.names, answers, strict=True)
        others = [name for name in now.names if now.moves != known.moves or name not in known.names]
        yield from zip(others, self._link.run_each(self._matching(others, args)), strict=True)

    def _matching(self, queues: Sequence[str], args: Sequence[Value]) -> list[ScriptCall]:
        return [("match_events", [self._keys_of(queue).dependency_index], args) for queue in queues]

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
