"""The whole log of a job as a plain text file, given as it is read."""

from collections.abc import AsyncIterator
from typing import Any

from starlette.datastructures import Headers
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from rota.errors import RotaError
from rota.server.answers import Refusal, error_answer
from rota.server.api import Api
from rota.server.bodies.decoding import decode_path
from rota.server.pages.asking import Asking
from rota.server.pages.endpoint import visitor
from rota.server.pages.showing.words import exact
from rota.shapes.errors import status_of

_LINES = 5_000


class LogText:
    """`GET /jobs/{uuid}/log.txt`."""

    def __init__(self, api: Api) -> None:
        self._api = api

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await (await self._answer(scope))(scope, receive, send)

    async def _answer(self, scope: Scope) -> Response:
        try:
            caller, _ = await visitor(self._api, scope, Headers(scope=scope))
            uuid = decode_path(scope["path_params"])["uuid"]
            asking = Asking(self._api, caller)
            first = await self._api.in_thread(self._page, asking, uuid, 0)
        except Refusal as refusal:
            return error_answer(refusal.status, str(refusal), refusal.headers)
        except RotaError as error:
            return error_answer(status_of(error), str(error))
        headers = {"content-disposition": f'attachment; filename="{uuid}.txt"'}
        return StreamingResponse(self._lines(asking, uuid, first), headers=headers, media_type="text/plain")

    def _page(self, asking: Asking, uuid: str, after: int) -> Any:
        return asking.ask("read_logs", {"uuid": uuid}, after=after, limit=_LINES)

    async def _lines(self, asking: Asking, uuid: str, page: Any) -> AsyncIterator[str]:
        while True:
            yield "".join(f"{exact(one['time'])} {one['level']} {one['message']}\n" for one in page["logs"])
            if not page["more"]:
                return
            page = await self._api.in_thread(self._page, asking, uuid, page["next"])
