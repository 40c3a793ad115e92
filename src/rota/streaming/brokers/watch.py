"""Asks the brokers now and then whether they are there: a stream that has nothing to send would not notice.

A client that was not answered is given up: one that was told of no brokers forgets those it knew, and may never look
for any again (issue 5301 of librdkafka). A broker tells so that was just let go, or comes back to its cluster.
"""

from threading import Event, Thread

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from rota.streaming.options import StreamOptions

_TOPIC = "__consumer_offsets"
_EVERY_S = 5.0
_ASK_S = 5.0


class Watch:
    """See the module."""

    def __init__(self, options: StreamOptions) -> None:
        self._options = options
        self.trouble: str | None = None
        """That they do not answer; None if they do, or were not asked yet."""

    def start(self, stopping: Event) -> None:
        """Begin to ask, until then."""
        Thread(target=self._run, args=(stopping,), name="rota-watch", daemon=True).start()

    def _run(self, stopping: Event) -> None:
        admin: AdminClient | None = None
        while not stopping.is_set():
            if admin is None:
                admin = AdminClient(self._options.client())
            self.trouble = _trouble_of(admin)
            if self.trouble is not None:
                admin = None
            stopping.wait(_EVERY_S)


def _trouble_of(admin: AdminClient) -> str | None:
    """By the metadata of a topic that every cluster has, and that is made rightly where it is missing. Not by a request
    of administration: librdkafka may end the process when one of those times out."""
    try:
        admin.list_topics(_TOPIC, timeout=_ASK_S)
    except KafkaException as error:
        return f"the brokers do not answer: {error.args[0].str()}"
    return None
