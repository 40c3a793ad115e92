"""The whole log of a job as a plain text file, given as it is read."""

from collections.abc import AsyncIterator
from typing import Any

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from rota.engine.access.keys.access import Caller
from rota.errors import RotaError
from rota.model.runs.log_pages import PageSize
from rota.server.answers import Refusal, error_answer
from rota.server.api import Api
from rota.server.bodies.decoding import decode_path
from rota.server.endpoint import is_still_good
from rota.server.live_logs.seats import LiveAnswer
from rota.server.pages.asking import Asking
from rota.server.pages.endpoint import visitor
from rota.server.pages.showing.words import exact
from rota.server.routes.jobs.logs import KEY_CHECK_S
from rota.shapes.errors import status_of

_LINES = 200
_CUT = "-- the log goes on, but not in this file: {} --\n"


class LogText:
    """`GET /jobs/{uuid}/log.txt`."""

    def __init__(self, api: Api) -> None:
        self._api = api

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._api.unread.give(await self._answer(scope), scope, receive, send)

    async def _answer(self, scope: Scope) -> Response:
        headers = Headers(scope=scope)
        try:
            caller, _ = await visitor(self._api, scope, headers)
            reading = _Reading(self._api, caller, decode_path(scope["path_params"])["uuid"])
            await reading.go_on()
            answer = LiveAnswer(reading.text(headers), "text/plain", self._api.seats, caller.name)
        except Refusal as refusal:
            return error_answer(refusal.status, str(refusal), refusal.headers)
        except RotaError as error:
            return error_answer(status_of(error), str(error))
        answer.headers["content-disposition"] = f'attachment; filename="{reading.uuid}.txt"'
        return answer


class _Reading:
    """One who reads a log, a few lines at a time: what waits for a client that does not read is held in memory."""

    def __init__(self, api: Api, caller: Caller, uuid: str) -> None:
        self.uuid = uuid
        self._api = api
        self._caller = caller
        self._asking = Asking(api, caller)
        self._size = PageSize(_LINES)
        self._page: Any = {"next": 0}

    async def go_on(self) -> None:
        """To the next lines."""
        self._page = await self._api.in_thread(self._read)
        self._size.learn([one["message"] for one in self._page["logs"]])

    def _read(self) -> Any:
        return self._asking.ask("read_logs", {"uuid": self.uuid}, after=self._page["next"], limit=self._size.lines)

    async def text(self, headers: Headers) -> AsyncIterator[bytes]:
        """All that there is now. A file that is cut says so."""
        now = self._api.engine.clock.monotonic
        asked_at = now()
        while True:
            yield "".join(map(_line, self._page["logs"])).encode()
            if not self._page["more"]:
                return
            if now() - asked_at >= KEY_CHECK_S:
                if not await is_still_good(self._api, headers, self._caller):
                    yield _CUT.format("the key is no longer good").encode()
                    return
                asked_at = now()
            try:
                await self.go_on()
            except RotaError as error:
                yield _CUT.format(error).encode()
                return


def _line(entry: Any) -> str:
    return f"{exact(entry['time'])} {entry['level']} {entry['message']}\n"
