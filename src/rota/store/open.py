"""From a URL to a store. Drivers are imported when they are needed, so that the core runs without them."""

from urllib.parse import urlsplit

from rota.errors import InvalidInput, MissingExtra
from rota.model.access.masking import mask_url
from rota.store.contract.store import Store

REDIS_SCHEMES = ("redis", "rediss", "valkey", "valkeys", "sentinel", "redis+cluster", "rediss+cluster")
SCHEMES = ("sqlite", *REDIS_SCHEMES)


def open_store(url: str) -> Store:
    """Open the store at `url`:

    `sqlite:///file.db`, `sqlite:////absolute/file.db`, `sqlite://:memory:`, `redis://host:port/0`, `rediss://`,
    `sentinel://host:port,host:port/name/0`, `redis+cluster://host:port,host:port`.
    """
    scheme = scheme_of(url)
    if scheme == "sqlite":
        from rota.store.sqlite.store import SqliteStore

        return SqliteStore.open(url)
    try:
        import redis  # noqa: F401
    except ImportError:
        raise MissingExtra(f"{scheme}://", "redis") from None
    from rota.store.redis.store import RedisStore

    return RedisStore.open(url)


def scheme_of(url: str) -> str:
    """Which kind of store a URL is of; `InvalidInput` if there is none such. Nothing is opened."""
    try:
        scheme = urlsplit(url).scheme
    except ValueError:
        raise InvalidInput("store", f"{mask_url(url)!r} is not a URL") from None
    if scheme in SCHEMES:
        return scheme
    raise InvalidInput("store", f"{mask_url(url)!r} has no known scheme; it must be one of {', '.join(SCHEMES)}")
