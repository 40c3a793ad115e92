"""A client of the HTTP API, for programs that are not Rota's own processes. Needs `pip install 'rota[client]'`.

    with Client("http://127.0.0.1:23071", key="...") as rota:
        job = rota.enqueue("report", {"day": "monday"})
        print(rota.wait(job.uuid).results)

    async with AsyncClient("http://127.0.0.1:23071", key="...") as rota:
        job = await rota.enqueue("report", {"day": "monday"})
        async for line in rota.follow_logs(job.uuid):
            print(line.message)

Every verb is written once, in `calls.py`, `event_calls.py` and `paging.py`; here it gets its two colours.
"""

import asyncio
import ssl
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from inspect import Signature, signature
from typing import Any, Generic, ParamSpec, Self, TypeVar, get_args, get_origin, overload

from rota.clock import Clock, SystemClock
from rota.errors import AuthError, InvalidInput, MissingExtra, RotaError, StoreError, StoreUnavailable
from rota.model.access.masking import mask_url
from rota.sdk import calls, event_calls, paging
from rota.sdk.call import Call
from rota.sdk.failures import failure
from rota.sdk.log_events import LogEvents
from rota.sdk.paging import Found, Paging, Pause
from rota.sdk.shapes import LogLine

try:
    import httpx2
except ImportError:
    raise MissingExtra("the client of the HTTP API", "client") from None

P = ParamSpec("P")
T = TypeVar("T")
_JSON = {"Content-Type": "application/json"}
_EVENT_STREAM = {"Accept": "text/event-stream"}
_STREAM_TIMEOUT_S = 60.0
"""A server says something every 15 seconds."""
_TAKE_UP_S = 0.2
"""Before a stream that broke off is taken up again."""
_AWAY_S = 60.0
"""How long a server from which a stream came may be away, as while it is restarted."""


class Verb(Generic[P, T]):
    """Something with one answer: the answer itself, or a promise of it."""

    def __init__(self, make: Callable[P, Any], how: str) -> None:
        self._make = make
        self._how = how
        self._signature = _signature_of(make)
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
        return _bound(self._make, getattr(client, self._how), self._signature)


class PagedVerb(Generic[P, T]):
    """Something that finds items one after another."""

    def __init__(self, make: Callable[P, Paging[T]]) -> None:
        self._make = make
        self._signature = _signature_of(make)
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
        return _bound(self._make, client.each, self._signature)


def _bound(make: Callable[P, Any], carry_out: Callable[[Any], Any], shown: Signature) -> Callable[P, Any]:
    """The verb of one client. `help` and editors show its own name, arguments and words."""

    @wraps(make)
    def verb(*args: P.args, **named: P.kwargs) -> Any:
        return carry_out(make(*args, **named))

    verb.__signature__ = shown  # type: ignore[attr-defined]
    return verb


def _signature_of(make: Callable[..., Any]) -> Signature:
    """Its arguments, and what a caller gets: the answer of a request, not the request."""
    found = signature(make)
    kind = found.return_annotation
    answers = get_args(kind) if get_origin(kind) is Call else ()
    return found.replace(return_annotation=answers[0] if answers else Signature.empty)


def _one(make: Callable[P, Call[T]]) -> Verb[P, T]:
    return Verb(make, "send")


def _sole(make: Callable[P, Paging[T]]) -> Verb[P, T]:
    return Verb(make, "first")


