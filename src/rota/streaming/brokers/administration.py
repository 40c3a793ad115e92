"""Questions to the brokers about themselves, asked by a client that is given up whenever one was not answered.

librdkafka's client of administration does not get over everything. Once it has learnt of a leader, or that there is no
such topic, it believes so for a quarter of an hour, although every answer says that this is over. And a question about
a group that came to nothing ends the whole process when the brokers return, if its client still lives then (issue 4605
of librdkafka): so whoever asks about a group has an `Administration` for that alone, whose client nobody else uses.
"""

from collections.abc import Callable
from threading import Lock
from traceback import clear_frames
from typing import TypeVar

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from rota.errors import StoreUnavailable
from rota.streaming.options import StreamOptions

Answer = TypeVar("Answer")


class Administration:
    """See the module. Any thread may ask."""

    def __init__(self, options: StreamOptions) -> None:
        self._options = options
        self._lock = Lock()
        self._client: AdminClient | None = None

    def ask(self, question: Callable[[AdminClient], Answer]) -> Answer:
        """`StoreUnavailable` if the brokers do not answer, or refuse to."""
        client = self._made()
        try:
            return question(client)
        except KafkaException as error:
            reason = error.args[0].str()
            clear_frames(error.__traceback__)  # otherwise the client lives as long as the error, or longer
        self._give_up(client)
        del client
        raise StoreUnavailable(f"the brokers did not answer: {reason}")

    def close(self) -> None:
        """Let the connections go."""
        with self._lock:
            self._client = None

    def _made(self) -> AdminClient:
        with self._lock:
            if self._client is None:
                self._client = AdminClient(self._options.client())
            return self._client

    def _give_up(self, failed: AdminClient) -> None:
        with self._lock:
            if self._client is failed:
                self._client = None
