"""A server that has things done."""

from typing import Any

from rota.cli.remote.store import RemoteStore
from rota.sdk.call import Call, path_to
from rota.sdk.client import Client


class Server:
    """Takes changes; what it tells is in `store`."""

    def __init__(self, client: Client, store: RemoteStore) -> None:
        self._client = client
        self.store = store

    def send(self, method: str, *path: str, answer: Any = dict[str, Any], body: object = None) -> Any:
        """A request below `/api`."""
        return self.send_to(path_to(*path), method, answer=answer, body=body)

    def send_to(self, path: str, method: str = "POST", *, answer: Any, body: object) -> Any:
        return self._client.send(Call(method=method, path=path, answer=answer, body=body))