class Verbs:
    """All verbs of the API."""

    list_job_types = _sole(paging.list_job_types)
    get_job_type = _one(calls.get_job_type)
    create_job_type = _one(calls.create_job_type)
    change_job_type = _one(calls.change_job_type)
    delete_job_type = _one(calls.delete_job_type)

    list_node_types = _one(calls.list_node_types)
    get_node_type = _one(calls.get_node_type)
    put_node_type = _one(calls.put_node_type)
    delete_node_type = _one(calls.delete_node_type)
    pause_node_type = _one(calls.pause_node_type)
    resume_node_type = _one(calls.resume_node_type)
    list_nodes = _one(calls.list_nodes)
    get_node = _one(calls.get_node)
    drain_node = _one(calls.drain_node)

    enqueue = _one(calls.enqueue)
    enqueue_many = _one(calls.enqueue_many)
    get_job = _one(calls.get_job)
    why_job = _one(calls.why_job)
    list_jobs = _one(calls.list_jobs)
    jobs = PagedVerb(paging.jobs)
    wait = _sole(paging.wait)
    cancel_job = _one(calls.cancel_job)
    retry_job = _one(calls.retry_job)
    delete_job = _one(calls.delete_job)
    cancel_jobs = _one(calls.cancel_jobs)
    retry_jobs = _one(calls.retry_jobs)
    delete_jobs = _one(calls.delete_jobs)
    read_logs = _one(calls.read_logs)

    create_schedule = _one(calls.create_schedule)
    list_schedules = _one(calls.list_schedules)
    schedules = PagedVerb(paging.schedules)
    get_schedule = _one(calls.get_schedule)
    why_schedule = _one(calls.why_schedule)
    why_queue = _one(calls.why_queue)
    delete_schedule = _one(calls.delete_schedule)
    pause_schedule = _one(calls.pause_schedule)
    resume_schedule = _one(calls.resume_schedule)
    list_ticks = _one(calls.list_ticks)

    create_configuration = _one(event_calls.create_configuration)
    replace_configuration = _one(event_calls.replace_configuration)
    list_configurations = _one(event_calls.list_configurations)
    configurations = PagedVerb(paging.configurations)
    get_configuration = _one(event_calls.get_configuration)
    delete_configuration = _one(event_calls.delete_configuration)
    explain_configuration = _one(event_calls.explain_configuration)
    why_configuration = _one(event_calls.why_configuration)
    post_event = _one(event_calls.post_event)
    post_events = _one(event_calls.post_events)
    preview_event = _one(event_calls.preview_event)


class Client(Verbs):
    """Waits for each answer. May be used by several threads."""

    def __init__(self, url: str, *, key: str, timeout_s: float = 30.0) -> None:
        self._url = url
        with _reachable(url):
            self._http = httpx2.Client(base_url=url, headers=_headers(key), timeout=timeout_s, verify=_trust(url))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give up the connections."""
        self._http.close()

    def send(self, call: Call[T]) -> T:
        """Send one request."""
        with _reachable(self._url):
            response = self._http.request(call.method, call.path, **_parts(call))
        return _read(call, response)

    def each(self, steps: Paging[T]) -> Iterator[T]:
        """Make requests one after another, as far as the caller reads."""
        step = next(steps, None)
        while step is not None:
            if isinstance(step, Found):
                yield step.item
            elif isinstance(step, Pause):
                threading.Event().wait(step.seconds)
            step = _next(steps, self.send(step) if isinstance(step, Call) else None)

    def first(self, steps: Paging[T]) -> T:
        """The first item that is found."""
        return next(self.each(steps))

    def follow_logs(self, uuid: str, *, level: str | None = None, after: int = 0) -> Iterator[LogLine]:
        """Lines of a job's log as they come, until the job has ended. A stream that breaks off is taken up again, also
        from a server that is away for less than a minute meanwhile."""
        events, absence = LogEvents(uuid, level=level, after=after), _Absence(SystemClock())
        while not events.is_over:
            with absence.borne(), _streaming(self._url), self._http.stream("GET", **_stream(events)) as response:
                if not _is_stream(response):
                    raise _no_stream(response, response.read())
                absence.end()
                for piece in response.iter_bytes():
                    yield from events.lines(piece)
            if not events.is_over:
                threading.Event().wait(_TAKE_UP_S)


class AsyncClient(Verbs):
    """The same, to be awaited."""

    def __init__(self, url: str, *, key: str, timeout_s: float = 30.0) -> None:
        self._url = url
        with _reachable(url):
            self._http = httpx2.AsyncClient(base_url=url, headers=_headers(key), timeout=timeout_s, verify=_trust(url))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Give up the connections."""
        await self._http.aclose()

    async def send(self, call: Call[T]) -> T:
        """Send one request."""
        with _reachable(self._url):
            response = await self._http.request(call.method, call.path, **_parts(call))
        return _read(call, response)

    async def each(self, steps: Paging[T]) -> AsyncIterator[T]:
        """Make requests one after another, as far as the caller reads."""
        step = next(steps, None)
        while step is not None:
            if isinstance(step, Found):
                yield step.item
            elif isinstance(step, Pause):
                await asyncio.sleep(step.seconds)
            step = _next(steps, await self.send(step) if isinstance(step, Call) else None)

    async def first(self, steps: Paging[T]) -> T:
        """The first item that is found."""
        return await anext(self.each(steps))

    async def follow_logs(self, uuid: str, *, level: str | None = None, after: int = 0) -> AsyncIterator[LogLine]:
        """Lines of a job's log as they come, until the job has ended. A stream that breaks off is taken up again, also
        from a server that is away for less than a minute meanwhile."""
        events, absence = LogEvents(uuid, level=level, after=after), _Absence(SystemClock())
        while not events.is_over:
            with absence.borne(), _streaming(self._url):
                async with self._http.stream("GET", **_stream(events)) as response:
                    if not _is_stream(response):
                        raise _no_stream(response, await response.aread())
                    absence.end()
                    async for piece in response.aiter_bytes():
                        for found in events.lines(piece):
                            yield found
            if not events.is_over:
                await asyncio.sleep(_TAKE_UP_S)


