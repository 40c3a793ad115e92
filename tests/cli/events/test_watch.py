"""`rota watch` through a server that takes only so much, and not always."""

import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from starlette.types import ASGIApp, Receive, Scope, Send

from rota.cli.events.watch_files import _answer
from rota.engine.events.request import MAX_EVENTS
from rota.errors import StoreUnavailable
from rota.model.events.event import Event
from rota.model.ids import new_id
from rota.server.app import make_app
from rota.store import open_store
from rota.testing.faults import Faults, away
from tests.cli.calling import RotaProcess
from tests.sdk.serving import serving
from tests.server.serving import KEY, make_api

pytest.importorskip("watchfiles")


class Away:
    """In front of an app: refuses the first so many events, as one whose store cannot be reached. Something may happen
    whenever events come."""

    def __init__(self, app: ASGIApp, times: int, meanwhile: Callable[[], object]) -> None:
        self._app = app
        self._left = times
        self._meanwhile = meanwhile

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/api/events":
            self._meanwhile()
        if scope["path"] != "/api/events" or not self._left:
            await self._app(scope, receive, send)
            return
        self._left -= 1
        await send({"type": "http.response.start", "status": 503, "headers": []})
        await send({"type": "http.response.body", "body": b""})


@contextmanager
def watching(
    folder: Path, inbox: Path, *, away: int = 0, meanwhile: Callable[[], object] = lambda: None
) -> Iterator[RotaProcess]:
    store = open_store("sqlite:///rota.db")
    api = make_api(store)
    with serving(Away(make_app(api), away, meanwhile)) as address:
        variables = {"ROTA_SERVER": address, "ROTA_API_KEY": KEY}
        with RotaProcess(["watch", str(inbox), "--existing"], folder, **variables) as process:
            yield process
    api.close()
    store.close()


def test_files_are_told_although_the_store_was_away_when_they_came(folder: Path) -> None:
    inbox = folder / "inbox"
    inbox.mkdir()
    (inbox / "old.csv").touch()

    with watching(folder, inbox, away=2) as watch:
        watch.until_said("tried again until it is there")
        watch.until(lambda: f"{inbox / 'old.csv'}\n" in watch.stdout, "the file to be told")
        watch.until_said("Watching")
        (inbox / "new.csv").touch()
        watch.until(lambda: f"{inbox / 'new.csv'}\n" in watch.stdout, "the new file to be told")
        assert watch.stop() == 0

    assert len([line for line in watch.stderr if "tried again" in line]) == 1


def test_a_file_that_comes_while_those_that_were_there_are_told_is_told_too(folder: Path) -> None:
    inbox = folder / "inbox"
    inbox.mkdir()
    (inbox / "old.csv").touch()

    with watching(folder, inbox, meanwhile=(inbox / "new.csv").touch) as watch:
        for name in ("old.csv", "new.csv"):
            watch.until(lambda name=name: f"{inbox / name}\n" in watch.stdout, f"{name} to be told")  # type: ignore[misc]
        assert watch.stop() == 0


def test_more_files_than_a_server_takes_at_a_time_are_told(folder: Path) -> None:
    inbox = folder / "inbox"
    inbox.mkdir()
    for number in range(MAX_EVENTS + 1):
        (inbox / f"{number}.csv").touch()

    with watching(folder, inbox) as watch:
        watch.until_said("Watching")
        assert watch.stop() == 0

    assert len(watch.stdout) == MAX_EVENTS + 1


def test_a_watch_that_is_ended_while_the_store_is_away_tells_that_it_is() -> None:
    """What it has not told is not passed over in silence, and nobody waits for it to end."""
    with closing(open_store("sqlite:///rota.db")) as store:
        faults, stopping = Faults(store), threading.Event()
        engine = make_api(faults.store).engine
        event = Event(id=new_id(1), type="FILE", resource="/in/a", time=1_000, received_at=1)
        faults.before("match_events", away)
        stopping.set()

        with pytest.raises(StoreUnavailable):
            _answer(engine, [event], stopping)
