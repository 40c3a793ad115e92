"""The schedules of the Redis store: changing, deleting and firing them. They live with their queue."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from rota.errors import StoreError, StoreUnavailable
from rota.model.runs.settlement import cancelled_before_run
from rota.store.contract.schedules import (
    MAX_TICKS,
    MOST_LOOKED_UP,
    DueSchedules,
    Firing,
    ScheduleChange,
    ScheduleEntry,
    in_steps,
)
from rota.store.records.codec import encode
from rota.store.redis.keys import QueueKeys
from rota.store.redis.link.commands import Value
from rota.store.redis.link.scripts import parts_of
from rota.store.redis.nouns.jobs.ending import RedisEnding
from rota.store.redis.nouns.queues.signals import tell_to_cancel
from rota.store.redis.nouns.queues.stats import stats_args, stats_keys
from rota.store.redis.nouns.reservations import new_token
from rota.store.redis.nouns.schedules.entries import firing_entry, has_gone_jobs
from rota.store.redis.nouns.schedules.names import Pair, RedisScheduleNames, is_renamed

_MOST_PER_CALL = 500


class RedisSchedules(RedisScheduleNames, RedisEnding):
    """See `rota.store.contract.schedules.ScheduleStore` for what each method promises."""

    def put_schedules(self, changes: Sequence[ScheduleChange]) -> list[bool]:
        known = self.find_schedules([change.schedule.uuid for change in changes])
        # What is stale already must not take a name, not even for a moment.
        pairs = {n: pair for n, pair in enumerate(zip(changes, known, strict=True)) if _is_expected(*pair)}
        done = dict(zip(pairs, self._put_expected_schedules(list(pairs.values())), strict=True))
        return [done.get(number, False) for number in range(len(changes))]

    def _put_expected_schedules(self, pairs: Sequence[Pair]) -> list[bool]:
        if not pairs:
            return []
        token = new_token()
        self._reserve_names([pair for pair in pairs if pair[1] is None or is_renamed(*pair)], token)
        answers = [False] * len(pairs)
        for queue in dict.fromkeys(change.schedule.queue for change, _ in pairs):
            self._remember_queue(queue)
            staying = [n for n, (change, old) in enumerate(pairs) if _stays(change, old, queue)]
            done = self._put_in(queue, [pairs[n][0] for n in staying], token) if staying else []
            for number, answer in zip(staying, done, strict=True):
                answers[number] = answer
        for number, (change, old) in enumerate(pairs):
            if old and old.schedule.queue != change.schedule.queue:
                answers[number] = self._move_schedule(change, old)
            if is_renamed(change, old) or (old is None and not answers[number]):
                self._settle_names(change, old)
        written = [pair for pair, is_done in zip(pairs, answers, strict=True) if is_done]
        self._confirm_names([change.schedule for change, old in written if is_renamed(change, old)])
        self._confirm_new_schedules([change for change, old in written if old is None])
        return answers

    def _confirm_new_schedules(self, changes: Sequence[ScheduleChange]) -> None:
        """New schedules are written. One that somebody took for one that never comes is made anew, if its name is still
        to be had; one that is not there any more was deleted."""
        done = self._confirm_names([change.schedule for change in changes])
        for change in (change for change, is_ours in zip(changes, done, strict=True) if not is_ours):
            if self._forget_schedules_in(change.schedule.queue, [change.schedule.uuid]):
                self._put_expected_schedules([(change, None)])

    def _put_in(self, queue: str, changes: Sequence[ScheduleChange], token: str) -> list[bool]:
        answers = self._put_schedules_in(queue, changes)
        refused = [n for n, done in enumerate(answers) if not done and changes[n].expected is None]
        if not refused:
            return answers
        # What is left of a move that was cut short may have been in the way; whoever looks for it removes it.
        found = self.find_schedules([changes[n].schedule.uuid for n in refused])
        again = [n for n, entry in zip(refused, found, strict=True) if entry is None]
        if again:
            self._reserve_names([(changes[n], None) for n in again], token)
            done = self._put_schedules_in(queue, [changes[n] for n in again])
            answers = [dict(zip(again, done, strict=True)).get(n, answer) for n, answer in enumerate(answers)]
        return answers

    def delete_schedules(self, uuids: Sequence[str]) -> list[bool]:
        found = self.find_schedules(uuids)
        deleted = {entry.schedule.uuid for entry in found if entry and self._delete_schedule(entry)}
        self._unname([(one.schedule.uuid, one.schedule.name, one.schedule.job_type) for one in found if one])
        unreadable = [uuid for uuid, entry in zip(uuids, found, strict=True) if entry is None]
        deleted |= {uuid for uuid in unreadable if self._delete_unreadable(uuid)}
        return [uuid in deleted for uuid in uuids]

    def _delete_schedule(self, entry: ScheduleEntry) -> bool:
        """Forget a schedule, in another queue if it moves there meanwhile."""
        there: ScheduleEntry | None = entry
        while there:
            if self._forget_schedules_in(there.schedule.queue, [entry.schedule.uuid]):
                return True
            there = self.find_schedules([entry.schedule.uuid])[0]
        return False

    def _delete_unreadable(self, uuid: str) -> bool:
        """Forget a schedule whose record does not say what it is called."""
        queue = self._queue_of_schedule(uuid)
        if queue is None:
            return False
        k = self._keys_of(queue)
        is_there = self._redis.hexists(k.schedules, uuid)
        self._forget_schedule_if(queue, uuid, self._redis.hget(k.schedule_states, uuid) or b"")
        self._unname_unreadable(uuid)
        return is_there

    def claim_due_schedules(self, queue: str, *, now: int, lease_ms: int, limit: int) -> DueSchedules:
        k = self._keys_of(queue)
        keys = [k.schedules, k.schedule_states, k.schedule_due, k.running, k.ended, k.jobs, k.giving_way]
        args = [now, lease_ms, min(limit, _MOST_PER_CALL), MOST_LOOKED_UP]
        judged_at, next_due, giving_way, *raws = self._link.run("claim_due_schedules", keys, args)
        self._cancel_elsewhere(k, [job_id.decode() for job_id in giving_way], now)
        for raw in raws:
            with suppress(StoreUnavailable):  # it waits for the server of its other queue, and keeps no other waiting
                self._end_schedule_moves(queue, [raw])
        return DueSchedules(self._due_entries(queue, raws), int(float(next_due)) if next_due else None, judged_at)

    def _due_entries(self, queue: str, raws: Sequence[list[bytes]]) -> list[ScheduleEntry]:
        """Schedules that were given out. While a server is away that may have jobs which are not in this queue, those
        with such jobs are left out, and come again when their lease is over: nobody knows whether these jobs live."""
        kind = "due schedule of queue"
        try:
            return self._schedule_entries(kind, queue, raws)
        except StoreUnavailable:
            return self._schedule_entries(kind, queue, [raw for raw in raws if not has_gone_jobs(raw)])

    def fire_schedules(self, queue: str, firings: Sequence[Firing], *, now: int) -> list[bool]:
        return [done for some in in_steps(firings) for done in self._fire(queue, some, now)]

    def _fire(self, queue: str, firings: Sequence[Firing], now: int) -> list[bool]:
        self._expire_for(queue, (spec for firing in firings for spec in firing.specs), now)
        k = self._keys_of(queue)
        keys = [k.schedule_states, k.schedule_due, k.jobs, k.ready, k.delayed, k.unique, k.marks, k.wake]
        keys += [*stats_keys(k, now), k.running, k.ended, k.locks, k.held, k.cancelled, k.cancelling, k.series]
        keys += [k.outbox, k.awaited_since, k.rates_due, k.giving_way]
        keys += [k.ticks(firing.schedule.uuid) for firing in firings]
        cancels = [(number, job_id) for number, firing in enumerate(firings, 1) for job_id in firing.cancels]
        ending = cancelled_before_run(now)
        entries: list[Value] = [part for cancel in cancels for part in cancel]
        entries += [part for firing in firings for part in firing_entry(firing, now)]

        def fire() -> Any:
            events = self._events_if_ended(queue, [job_id for _, job_id in cancels], ending)
            args: list[Value] = [*stats_args(now), MAX_TICKS, now, encode(ending), len(cancels), *events]
            return self._link.run("fire_schedules", keys, [*args, *entries])

        answer = self._until_known(queue, fire)
        self._tell_cancelled(k, answer[len(firings) :], now)
        return [bool(done) for done in answer[: len(firings)]]

    def _tell_cancelled(self, keys: QueueKeys, told: list[bytes], now: int) -> None:
        """Tell the nodes that run jobs which give way, and cancel those that are not in this queue."""
        holders = {job_id.decode(): token.decode() for job_id, token in zip(told[::2], told[1::2], strict=True)}
        for job_id, token in holders.items():
            if token:
                tell_to_cancel(self._link, keys, job_id, token)
        elsewhere = [job_id for job_id, token in holders.items() if not token]
        self._cancel_elsewhere(keys, elsewhere, now)

    def _cancel_elsewhere(self, keys: QueueKeys, job_ids: Sequence[str], now: int) -> None:
        """Cancel jobs that give way to some of this queue, and that their schedule made before it moved here. They are
        in another queue, which no step reaches together with this one: so this queue keeps them in mind until it is
        done. Who dies before, or cannot reach them, leaves it to whoever looks next for due schedules here."""
        if not job_ids:
            return
        with suppress(StoreError):  # it is done later, and nothing that happened here is told to have failed
            for queue, known in self._lookup.by_queue(job_ids).items():
                for part in parts_of(known):
                    list(self._cancel_in(queue, part, cancelled_before_run(now), now))
            self._redis.srem(keys.giving_way, *job_ids)


def _is_expected(change: ScheduleChange, old: ScheduleEntry | None) -> bool:
    """Whether a change says rightly what is there, as far as was read."""
    return change.expected == (old.state.version if old else None)


def _stays(change: ScheduleChange, old: ScheduleEntry | None, queue: str) -> bool:
    return change.schedule.queue == queue and (old is None or old.schedule.queue == queue)
