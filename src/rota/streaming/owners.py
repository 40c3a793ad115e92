"""Which instance has a partition, as the group itself tells it, and how that one is asked."""

import json
import urllib.error
import urllib.parse
import urllib.request

import msgspec
from confluent_kafka import ConsumerGroupState

from rota.clock import Clock
from rota.engine.topics.light.scheduler import DefinitionPage, DefinitionQuery
from rota.errors import StoreUnavailable
from rota.streaming.brokers.administration import Administration
from rota.streaming.options import StreamOptions, instance_of

PEER_PATH = "/api/schedulers/partitions"
"""Where instances ask each other; the number of the partition is behind it."""
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""Instances reach each other directly, whatever the environment says of proxies."""
_ASK_S = 5.0
_KNOWN_S = 1.0


class Owners:
    """See the module. Any thread may ask."""

    def __init__(self, options: StreamOptions, clock: Clock) -> None:
        self._options = options
        self._clock = clock
        self._addresses: dict[int, str] = {}
        self._asked_at: float | None = None

    def address_of(self, partition: int) -> str | None:
        """The URL of the instance that has it; None while it changes hands, or nobody has it."""
        if self._asked_at is None or self._clock.monotonic() - self._asked_at >= _KNOWN_S:
            self._addresses = self._ask_group()
            self._asked_at = self._clock.monotonic()
        return self._addresses.get(partition)

    def forget(self) -> None:
        """Somebody was not there: ask again next time."""
        self._asked_at = None

    def find(self, address: str, partition: int, query: DefinitionQuery) -> DefinitionPage:
        """Ask another instance. `StoreUnavailable` if it does not answer, or has the partition no longer."""
        fields = {name: value for name, value in msgspec.to_builtins(query).items() if value is not None}
        url = f"{address}{PEER_PATH}/{partition}?{urllib.parse.urlencode(fields)}"
        request = urllib.request.Request(url, headers={"Authorization": f"Bearer {self._options.peer_key}"})
        try:
            with _OPENER.open(request, timeout=_ASK_S) as answer:
                return msgspec.json.decode(answer.read(), type=DefinitionPage)
        except urllib.error.HTTPError as error:
            raise StoreUnavailable(f"the instance at {address} did not answer: {_reason(error)}") from None
        except (OSError, msgspec.DecodeError) as error:
            raise StoreUnavailable(f"the instance at {address} did not answer: {error}") from None

    def _ask_group(self) -> dict[int, str]:
        group = self._options.group
        found = Administration(self._options).ask(
            lambda admin: admin.describe_consumer_groups([group], request_timeout=_ASK_S)[group].result()
        )
        if found.state != ConsumerGroupState.STABLE:
            return {}
        return {
            place.partition: instance_of(member.client_id)[1]
            for member in found.members
            for place in member.assignment.topic_partitions
        }


def _reason(error: urllib.error.HTTPError) -> str:
    if error.code in (401, 403):
        return "it refused our key; give all instances the same api_key"
    try:
        return str(json.loads(error.read())["error"])
    except (ValueError, KeyError, TypeError):
        return f"HTTP {error.code}"
