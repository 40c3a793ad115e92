"""Pages that stay up to date: whoever looks at the same screen with the same rights shares a poller and a rendering.

A screen keeps its parts as they were last rendered, and when each changed. A follower is given what changed since it
was last given something; so a slow one gets the latest, and costs no memory.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator

import msgspec

from rota.engine.access.keys.access import Caller, Scope
from rota.errors import RotaError
from rota.server.answers import FAULT, Refusal
from rota.server.api import Api
from rota.server.live_logs.feeds import within
from rota.server.pages.asking import Asking
from rota.server.pages.page import Page, Visit, part_id
from rota.server.pages.showing.rendering import render_parts

PERIOD_S = 1.0
_SHARE = 20
"""A screen that takes long to make is made less often: for no more than one twentieth of the time ..."""
_LONGEST_PAUSE_S = 15.0
"""... but never so seldom that it seems to be true when it no longer is."""
_logger = logging.getLogger("rota.server")
_Key = tuple[str, frozenset[Scope]]


class Screens:
    """The open screens of one server."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._screens: dict[_Key, _Screen] = {}
        api.at_end.append(self._wake)

    def is_open(self, at: str, caller: Caller) -> bool:
        """Whether somebody with the same rights follows it already."""
        return (at, caller.scopes) in self._screens

    async def follow(
        self, page: Page, visit: Visit, at: str, *, caller: Caller, idle_s: float
    ) -> AsyncGenerator[bytes | None, None]:
        """Events with the parts that changed, at first with all of them, and with what is wrong while they cannot be
        made. None when nothing changed for `idle_s` seconds."""
        screen = self._join(page, visit, (at, caller.scopes), caller)
        seen, told = 0, ""
        try:
            while not self._api.stopping.is_set():
                changed = screen.changed
                if screen.version > seen:
                    event, seen = screen.event_behind(seen), screen.version
                    yield event
                elif screen.trouble != told:
                    told = screen.trouble
                    yield b"event: trouble\ndata: %s\n\n" % msgspec.json.encode({"sentence": told})
                elif not await within(changed.wait(), idle_s):
                    yield None
        finally:
            self._leave((at, caller.scopes), screen)

    def _wake(self) -> None:
        for screen in self._screens.values():
            screen.announce()

    def _join(self, page: Page, visit: Visit, key: _Key, caller: Caller) -> "_Screen":
        screen = self._screens.get(key)
        if screen is None:
            screen = self._screens[key] = _Screen(self._api, page, visit, caller)
        screen.followers += 1
        return screen

    def _leave(self, key: _Key, screen: "_Screen") -> None:
        screen.followers -= 1
        if not screen.followers:
            screen.stop()
            del self._screens[key]


class _Screen:
    """One page as callers with the same rights see it, made again and again by one task."""

    def __init__(self, api: Api, page: Page, visit: Visit, caller: Caller) -> None:
        self._api = api
        self._page = page
        self._visit = visit
        self._caller = caller
        self._parts: dict[str, tuple[int, str]] = {}
        """Name to the version in which it became what it is."""
        self._latest = b""
        self.version = 0
        self.trouble = ""
        """Why its parts are not what they would be now; empty if they are."""
        self.followers = 0
        self.changed = asyncio.Event()
        self._task = asyncio.create_task(self._poll())

    def event_behind(self, seen: int) -> bytes:
        """What became another one after this version, as one event."""
        if seen == self.version - 1:
            return self._latest
        return _event({name: html for name, (version, html) in self._parts.items() if version > seen})

    def stop(self) -> None:
        self._task.cancel()

    async def _poll(self) -> None:
        while True:
            began = self._api.engine.clock.monotonic()
            trouble = await self._make()
            took_s = self._api.engine.clock.monotonic() - began
            if trouble != self.trouble:
                self.trouble = trouble
                self.announce()
            await asyncio.sleep(pause_s(0 if trouble else took_s))

    async def _make(self) -> str:
        """Its parts, as they are now; or why that cannot be: the page stays as it is then, and says so."""
        try:
            self._take(await self._api.in_thread(self._render))
        except (RotaError, Refusal) as error:
            return str(error)
        except Exception:
            _logger.exception("a page could not be made", extra={"path": self._page.path})
            return FAULT
        return ""

    def _render(self) -> dict[str, str]:
        asking = Asking(self._api, self._caller)
        context = self._page.gather(asking, self._visit)
        return render_parts(self._page, {**context, "may": asking.may, "now": asking.now})

    def _take(self, parts: dict[str, str]) -> None:
        changed = {name: html for name, html in parts.items() if self._parts.get(name, (0, ""))[1] != html}
        if not changed:
            return
        self.version += 1
        self._parts |= {name: (self.version, html) for name, html in changed.items()}
        self._latest = _event(changed)
        self.announce()

    def announce(self) -> None:
        """Wake all followers; those who wait from now on wait for the next time."""
        before, self.changed = self.changed, asyncio.Event()
        before.set()


def pause_s(took_s: float) -> float:
    """Until a screen is made again that took so long."""
    return max(PERIOD_S, min(took_s * _SHARE, _LONGEST_PAUSE_S))


def _event(parts: dict[str, str]) -> bytes:
    shown = [{"id": part_id(name), "html": html} for name, html in parts.items()]
    return b"event: parts\ndata: %s\n\n" % msgspec.json.encode(shown)
