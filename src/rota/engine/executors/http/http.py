"""Executor `http`: sends one request and judges the answer by its status.

Metadata: `url`, `method`, `headers`, `body`, `expected_status`, `timeout_ms`, `max_response_bytes`,
`follow_redirects`, `verify_tls`, `allow_private`. The URL, the header values and the body may hold placeholders such
as `{{ arguments.name }}`. The result is `{status, headers, body, elapsed_ms}`, also when the status is unexpected.
"""

import asyncio
import ssl
from collections.abc import Sequence
from functools import lru_cache

from rota.engine.executors.executor import Run
from rota.engine.executors.http.answer import results_of
from rota.engine.executors.http.client import Answer, HttpFailure, Request, connect
from rota.engine.executors.http.plan import Plan, check_url, fill_request, read_plan
from rota.engine.executors.http.target import AllowList, Resolve, Resolver, check_addresses, resolve, to_try
from rota.engine.executors.http.template import refuse_unused
from rota.engine.executors.http.url import TargetRefused, Url, join_url
from rota.engine.executors.output import capped_log
from rota.engine.executors.shortage import raise_if_no_descriptor
from rota.errors import InvalidInput
from rota.model.job_type import JobType
from rota.model.runs.outcome import Outcome, failed, refused, succeeded
from rota.model.triggers.durations import duration_words

_REDIRECTS = (301, 302, 303, 307, 308)
_GOES_ANYWHERE = ("accept", "accept-language", "accept-encoding", "content-type", "content-language", "user-agent")
"""Headers that follow a redirect to another host. Any other may hold credentials."""


class HttpExecutor:
    """Sends requests. `allow` lists hosts and networks that every job type of the installation may reach although they
    are not public, as `metadata.allow_private` does for one."""

    def __init__(self, allow: Sequence[str] = (), *, resolve: Resolve = resolve) -> None:
        self._allowed = AllowList("http_allow", tuple(allow))
        self._resolver = Resolver(resolve)

    def check(self, job_type: JobType) -> None:
        check_url(read_plan(job_type.metadata))

    async def run(self, run: Run) -> Outcome:
        try:
            plan = read_plan(run.job_type.metadata)
        except InvalidInput as error:
            return refused("job_type", str(error))
        try:
            refuse_unused(run.job_type.metadata, run.spec.arguments, run.job_type.labels)
            url, request = fill_request(plan, run)
        except InvalidInput as error:
            return refused("arguments", str(error))
        except TargetRefused as error:
            return refused("target", str(error))
        return await _Visit(run, plan, self._resolver, self._allowed).outcome(url, request)

    async def close(self) -> None:
        self._resolver.close()


