"""Redis, as a store of Rota's; a SQLite file does too."""

from rota.errors import InvalidInput
from rota.moving.common.refusing import Options
from rota.moving.common.stores import url_of_connection
from rota.moving.dramatiq.broker import Broker

_BROKER = Options(
    of="RedisBroker",
    carried=("url", "client", "middleware", "host", "port", "db"),
    harmless=("maintenance_chance", "heartbeat_timeout", "dead_message_ttl"),
    instead={"namespace": "another database of Redis keeps things apart", "password": "give it in the url"},
)


class RedisBroker(Broker):
    """By its URL, a client of redis-py's, or host, port and database."""

    def __init__(
        self,
        *,
        url: str | None = None,
        client: object = None,
        middleware: list[object] | None = None,
        host: str | None = None,
        port: int = 6379,
        db: int = 0,
        **options: object,
    ) -> None:
        _BROKER.check(options)
        if sum(one is not None for one in (url, client, host)) > 1:
            raise InvalidInput("url", "cannot stand beside client or host; give one of them")
        found = f"redis://{host}:{port}/{db}" if host is not None else url_of_connection("client", client or url)
        super().__init__(found)
        for one in middleware or []:
            self.add_middleware(one)
