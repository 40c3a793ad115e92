"""The light scheduler on Kafka, as the API sees it: commands go to their topic, questions to the owner of a key."""

import re
from heapq import nsmallest

from confluent_kafka import TopicPartition

from rota.clock import Clock
from rota.engine.topics.light.scheduler import MAX_PAGE, DefinitionPage, DefinitionQuery
from rota.errors import InvalidInput, NotFound, StoreUnavailable
from rota.model.topics.light.definition import Action, TaskDefinition
from rota.streaming.brokers.administration import Administration
from rota.streaming.brokers.sender import Outgoing, Sender
from rota.streaming.options import StreamOptions
from rota.streaming.owners import Owners
from rota.streaming.partition import Partition
from rota.streaming.records.codec import encode_definition, encode_key
from rota.streaming.records.keys import partition_of
from rota.streaming.restore import LATEST, offsets_of
from rota.streaming.stream import Stream

_FIND_S = 3.0
"""How long a question waits for a partition that changes hands."""
_LOOK_S = 0.1
_HEX = re.compile(r"(?:[0-9a-f]{2})*")


class KafkaScheduler:
    """See `rota.engine.topics.light.scheduler.LightScheduler` for what `apply` and `find` promise."""

    def __init__(self, options: StreamOptions, clock: Clock) -> None:
        self._options = options
        self._clock = clock
        self.stream = Stream(options, clock)
        self._administration = Administration(options)
        self._owners = Owners(options, clock)
        self._sender = Sender(options)

    def start(self) -> None:
        self.stream.start()

    def close(self) -> None:
        """Leave the group, and let all connections go: whoever keeps this would keep them too, and their threads."""
        self.stream.close()
        self._administration.close()
        self._sender.close()

    @property
    def peer_key(self) -> str:
        return self._options.peer_key

    @property
    def trouble(self) -> str | None:
        """What is wrong, in one sentence; None if nothing is."""
        told = self.stream.trouble
        return told and f"the light scheduler does not run: {told}"

    # -- commands --------------------------------------------------------------------------------------------------

    def apply(self, command: TaskDefinition) -> None:
        if command.action is not Action.DELETE:
            self._options.check_target(command.topic)
        if command.action is not Action.INSERT:
            self._require(command)
        key = encode_key(command.key)
        partition = self._partition_of(key)
        self._sender.send(self._options.input_topic, Outgoing(key, encode_definition(command), partition))

    def _require(self, command: TaskDefinition) -> None:
        if not self.find(DefinitionQuery(command.host, command.name)).definitions:
            raise NotFound("task definition", f"{command.host} {command.name}", "INSERT makes one")

    def _partition_of(self, key: bytes) -> int:
        if not self.stream.partition_count:
            raise StoreUnavailable(self.trouble or "the light scheduler is starting")
        return partition_of(key, self.stream.partition_count)

    # -- questions -------------------------------------------------------------------------------------------------

    def find(self, query: DefinitionQuery) -> DefinitionPage:
        """Without a key the definitions come partition by partition, each by host and name."""
        if query.key is not None:
            return self._find_in(self._partition_of(encode_key(query.key)), query)
        number, after = _place_of(query.cursor, self.stream.partition_count)
        page = self._find_in(number, _with_cursor(query, after))
        if page.cursor is not None:
            return DefinitionPage(page.definitions, f"{number}:{page.cursor}")
        is_last = number + 1 >= self.stream.partition_count
        return DefinitionPage(page.definitions, None if is_last else f"{number + 1}:")

    def _find_in(self, number: int, query: DefinitionQuery) -> DefinitionPage:
        """Of this instance or another. Whoever has the partition may change while we ask, so there are some tries."""
        deadline = self._clock.monotonic() + _FIND_S
        problem = f"partition {number} changes hands"
        while True:
            try:
                if number in self.stream.partitions:
                    return self.find_here(number, query)
                address = self._owners.address_of(number)
                if address and address != self._options.address:
                    return self._owners.find(address, number, query)
            except StoreUnavailable as error:
                problem = str(error)
                self._owners.forget()
            if self._clock.monotonic() >= deadline:
                raise StoreUnavailable(f"{problem}; try again in some seconds")
            with self.stream.moved:
                self.stream.moved.wait(_LOOK_S)

    def find_here(self, number: int, query: DefinitionQuery) -> DefinitionPage:
        """Of a partition of this instance, with all commands that were there when it was asked. `StoreUnavailable` if
        it is not here, or not so far in time."""
        partition = self._current(number)
        if query.key is None:
            return _page(partition, query)
        entry = partition.definitions.get(encode_key(query.key))
        definitions = [] if entry is None else [entry.definition]
        return DefinitionPage([one for one in definitions if query.matches(one)])

    def _current(self, number: int) -> Partition:
        """The partition, when it has taken every command that is there now."""
        end = self._end_of(number)
        deadline = self._clock.monotonic() + _FIND_S
        with self.stream.moved:
            while True:
                partition = self.stream.partitions.get(number)
                if partition is None:
                    raise StoreUnavailable(f"partition {number} is not here, or is being restored")
                if partition.reached >= end:
                    return partition
                if self._clock.monotonic() >= deadline:
                    raise StoreUnavailable(f"partition {number} has not taken all commands yet")
                self.stream.moved.wait(_LOOK_S)

    def _end_of(self, number: int) -> int:
        """Behind what belongs to open transactions too: a command after it is acknowledged, but nobody reads it yet."""
        place = TopicPartition(self._options.input_topic, number)
        (end,) = self._administration.ask(lambda admin: offsets_of(admin, [place], LATEST, timeout_s=_FIND_S)).values()
        return end


def _page(partition: Partition, query: DefinitionQuery) -> DefinitionPage:
    if not _HEX.fullmatch(query.cursor or ""):
        raise InvalidInput("cursor", f"{query.cursor!r:.100} is not from an earlier page")
    after = bytes.fromhex(query.cursor or "")
    limit = min(query.limit, MAX_PAGE)
    keys = nsmallest(limit, (key for key in list(partition.definitions) if key > after))
    entries = [partition.definitions.get(key) for key in keys]
    definitions = [entry.definition for entry in entries if entry is not None]
    cursor = keys[-1].hex() if len(keys) == limit else None
    return DefinitionPage([one for one in definitions if query.matches(one)], cursor)


def _place_of(cursor: str | None, partitions: int) -> tuple[int, str | None]:
    """Where a page begins: a partition, and the key behind which to go on."""
    if cursor is None:
        return 0, None
    number, _, after = cursor.partition(":")
    if not number.isdecimal() or int(number) >= partitions or not _HEX.fullmatch(after):
        raise InvalidInput("cursor", f"{cursor!r:.100} is not from an earlier page")
    return int(number), after or None


def _with_cursor(query: DefinitionQuery, cursor: str | None) -> DefinitionQuery:
    return DefinitionQuery(query.host, query.name, query.unit, query.limit, cursor)