class _Visit:
    """One request with its redirects."""

    def __init__(self, run: Run, plan: Plan, resolver: Resolver, allowed: AllowList) -> None:
        self._run = run
        self._log = capped_log(run)
        self._plan = plan
        self._resolver = resolver
        self._allow_lists = allowed, plan.allowed
        self._loop = asyncio.get_running_loop()
        self._started = self._loop.time()
        self._deadline = self._started + plan.timeout_ms / 1000
        self._answer: Answer | None = None

    async def outcome(self, url: Url, request: Request) -> Outcome:
        try:
            async with asyncio.timeout_at(self._deadline):
                answer = await self._follow(url, request)
        except asyncio.CancelledError:
            self._run.partial_results = self._results()
            raise
        except TargetRefused as error:
            return refused("target", str(error))
        except HttpFailure as error:
            return self._failed(error.kind, str(error))
        except TimeoutError:
            message = f"there was no whole answer after {duration_words(self._plan.timeout_ms)}"
            return self._failed("timeout", message, timeout_ms=self._plan.timeout_ms)
        return self._judge(answer)

    async def _follow(self, url: Url, request: Request) -> Answer:
        for redirects_left in range(self._plan.follow_redirects, -1, -1):
            answer, location = await self._visit(url, request)
            if location is None:
                return answer
            if not redirects_left:
                raise HttpFailure("redirect", f"there were more than {self._plan.follow_redirects} redirects")
            following = join_url(url, location)
            request = _redirected(request, answer.status, is_same_origin=url.shares_origin_with(following))
            url = following
        raise AssertionError("the last round returns or raises")

    async def _visit(self, url: Url, request: Request) -> tuple[Answer, str | None]:
        """Send one request; the answer, and where it redirects to if it is to be followed."""
        addresses = await self._find_addresses(url)
        self._log(_described(url, request))
        tls = tls_context(self._plan.verify_tls) if url.scheme == "https" else None
        async with await connect(url, addresses, tls, self._deadline) as connection:
            connection.send(request)
            answer = await connection.read_head()
            if (location := self._location_of(answer)) is not None:
                self._log(f"{answer.status}: redirected")
                return answer, location
            self._answer = answer
            self._run.partial_results = self._results()
            await connection.read_body(answer, self._plan.max_response_bytes)
            return answer, None

    async def _find_addresses(self, url: Url) -> list[str]:
        try:
            addresses = await self._resolver.addresses_of(url.host)
        except OSError as error:
            raise_if_no_descriptor()
            raise HttpFailure("connect", f"cannot find the host {url.host!r}: {error.strerror or error}") from None
        check_addresses(url.host, addresses, self._allow_lists, port=url.port)
        return to_try(addresses)

    def _location_of(self, answer: Answer) -> str | None:
        """A redirect that the job type expects is an answer like any other."""
        if answer.status not in _REDIRECTS or not self._plan.follow_redirects or answer.status in self._plan.expected:
            return None
        return next(iter(answer.values_of("location")), None)

    def _judge(self, answer: Answer) -> Outcome:
        results = self._results()
        cut = ", cut" if answer.is_cut else ""
        said = f"{answer.status}, {len(answer.body)} bytes{cut}, in {self._elapsed_ms()} ms"
        if answer.status in self._plan.expected:
            self._log(said)
            return succeeded(results)
        self._log(f"{said}: not an expected status", "error")
        message = f"the answer has the status {answer.status}, which is not an expected one"
        return failed({"type": "status", "status": answer.status, "message": message}, results)

    def _failed(self, kind: str, message: str, **more: int) -> Outcome:
        self._log(message, "error")
        return failed({"type": kind, "message": message, **more}, self._results())

    def _results(self) -> dict[str, object] | None:
        return results_of(self._answer, self._elapsed_ms()) if self._answer else None

    def _elapsed_ms(self) -> int:
        return int((self._loop.time() - self._started) * 1000)


@lru_cache(maxsize=2)
def tls_context(verify: bool) -> ssl.SSLContext:
    """Made once, because reading the system's certificates takes a while."""
    context = ssl.create_default_context()
    raise_if_no_descriptor()  # or it may have found no certificates, and would be kept so
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["http/1.1"])
    return context


def _redirected(request: Request, status: int, *, is_same_origin: bool) -> Request:
    """As browsers do it: 303 asks with GET, and so do 301 and 302 after a POST. To another origin no body goes: it was
    meant for the first one alone, and may hold secrets."""
    method, headers, body = request.method, request.headers, request.body
    asks_anew = (status == 303 and method != "HEAD") or (status in (301, 302) and method == "POST")
    if not is_same_origin:
        headers = {name: value for name, value in headers.items() if name.lower() in _GOES_ANYWHERE}
    if asks_anew or not is_same_origin:
        headers = {name: value for name, value in headers.items() if not name.lower().startswith("content-")}
        body = None
    return Request("GET" if asks_anew else method, headers, body)


def _described(url: Url, request: Request) -> str:
    """Headers by name only: their values may be secrets."""
    body = "" if request.body is None else f", body of {len(request.body)} bytes"
    return f"{request.method} {url.shown} (headers {', '.join(request.headers)}{body})"
