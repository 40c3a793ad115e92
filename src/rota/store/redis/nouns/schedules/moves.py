"""How a schedule of the Redis store moves to another queue, which a cluster cannot do in one step.

Its state says where it stands, and only a state that begins with its version is in force: nothing else is fired,
changed or deleted.

1. A copy with the ticks is made in the new queue. It waits to arrive: `from` which queue, and what the state was there.
2. The old one leaves, if nobody changed it: from now on its state tells only `to` which queue. This is the step
   with which the schedule moves. If somebody was faster it is refused, and the copy is dropped.
3. The index is pointed to the new queue.
4. The copy arrives: its state is in force.
5. What is left in the old queue is forgotten.

Steps 2 to 5 need only what is stored, and may be taken twice and by anybody. So whoever comes across a schedule on its
way brings the move to its end; and a ticker does so at last, since both ends are due in their queue after a while.
Nobody but the mover takes step 1, and only before the others: so nothing comes back that was deleted meanwhile.
"""

from functools import partial

import msgspec
from msgspec import Struct

from rota.model.ids import new_id
from rota.model.schedules.schedule import ScheduleState
from rota.store.contract.schedules import ScheduleChange, ScheduleEntry
from rota.store.records.codec import encode, encode_over
from rota.store.redis.keys import SCHEDULE_QUEUES
from rota.store.redis.link.commands import Value
from rota.store.redis.nouns.queues.queues import RedisQueues
from rota.store.redis.nouns.schedules.entries import stored_state

LONGEST_MOVE_MS = 60_000
"""After this time a ticker takes a move for cut short. It may be wrong: then the move was brought to its end sooner."""
MOVING = (b"to {", b"from {")
"""How the states of schedules on their way begin; `includes/moves.lua` knows it too."""


class Leaving(Struct, frozen=True):
    """The state of a schedule that has left its queue."""

    to: str
    id: str
    """Of the move."""
    version: int
    """Which it has there."""

    @property
    def text(self) -> bytes:
        return b"to " + encode(self)

    @property
    def place(self) -> bytes:
        """What the index says of a schedule that moved: also the version as which it came there, so that nobody who is
        late points it back."""
        return f"{self.to}\0{self.version}".encode()


class Arriving(Struct, frozen=True):
    """The state of a schedule that is to arrive in its queue."""

    source: str
    id: str
    """Of the move."""
    expected: str
    """What its state says where it was, and must still say when it leaves. A version alone may come again, if the
    schedule is deleted and made anew."""
    state: ScheduleState
    """Its state from then on."""

    @property
    def text(self) -> bytes:
        return b"from " + encode(self)


_decode_leaving = msgspec.json.Decoder(Leaving).decode
_decode_arriving = msgspec.json.Decoder(Arriving).decode


def is_moving(state: bytes) -> bool:
    return state.startswith(MOVING)


def _move_of(state: bytes) -> Leaving | Arriving:
    word, _, rest = state.partition(b" ")
    return _decode_leaving(rest) if word == b"to" else _decode_arriving(rest)


class RedisScheduleMoves(RedisQueues):
    """Moves one schedule, and brings to an end what was cut short."""

    def _move_schedule(self, change: ScheduleChange, old: ScheduleEntry) -> bool:
        """Bring a schedule to another queue. False, and it stays as it is: it is no longer the expected version."""
        uuid, target = change.schedule.uuid, change.schedule.queue
        seen = self._redis.hget(self._keys_of(old.schedule.queue).schedule_states, uuid) or b""
        if seen.partition(b" ")[0] != b"%d" % old.state.version:
            return False
        arriving = Arriving(old.schedule.queue, new_id(self._link.now()), seen.decode(), change.state)
        in_the_way = self._receive_schedule(change, arriving)
        if in_the_way:
            self._end_schedule_move(target, uuid, in_the_way)
            return False
        return self._carry_schedule_over(uuid, target, arriving)

    def _receive_schedule(self, change: ScheduleChange, arriving: Arriving) -> bytes | None:
        """Make the copy that is to arrive. Returns the state of another one that is there."""
        uuid, source, k = change.schedule.uuid, self._keys_of(arriving.source), self._keys_of(change.schedule.queue)
        body = encode_over(change.schedule, self._redis.hget(source.schedules, uuid))
        # Whatever fires makes another version, which does not leave: these are all rows that there will be.
        rows = self._redis.zrange(source.ticks(uuid), 0, -1, withscores=True)
        args: list[Value] = [uuid, body, arriving.text, self._link.now() + LONGEST_MOVE_MS]
        args += [part for row, nominal in rows for part in (int(nominal), row)]
        args += [change.left_out.nominal, encode(change.left_out)] if change.left_out else []
        there: bytes | None = self._link.run(
            "receive_schedule", [k.schedules, k.schedule_states, k.schedule_due, k.ticks(uuid)], args
        )
        return there

    def _end_schedule_move(self, queue: str, uuid: str, state: bytes) -> bool:
        """Bring the move of a schedule, whose state in a queue is this, to its end, or undo it if it cannot happen.
        False: it is in force, or cannot be read."""
        move = self._unreadable.read("schedule", uuid, partial(_move_of, state)) if is_moving(state) else None
        if isinstance(move, Leaving):
            self._arrive_schedule(uuid, queue, move)
        elif move:
            self._carry_schedule_over(uuid, queue, move)
        return move is not None

    def _carry_schedule_over(self, uuid: str, target: str, arriving: Arriving) -> bool:
        """Have a schedule leave its queue, and arrive where its copy is. False: it is another version, or gone."""
        k = self._keys_of(arriving.source)
        leaving = Leaving(target, arriving.id, arriving.state.version)
        args: list[Value] = [uuid, arriving.expected, leaving.text, self._link.now() + LONGEST_MOVE_MS]
        if not self._link.run("send_schedule", [k.schedule_states, k.schedule_due], args):
            self._forget_schedule_if(target, uuid, arriving.text)
            # Somebody who came across it may have brought it to its end before.
            return self._redis.hget(SCHEDULE_QUEUES, uuid) == leaving.place
        self._arrive_schedule(uuid, arriving.source, leaving)
        return True

    def _arrive_schedule(self, uuid: str, source: str, leaving: Leaving) -> None:
        """Take the steps after a schedule has left its queue, unless somebody else did."""
        k = self._keys_of(leaving.to)
        text = self._redis.hget(k.schedule_states, uuid) or b""
        arriving = self._unreadable.read("schedule", uuid, partial(_move_of, text)) if is_moving(text) else None
        if isinstance(arriving, Arriving) and arriving.id == leaving.id:
            self._link.run("point_to_schedule", [SCHEDULE_QUEUES], [uuid, source, leaving.place, leaving.version])
            due = "" if arriving.state.due is None else arriving.state.due
            args: list[Value] = [uuid, text, stored_state(arriving.state), due]
            self._link.run("arrive_schedule", [k.schedule_states, k.schedule_due], args)
        self._forget_schedule_if(source, uuid, leaving.text)

    def _forget_schedule_if(self, queue: str, uuid: str, state: bytes) -> None:
        """Forget a schedule in a queue, if its state is this one."""
        k = self._keys_of(queue)
        keys = [k.schedules, k.schedule_states, k.schedule_due, k.ticks(uuid)]
        self._link.run("delete_schedules", keys, [uuid, state])


def queue_of(place: bytes) -> str:
    """The queue in which a schedule is, from what the index says."""
    return place.decode().partition("\0")[0]
