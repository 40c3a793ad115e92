"""Where jobs are kept: what another library calls its broker or connection is Rota's store."""

from urllib.parse import quote

from rota.errors import InvalidInput

_CARRIED = ("redis:", "rediss:", "valkey:", "valkeys:", "redis+cluster:", "rediss+cluster:", "sentinel:", "sqlite:")


def store_url(field: str, url: object) -> str | None:
    """The URL of a store; None leaves it to the environment or the configuration file."""
    if url is None or (isinstance(url, str) and url.startswith(_CARRIED)):
        return url
    raise InvalidInput(field, f"{_without_password(url)} is not a store of Rota's; give redis://... or sqlite:///FILE")


def url_of_connection(field: str, connection: object) -> str | None:
    """The URL of a connection of redis-py's, or a URL as text."""
    pool = getattr(connection, "connection_pool", None)
    found = getattr(pool, "connection_kwargs", None)
    if not isinstance(found, dict):
        return store_url(field, connection)
    scheme = "rediss" if "SSL" in getattr(getattr(pool, "connection_class", None), "__name__", "") else "redis"
    name, password = found.get("username"), found.get("password")
    who = f"{quote(str(name or ''), safe='')}:{quote(str(password), safe='')}@" if password else ""
    if "path" in found:
        raise InvalidInput(field, "a Unix socket is not a store of Rota's; give redis://...")
    return f"{scheme}://{who}{found.get('host', 'localhost')}:{found.get('port', 6379)}/{found.get('db') or 0}"


def _without_password(url: object) -> str:
    text = str(url)
    return repr(text.partition("://")[0] + "://..." if "@" in text else text[:100])
