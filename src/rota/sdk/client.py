"""A client of the HTTP API, for programs that are not Rota's own processes. Needs `pip install 'rota[client]'`.

    with Client("http://127.0.0.1:23071", key="...") as rota:
        job = rota.enqueue("report", {"day": "monday"})
        print(rota.wait(job.uuid).results)

    async with AsyncClient("http://127.0.0.1:23071", key="...") as rota:
        job = await rota.enqueue("report", {"day": "monday"})
        async for line in rota.follow_logs(job.uuid):
            print(line.message)

Every verb is written once, in `asks.py` and `walks.py`; here it gets its two colours.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Generic, ParamSpec, Self, TypeVar, overload

from rota.errors import InvalidInput, RotaError, StoreRefused, StoreUnavailable
from rota.sdk import asks, walks
from rota.sdk.ask import Ask
from rota.sdk.failures import failure
from rota.sdk.log_events import LogEvents
from rota.sdk.shapes import LogLine
from rota.sdk.walks import Found, Pause, Walk

try:
    import httpx2
except ImportError:
    raise StoreRefused("the client needs httpx2; install it with: pip install 'rota[client]'") from None

P = ParamSpec("P")
T = TypeVar("T")
_JSON = {"Content-Type": "application/json"}
_EVENT_STREAM = {"Accept": "text/event-stream"}
_STREAM_TIMEOUT_S = 60.0
"""A server says something every 15 seconds."""
_TAKE_UP_S = 0.2
"""Before a stream that broke off is taken up again."""


class Verb(Generic[P, T]):
    """Something with one answer: the answer itself, or a promise of it."""

    def __init__(self, make: Callable[P, Any], how: str) -> None:
        self._make = make
        self._how = how
        self.__doc__ = make.__doc__

    @overload
    def __get__(self, client: "Client", owner: type) -> Callable[P, T]: ...

    @overload
    def __get__(self, client: "AsyncClient", owner: type) -> Callable[P, Awaitable[T]]: ...

    @overload
    def __get__(self, client: None, owner: type) -> Self: ...

    def __get__(self, client: Any, owner: type) -> Any:
        if client is None:
            return self
        return lambda *args, **named: getattr(client, self._how)(self._make(*args, **named))


class WalkVerb(Generic[P, T]):
    """Something that finds items one after another."""

    def __init__(self, make: Callable[P, Walk[T]]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    @overload
    def __get__(self, client: "Client", owner: type) -> Callable[P, Iterator[T]]: ...

    @overload
    def __get__(self, client: "AsyncClient", owner: type) -> Callable[P, AsyncIterator[T]]: ...

    @overload
    def __get__(self, client: None, owner: type) -> Self: ...

    def __get__(self, client: Any, owner: type) -> Any:
        if client is None:
            return self
        return lambda *args, **named: client.walk(self._make(*args, **named))


def _ask(make: Callable[P, Ask[T]]) -> Verb[P, T]:
    return Verb(make, "send")


def _sole(make: Callable[P, Walk[T]]) -> Verb[P, T]:
    return Verb(make, "first")


class Verbs:
    """All verbs of the API."""

    list_job_types = _ask(asks.list_job_types)
    get_job_type = _ask(asks.get_job_type)
    create_job_type = _ask(asks.create_job_type)
    change_job_type = _ask(asks.change_job_type)
    delete_job_type = _ask(asks.delete_job_type)

    list_node_types = _ask(asks.list_node_types)
    get_node_type = _ask(asks.get_node_type)
    put_node_type = _ask(asks.put_node_type)
    delete_node_type = _ask(asks.delete_node_type)
    pause_node_type = _ask(asks.pause_node_type)
    resume_node_type = _ask(asks.resume_node_type)
    list_nodes = _ask(asks.list_nodes)
    get_node = _ask(asks.get_node)
    drain_node = _ask(asks.drain_node)

    enqueue = _ask(asks.enqueue)
    enqueue_many = _ask(asks.enqueue_many)
    get_job = _ask(asks.get_job)
    list_jobs = _ask(asks.list_jobs)
    jobs = WalkVerb(walks.jobs)
    wait = _sole(walks.wait)
    cancel_job = _ask(asks.cancel_job)
    retry_job = _ask(asks.retry_job)
    delete_job = _ask(asks.delete_job)
    cancel_jobs = _ask(asks.cancel_jobs)
    retry_jobs = _ask(asks.retry_jobs)
    delete_jobs = _ask(asks.delete_jobs)
    read_logs = _ask(asks.read_logs)

    create_schedule = _ask(asks.create_schedule)
    list_schedules = _ask(asks.list_schedules)
    schedules = WalkVerb(walks.schedules)
    get_schedule = _ask(asks.get_schedule)
    delete_schedule = _ask(asks.delete_schedule)
    pause_schedule = _ask(asks.pause_schedule)
    resume_schedule = _ask(asks.resume_schedule)
    list_ticks = _ask(asks.list_ticks)


class Client(Verbs):
    """Waits for each answer. May be used by several threads."""

    def __init__(self, url: str, *, key: str, timeout_s: float = 30.0) -> None:
        self._url = url
        self._http = httpx2.Client(base_url=url, headers=_headers(key), timeout=timeout_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give up the connections."""
        self._http.close()

    def send(self, ask: Ask[T]) -> T:
        """Send one request."""
        with _reachable(self._url):
            response = self._http.request(ask.method, ask.path, **_parts(ask))
        return _read(ask, response)

    def walk(self, walk: Walk[T]) -> Iterator[T]:
        """Make requests one after another, as far as the caller reads."""
        step = next(walk, None)
        while step is not None:
            if isinstance(step, Found):
                yield step.item
            elif isinstance(step, Pause):
                threading.Event().wait(step.seconds)
            step = _next(walk, self.send(step) if isinstance(step, Ask) else None)

    def first(self, walk: Walk[T]) -> T:
        """The first item of a walk."""
        return next(self.walk(walk))

    def follow_logs(self, uuid: str, *, level: str | None = None, after: int = 0) -> Iterator[LogLine]:
        """Lines of a job's log as they come, until the job has ended. A stream that breaks off is taken up again."""
        events = LogEvents(uuid, level=level, after=after)
        while not events.is_over:
            with _streaming(self._url), self._http.stream("GET", **_stream(events)) as response:
                if response.is_error:
                    raise _failure(response, response.read())
                for line in response.iter_lines():
                    if found := events.read(line):
                        yield found
            if not events.is_over:
                threading.Event().wait(_TAKE_UP_S)