class _Absence:
    """Of a server that has answered, and is expected to come back. One that never did may not even be there."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._has_answered = False
        self._since: float | None = None

    def end(self) -> None:
        """It answers."""
        self._has_answered, self._since = True, None

    @contextmanager
    def borne(self) -> Iterator[None]:
        """Its absence is no error, until it has been away for too long."""
        try:
            yield
        except StoreUnavailable:
            now = self._clock.monotonic()
            self._since = now if self._since is None else self._since
            if not self._has_answered or now - self._since >= _AWAY_S:
                raise


def _headers(key: str) -> dict[str, str]:
    """Refused here, since the driver would show the key in its error."""
    if not key or not key.isascii() or not key.isprintable() or key != key.strip():
        raise AuthError(
            "the key is empty, or has a character that no key has, such as a line end; see where it is from"
        )
    return {"Authorization": f"Bearer {key}", "Accept": "application/json"}


def _trust(url: str) -> ssl.SSLContext | bool:
    """Whose certificates are good: those that this machine trusts. To read them all may take longer than a request, so
    who speaks no TLS reads none, and trusts nobody."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if url.lower().startswith("http:") else True


def _parts(call: Call[Any]) -> dict[str, Any]:
    """What the driver sends besides method and path."""
    parts: dict[str, Any] = {"params": call.query}
    return parts if call.content is None else {**parts, "content": call.content, "headers": _JSON}


def _stream(events: LogEvents) -> dict[str, Any]:
    call = events.call()
    return {"url": call.path, "params": call.query, "timeout": _STREAM_TIMEOUT_S, "headers": _EVENT_STREAM}


def _read(call: Call[T], response: httpx2.Response) -> T:
    if response.status_code != 200:
        raise _failure(response, response.content)
    return call.read(response.content)


def _failure(response: httpx2.Response, content: bytes) -> RotaError:
    return failure(response.status_code, content, _where(response))


def _where(response: httpx2.Response) -> str:
    return f"{response.request.method} {response.request.url.path}"


def _is_stream(response: httpx2.Response) -> bool:
    """A page to log in, or a way to elsewhere, would end without an end, and be asked for again and again."""
    return response.status_code == 200 and response.headers.get("Content-Type", "").startswith("text/event-stream")


def _no_stream(response: httpx2.Response, content: bytes) -> RotaError:
    if response.status_code != 200:
        return _failure(response, content)
    return StoreError(f"{_where(response)}: this is not the answer of a Rota server: it is no stream of events")


def _next(steps: Paging[T], answer: object) -> Call[Any] | Found[T] | Pause | None:
    try:
        return steps.send(answer)
    except StopIteration:
        return None


@contextmanager
def _reachable(url: str) -> Iterator[None]:
    """The driver's errors as ours. Whether a request that failed so was carried out is not known."""
    try:
        yield
    except (httpx2.InvalidURL, httpx2.UnsupportedProtocol, UnicodeError):  # the last of a host that cannot be a name
        raise InvalidInput("url", f"{mask_url(url)!r} is no address of a server, such as http://host:23071") from None
    except httpx2.TransportError as error:
        told = f"{mask_url(url)}: {error or type(error).__name__}; is a Rota server running there?"
        raise StoreUnavailable(told) from error


@contextmanager
def _streaming(url: str) -> Iterator[None]:
    """The same, but a stream that breaks off is no error."""
    with _reachable(url), suppress(httpx2.ReadError, httpx2.RemoteProtocolError, httpx2.ReadTimeout):
        yield
