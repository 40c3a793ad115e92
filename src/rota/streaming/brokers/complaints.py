"""What keeps a client out and only an operator can change: a wrong password, a missing right. librdkafka tells of it by
a call-back, again and again, and goes on trying; nobody else would ever hear of it."""

import logging

from confluent_kafka import KafkaError

from rota.clock import Clock

_KEPT_OUT = frozenset(
    {
        KafkaError._AUTHENTICATION,
        KafkaError._SSL,
        KafkaError.SASL_AUTHENTICATION_FAILED,
        KafkaError.UNSUPPORTED_SASL_MECHANISM,
    }
)
_LASTS_S = 60.0
"""It is told at least twice as often for as long as it is so."""
_logger = logging.getLogger("rota.streaming")


class Complaints:
    """The latest, while it lasts. Any thread may add one."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._latest: tuple[str, float] | None = None

    def take(self, error: KafkaError) -> None:
        """For `error_cb`. Brokers that are away are no complaint: whoever needs them finds out."""
        if error.code() in _KEPT_OUT:
            self.add(error)

    def add(self, error: KafkaError, advice: str | None = None) -> None:
        """`advice` is told in place of what the brokers say."""
        reason = advice or error.str()
        text = f"the brokers refuse this instance: {reason}"
        if self.current != text:
            _logger.error("the brokers refuse this instance", extra={"error": reason})
        self._latest = (text, self._clock.monotonic())

    def end(self) -> None:
        """The brokers answer: it is so no longer."""
        self._latest = None

    @property
    def current(self) -> str | None:
        latest = self._latest
        return latest[0] if latest and self._clock.monotonic() - latest[1] < _LASTS_S else None
