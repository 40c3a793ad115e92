"""Records that are published together share one round trip (`engine/bridge/batcher.py`)."""

from collections.abc import Sequence

from rota.engine.bridge.batcher import Batcher
from rota.engine.topics.topics import Publisher, check_record
from rota.errors import RotaError
from rota.model.topics.topic import TopicRecord

MOST_PER_BATCH = 500
_Item = tuple[str, TopicRecord]
_Fate = int | RotaError
"""The offset of a record, or why it was not published."""


class PublishBatcher(Batcher[_Item, list[_Fate]]):
    """Publishes for one event loop. Each record is published or refused for itself."""

    def __init__(self, publisher: Publisher) -> None:
        super().__init__("rota-publish", most_per_batch=MOST_PER_BATCH)
        self._publisher = publisher

    async def publish(self, topic: str, record: TopicRecord) -> int:
        """Publish one record; returns its offset."""
        check_record(topic, record)
        (fate,) = await self._hand_in([(topic, record)])
        if isinstance(fate, RotaError):
            raise fate
        return fate

    def _carry_out(self, items: list[_Item]) -> list[_Fate]:
        by_topic: dict[str, list[int]] = {}
        for number, (topic, _) in enumerate(items):
            by_topic.setdefault(topic, []).append(number)
        fates: dict[int, _Fate] = {}
        for topic, numbers in by_topic.items():
            fates |= zip(numbers, self._publish(topic, [items[number][1] for number in numbers]), strict=True)
        return [fates[number] for number in range(len(items))]

    def _publish(self, topic: str, records: list[TopicRecord]) -> Sequence[_Fate]:
        """What keeps one topic from being written is not the trouble of the others."""
        try:
            return self._publisher.publish(topic, records)
        except RotaError as error:
            return [error] * len(records)

    def _share_out(self, answer: list[_Fate], sizes: Sequence[int]) -> list[list[_Fate]]:
        fates = iter(answer)
        return [[next(fates) for _ in range(size)] for size in sizes]
