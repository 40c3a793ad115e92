"""How a page asks: through the operations of the API, on behalf of its caller, and never past them.

What comes back is the JSON that a program would get. So no page shows more than the API does.
"""

from typing import Any
from urllib.parse import urlencode

import msgspec
from starlette.datastructures import Headers

from rota.engine.access.keys.access import Caller
from rota.engine.access.keys.rights import told_to
from rota.errors import NotFound
from rota.server.api import Api
from rota.server.bodies.decoding import decode_query
from rota.server.endpoint import check_may
from rota.server.operations import Call

_NO_HEADERS = Headers()


class Asking:
    """Somebody who looks at a page. Operations are known by their names in the OpenAPI document."""

    def __init__(self, api: Api, caller: Caller) -> None:
        self.caller = caller
        self._api = api
        self._operations = api.operations_by_name

    @property
    def now(self) -> int:
        return self._api.engine.clock.now()

    def offers(self, name: str) -> bool:
        """Whether the server has the operation at all: those of a dialect may be missing."""
        return name in self._operations

    def may(self, name: str) -> bool:
        return self.offers(name) and self.caller.may(self._operations[name].needs)

    def check(self, name: str) -> None:
        """Refuse those who may not ask for it: for pages that are of no use to them."""
        check_may(self.caller, self._operations[name])

    def ask(self, name: str, path: dict[str, str] | None = None, /, *, body: object = None, **query: object) -> Any:
        """The answer of an operation that changes nothing, as its JSON. Refused as the API refuses it."""
        self.check(name)
        operation = self._operations[name]
        given = {key: value for key, value in query.items() if value is not None}
        decoded = decode_query(urlencode(given, doseq=True).encode(), operation.query) if operation.query else None
        call: Call[Any, Any] = Call(path or {}, decoded, body, self.caller, _NO_HEADERS)
        try:
            return msgspec.json.decode(msgspec.json.encode(operation.run(self._api, call)))
        except NotFound as error:
            raise told_to(self.caller, error) from None

    def ask_if_there(self, name: str, path: dict[str, str], /, **query: object) -> Any:
        """The same; None if it is gone: what a list has may be removed before it is asked for by itself."""
        try:
            return self.ask(name, path, **query)
        except NotFound:
            return None

    def ask_if_allowed(self, name: str, path: dict[str, str] | None = None, /, **query: object) -> Any:
        """The same; None if the caller may not ask for it."""
        return self.ask(name, path, **query) if self.may(name) else None