class AsyncClient(Verbs):
    """The same, to be awaited."""

    def __init__(self, url: str, *, key: str, timeout_s: float = 30.0) -> None:
        self._url = url
        self._http = httpx2.AsyncClient(base_url=url, headers=_headers(key), timeout=timeout_s)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Give up the connections."""
        await self._http.aclose()

    async def send(self, ask: Ask[T]) -> T:
        """Send one request."""
        with _reachable(self._url):
            response = await self._http.request(ask.method, ask.path, **_parts(ask))
        return _read(ask, response)

    async def walk(self, walk: Walk[T]) -> AsyncIterator[T]:
        """Make requests one after another, as far as the caller reads."""
        step = next(walk, None)
        while step is not None:
            if isinstance(step, Found):
                yield step.item
            elif isinstance(step, Pause):
                await asyncio.sleep(step.seconds)
            step = _next(walk, await self.send(step) if isinstance(step, Ask) else None)

    async def first(self, walk: Walk[T]) -> T:
        """The first item of a walk."""
        return await anext(self.walk(walk))

    async def follow_logs(self, uuid: str, *, level: str | None = None, after: int = 0) -> AsyncIterator[LogLine]:
        """Lines of a job's log as they come, until the job has ended. A stream that breaks off is taken up again."""
        events = LogEvents(uuid, level=level, after=after)
        while not events.is_over:
            with _streaming(self._url):
                async with self._http.stream("GET", **_stream(events)) as response:
                    if response.is_error:
                        raise _failure(response, await response.aread())
                    async for line in response.aiter_lines():
                        if found := events.read(line):
                            yield found
            if not events.is_over:
                await asyncio.sleep(_TAKE_UP_S)


def _headers(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}", "Accept": "application/json"}


def _parts(ask: Ask[Any]) -> dict[str, Any]:
    """What the driver sends besides method and path."""
    parts: dict[str, Any] = {"params": ask.query}
    return parts if ask.content is None else {**parts, "content": ask.content, "headers": _JSON}


def _stream(events: LogEvents) -> dict[str, Any]:
    ask = events.ask()
    return {"url": ask.path, "params": ask.query, "timeout": _STREAM_TIMEOUT_S, "headers": _EVENT_STREAM}


def _read(ask: Ask[T], response: httpx2.Response) -> T:
    if response.status_code != 200:
        raise _failure(response, response.content)
    return ask.read(response.content)


def _failure(response: httpx2.Response, content: bytes) -> RotaError:
    return failure(response.status_code, content, f"{response.request.method} {response.request.url.path}")


def _next(walk: Walk[T], answer: object) -> Ask[Any] | Found[T] | Pause | None:
    try:
        return walk.send(answer)
    except StopIteration:
        return None


@contextmanager
def _reachable(url: str) -> Iterator[None]:
    """The driver's errors as ours. Whether a request that failed so was carried out is not known."""
    try:
        yield
    except httpx2.TransportError as error:
        raise StoreUnavailable(f"{url}: {error or type(error).__name__}; is a Rota server running there?") from error
    except httpx2.InvalidURL as error:
        raise InvalidInput("url", f"{url!r}: {error}") from error


@contextmanager
def _streaming(url: str) -> Iterator[None]:
    """The same, but a stream that breaks off is no error."""
    with _reachable(url), suppress(httpx2.ReadError, httpx2.RemoteProtocolError, httpx2.ReadTimeout):
        yield
