"""Executor `http`: what is sent, how answers are judged, and what becomes of redirects."""

import asyncio
import base64
import json
from typing import Any

import pytest
from msgspec import structs

from rota.engine.executors.http.http import HttpExecutor
from rota.errors import InvalidInput
from rota.model.limits import MAX_RESULT_BYTES, encode_json
from rota.model.runs.outcome import Outcome, OutcomeKind
from tests.engine.executors.http.web import Answer, Seen, WebServer, answer, fetch, http_run
from tests.engine.executors.runs import JOB_ID, errors_of, job_type, make_run, results_of

PLAIN_TEXT = {"Content-Type": "text/plain"}
SOON_MS = 10_000
"""After so long a request that waits for what does not come fails; no other one comes near it."""


def ask(
    runner: asyncio.Runner,
    say: Answer = lambda seen: answer(),
    path: str = "/",
    arguments: dict[str, object] | None = None,
    **metadata: object,
) -> tuple[Outcome, list[Seen]]:
    """Run one job against a server; its outcome, and what the server saw."""

    async def visit() -> tuple[Outcome, list[Seen]]:
        async with WebServer(say) as server:
            return await fetch(server.url + path, arguments, **metadata), server.seen

    return runner.run(visit())


# -- requests --------------------------------------------------------------------------------------------------------


def test_a_request_is_a_post_without_body_unless_the_job_type_says_otherwise(runner: asyncio.Runner) -> None:
    outcome, [seen] = ask(runner, lambda seen: answer(body=b"fine", X_Kind="a"), "/hook?a=1#part")

    assert outcome.kind is OutcomeKind.SUCCEEDED
    results = results_of(outcome)
    assert isinstance(results.pop("elapsed_ms"), int)
    assert results == {"status": 200, "headers": {"content-length": "4", "x-kind": "a"}, "body": "fine"}
    assert seen.line == "POST /hook?a=1 HTTP/1.1"
    assert seen.headers.pop("host").startswith("127.0.0.1:")
    assert seen.headers == {
        "connection": "close",
        "user-agent": "rota",
        "accept": "*/*",
        "accept-encoding": "identity",
        "content-length": "0",
    }


@pytest.mark.parametrize("method", ["GET", "head", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_every_method_can_be_sent(runner: asyncio.Runner, method: str) -> None:
    outcome, [seen] = ask(runner, method=method)

    assert outcome.kind is OutcomeKind.SUCCEEDED
    assert seen.line == f"{method.upper()} / HTTP/1.1"


@pytest.mark.parametrize(("method", "status"), [("HEAD", 200), ("GET", 204), ("GET", 304)])
def test_where_there_is_no_body_none_is_waited_for(runner: asyncio.Runner, method: str, status: int) -> None:
    """The length is that of the body that a GET would get, or would have got the first time."""
    reply = f"HTTP/1.1 {status} Whatever\r\nContent-Length: 999\r\n\r\n".encode()

    outcome, _ = ask(runner, lambda seen: reply, method=method, expected_status=[status], timeout_ms=SOON_MS)

    assert outcome.kind is OutcomeKind.SUCCEEDED
    assert results_of(outcome)["body"] == ""


def test_headers_of_the_job_type_are_sent_and_replace_the_defaults(runner: asyncio.Runner) -> None:
    headers = {"user-agent": "mine", "Authorization": "Bearer {{ arguments.key }}", "Idempotency-Key": "{{ job.id }}"}

    _, [seen] = ask(runner, arguments={"key": "k1"}, headers=headers)

    assert seen.headers["user-agent"] == "mine"
    assert seen.headers["authorization"] == "Bearer k1"
    assert seen.headers["idempotency-key"] == JOB_ID


@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "a\nb", "a\rb", "a\0b", "\x1b"])
def test_a_value_cannot_add_a_header(runner: asyncio.Runner, value: str) -> None:
    outcome, seen = ask(runner, arguments={"key": value}, headers={"X-Key": "{{ arguments.key }}"})

    assert outcome.kind is OutcomeKind.REFUSED
    assert errors_of(outcome)["type"] == "arguments"
    assert seen == []


def test_an_object_as_body_is_sent_as_json_with_the_values_in_their_types(runner: asyncio.Runner) -> None:
    body = {
        "n": "{{ arguments.n }}",
        "all": ["{{arguments.list}}", "{{ arguments.list.1.deep }}", None, 1.5],
        "text": "{{ arguments.name }} has {{ arguments.n }} of {{ job.type }}",
    }
    arguments: dict[str, object] = {"n": 3, "list": [1, {"deep": True}], "name": 'A "quoted", {{ arguments.n }}\n'}

    _, [seen] = ask(runner, arguments=arguments, body=body)

    assert seen.headers["content-type"] == "application/json"
    assert json.loads(seen.body) == {
        "n": 3,
        "all": [[1, {"deep": True}], True, None, 1.5],
        "text": 'A "quoted", {{ arguments.n }}\n has 3 of report',
    }


def test_a_body_that_is_one_placeholder_is_the_value_as_json(runner: asyncio.Runner) -> None:
    arguments: dict[str, object] = {"a": [1, "x"], "text": "plain"}

    _, [whole] = ask(runner, arguments=arguments, body="{{ arguments }}")
    _, [text] = ask(
        runner,
        arguments={"text": "plain"},
        body="{{ arguments.text }}",
        headers={"Content-Type": "text/csv; charset=utf-8"},
    )

    assert (json.loads(whole.body), whole.headers["content-type"]) == (arguments, "application/json")
    assert (text.body, text.headers["content-type"]) == (b"plain", "text/csv; charset=utf-8")


def test_an_argument_that_no_placeholder_names_is_refused(runner: asyncio.Runner) -> None:
    outcome, requests = ask(runner, arguments={"a": 1, "b": 2}, body={"x": "{{ arguments.a }}"})

    assert (outcome.kind, requests) == (OutcomeKind.REFUSED, [])
    assert "arguments.b: reaches nothing" in str(outcome.errors)


def test_an_argument_that_a_label_says_already_may_reach_nothing(runner: asyncio.Runner) -> None:
    async def visit() -> Outcome:
        async with WebServer() as server:
            run = http_run(server.url, {"a": 1, "shop": "x"}, body={"x": "{{ arguments.a }}"})
            run.job_type = structs.replace(run.job_type, labels={"shop": "x"})
            return await HttpExecutor().run(run)

    assert runner.run(visit()).kind is OutcomeKind.SUCCEEDED


def test_a_string_as_body_is_text_and_a_form_escapes_its_values(runner: asyncio.Runner) -> None:
    arguments: dict[str, object] = {"name": "a&b=ü"}

    _, [text] = ask(runner, arguments=arguments, body="Hello {{ arguments.name }}")
    _, [form] = ask(
        runner,
        arguments=arguments,
        body="name={{ arguments.name }}&x=1",
        headers={"content-type": "application/x-www-form-urlencoded"},
    )

    assert text.body.decode() == "Hello a&b=ü"
    assert text.headers["content-type"] == "text/plain; charset=utf-8"
    assert form.body == b"name=a%26b%3D%C3%BC&x=1"


def test_a_value_in_the_url_stays_one_component(runner: asyncio.Runner) -> None:
    arguments: dict[str, object] = {"id": "a/b?c#d@e:f%2e ü", "n": 7}

    _, [seen] = ask(
        runner, path="/users/{{ arguments.id }}/x?q={{arguments.id}}&n={{arguments.n}}", arguments=arguments
    )

    escaped = "a%2Fb%3Fc%23d%40e%3Af%252e%20%C3%BC"
    assert seen.line == f"POST /users/{escaped}/x?q={escaped}&n=7 HTTP/1.1"


def test_a_value_in_the_query_may_be_empty(runner: asyncio.Runner) -> None:
    """In the path it would ask for something else."""
    _, [seen] = ask(runner, path="/x?q={{ arguments.q }}&n=1", arguments={"q": ""})

    assert seen.line == "POST /x?q=&n=1 HTTP/1.1"


@pytest.mark.parametrize("value", ["..", ".", "../admin", "..\\admin", "a/../../b", ""])
def test_a_value_cannot_climb_out_of_its_place_in_the_path(runner: asyncio.Runner, value: str) -> None:
    outcome, seen = ask(runner, path="/users/{{ arguments.id }}", arguments={"id": value})

    assert outcome.kind is OutcomeKind.REFUSED
    assert seen == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "arguments.id: is missing"),
        ({"id": None}, "arguments.id: must be a string"),
        ({"id": {"a": 1}}, "arguments.id: must be a string"),
        ({"id": "x" * 9000}, "metadata.url: is more than 8192 bytes"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_by_name(
    runner: asyncio.Runner, arguments: dict[str, object], said: str
) -> None:
    outcome, seen = ask(runner, path="/{{ arguments.id }}", arguments=arguments)

    assert outcome.kind is OutcomeKind.REFUSED
    assert said in errors_of(outcome)["message"]
    assert seen == []


def test_a_short_template_cannot_make_an_endless_header(runner: asyncio.Runner) -> None:
    arguments: dict[str, object] = {"x": "x" * 4_096}

    outcome, seen = ask(runner, arguments=arguments, headers={"X-Key": "{{ arguments.x }}{{ arguments.x }}a"})

    assert "metadata.headers.X-Key: is more than 8192 bytes" in errors_of(outcome)["message"]
    assert seen == []


def test_a_short_template_cannot_make_an_endless_body(runner: asyncio.Runner) -> None:
    arguments: dict[str, object] = {"x": "x" * 100_000}

    for body in ("a{{ arguments.x }}" * 5000, ["{{ arguments.x }}"] * 5000, ["a{{ arguments.x }}"] * 5000):
        outcome, seen = ask(runner, arguments=arguments, body=body)

        assert "metadata.body: is more than 1048576 bytes" in errors_of(outcome)["message"]
        assert seen == []


def test_what_a_body_has_beside_its_placeholders_counts_too(runner: asyncio.Runner) -> None:
    outcome, seen = ask(runner, arguments={"x": "x" * 500_000}, body=["y" * 600_000, "{{ arguments.x }}"])

    assert "metadata.body: is more than 1048576 bytes" in errors_of(outcome)["message"]
    assert seen == []


def test_a_filled_template_is_measured_in_bytes(runner: asyncio.Runner) -> None:
    fits, seen = ask(runner, arguments={"x": "é" * 524_288}, body="{{ arguments.x }}", headers=PLAIN_TEXT)
    assert (fits.kind, len(seen[0].body)) == (OutcomeKind.SUCCEEDED, 1_048_576)

    outcome, seen = ask(runner, arguments={"x": "é" * 524_289}, body="{{ arguments.x }}", headers=PLAIN_TEXT)

    assert "metadata.body: is more than 1048576 bytes" in errors_of(outcome)["message"]
    assert seen == []


# -- answers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expected", "status", "is_good"),
    [
        (["2xx"], 204, True),
        (["2xx"], 404, False),
        ([404, "5xx"], 404, True),
        ([404, "5xx"], 503, True),
        ([404, "5xx"], 200, False),
        (["3xx"], 302, True),
    ],
)
def test_the_status_decides(runner: asyncio.Runner, expected: list[object], status: int, is_good: bool) -> None:
    reply = answer(status, Location="/elsewhere") if status != 204 else b"HTTP/1.1 204 No Content\r\n\r\n"

    outcome, _ = ask(runner, lambda seen: reply, expected_status=expected)

    assert (outcome.kind is OutcomeKind.SUCCEEDED) == is_good
    assert results_of(outcome)["status"] == status


def test_an_unexpected_status_fails_and_keeps_the_answer(runner: asyncio.Runner) -> None:
    outcome, _ = ask(runner, lambda seen: answer(500, b"no such table"))

    assert outcome.kind is OutcomeKind.FAILED
    assert results_of(outcome)["body"] == "no such table"
    assert outcome.errors == {
        "type": "status",
        "status": 500,
        "message": "the answer has the status 500, which is not an expected one",
    }


@pytest.mark.parametrize(
    "raw",
    [
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nTrailer: x\r\n\r\n",
        b"HTTP/1.1 200\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nabcde",
        b"HTTP/1.1 200 OK\nContent-Length:5\n\nabcde",
        b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcdeXXX",
    ],
)
def test_a_body_is_read_however_it_is_framed(runner: asyncio.Runner, raw: bytes) -> None:
    outcome, _ = ask(runner, lambda seen: raw)

    assert results_of(outcome)["body"] == "abcde"


def test_a_body_without_a_length_ends_with_the_connection(runner: asyncio.Runner) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.0 200 OK\r\n\r\nabcde")
        writer.write_eof()

    async def visit() -> Outcome:
        async with WebServer(serve=serve) as server:
            return await fetch(server.url)

    assert results_of(runner.run(visit()))["body"] == "abcde"


@pytest.mark.parametrize(
    "binary", [b"\x89PNG\r\n\x1a\n\0\xff", b"a" * 100 + b"\0", b"abc\xc3"], ids=["image", "nul", "half a character"]
)
def test_a_body_that_is_not_text_is_kept_as_base64(runner: asyncio.Runner, binary: bytes) -> None:
    outcome, _ = ask(runner, lambda seen: answer(body=binary))

    results = results_of(outcome)
    assert base64.b64decode(str(results["body"])) == binary
    assert results["body_encoding"] == "base64"


def test_a_body_in_latin_1_is_text(runner: asyncio.Runner) -> None:
    outcome, _ = ask(runner, lambda seen: answer(body=b"gr\xfc\xdfe", Content_Type="text/plain; charset=ISO-8859-1"))

    assert results_of(outcome)["body"] == "grüße"


def test_a_long_body_is_cut_with_a_mark_and_never_within_a_character(runner: asyncio.Runner) -> None:
    outcome, _ = ask(runner, lambda seen: answer(body="ü".encode() * 100), max_response_bytes=11)

    results = results_of(outcome)
    assert results["body"] == "üüüüü\n[... cut after 11 bytes ...]"
    assert results["body_cut"] is True
    assert outcome.kind is OutcomeKind.SUCCEEDED


def test_a_long_body_in_chunks_is_cut_within_one_of_them(runner: asyncio.Runner) -> None:
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n5\r\ncdefg\r\n0\r\n\r\n"

    outcome, _ = ask(runner, lambda seen: chunked, max_response_bytes=4)

    assert outcome.kind is OutcomeKind.SUCCEEDED
    assert results_of(outcome)["body"] == "abcd\n[... cut after 4 bytes ...]"


def test_a_body_of_exactly_the_limit_is_whole(runner: asyncio.Runner) -> None:
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n"

    for reply in (answer(body=b"abcde"), chunked):
        outcome, _ = ask(runner, lambda seen, reply=reply: reply, max_response_bytes=5)  # type: ignore[misc]

        assert results_of(outcome)["body"] == "abcde"
        assert "body_cut" not in results_of(outcome)


@pytest.mark.parametrize("fill", [b'"', b"\x01", b"\x1b", b"\xff", b"\0", "ü".encode(), b"a"])
@pytest.mark.parametrize("content_type", ["text/plain", "text/plain; charset=latin-1"])
def test_the_longest_answer_of_any_bytes_fits_into_a_result(
    runner: asyncio.Runner, fill: bytes, content_type: str
) -> None:
    quotes = '"' * 300
    many = "".join(f"X-{number}: {quotes}\r\n" for number in range(90))
    reply = f"HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\n{many}\r\n".encode() + fill * 460_000

    outcome, _ = ask(runner, lambda seen: reply, max_response_bytes=448 * 1024)

    encode_json("results", outcome.results, MAX_RESULT_BYTES)


@pytest.mark.parametrize("name", ["Set-Cookie", "set-cookie2"])
def test_cookies_do_not_reach_the_result(runner: asyncio.Runner, name: str) -> None:
    reply = f"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n{name}: session=canary\r\n\r\n".encode()

    outcome, _ = ask(runner, lambda seen: reply)

    assert "canary" not in repr(outcome)


# -- redirects -------------------------------------------------------------------------------------------------------


def hops(count: int, status: int = 302) -> Answer:
    """Redirects so many times, then answers."""

    def say(seen: Seen) -> bytes:
        number = int(seen.line.split()[1].strip("/") or 0)
        return answer(status, Location=f"/{number + 1}") if number < count else answer(body=b"there")

    return say


@pytest.mark.parametrize(("count", "follow", "is_good"), [(3, 3, True), (4, 3, False), (1, 1, True), (2, 1, False)])
def test_redirects_are_followed_as_far_as_allowed(
    runner: asyncio.Runner, count: int, follow: int, is_good: bool
) -> None:
    outcome, seen = ask(runner, hops(count), follow_redirects=follow)

    assert len(seen) == follow + 1
    if is_good:
        assert results_of(outcome)["body"] == "there"
    else:
        assert errors_of(outcome)["type"] == "redirect"


def test_a_redirect_that_is_not_to_be_followed_is_the_answer(runner: asyncio.Runner) -> None:
    outcome, seen = ask(runner, hops(1), follow_redirects=0)

    assert errors_of(outcome)["type"] == "status"
    assert results_of(outcome)["status"] == 302
    assert len(seen) == 1


@pytest.mark.parametrize(
    ("status", "method", "second"),
    [
        (301, "POST", "GET"),
        (302, "POST", "GET"),
        (303, "PUT", "GET"),
        (303, "HEAD", "HEAD"),
        (302, "PUT", "PUT"),
        (307, "POST", "POST"),
    ],
)
def test_a_redirect_changes_the_method_as_browsers_do(
    runner: asyncio.Runner, status: int, method: str, second: str
) -> None:
    _, [first, last] = ask(runner, hops(1, status), method=method, body={"a": 1})

    assert last.line.startswith(f"{second} /1 ")
    assert last.body == (first.body if second == method else b"")
    assert ("content-type" in last.headers) == (second == method)


def test_only_harmless_headers_follow_to_another_host(runner: asyncio.Runner) -> None:
    headers = {"Authorization": "canary", "X-Api-Key": "canary", "Cookie": "canary", "Accept": "text/html"}

    async def visit() -> list[dict[str, str]]:
        async with (
            WebServer() as other,
            WebServer(hops(1)) as same,
            WebServer(lambda seen: answer(307, Location=f"{other.url}/x")) as first,
        ):
            await fetch(first.url, headers=headers)
            await fetch(same.url, headers=headers)
            return [other.seen[0].headers, same.seen[1].headers]

    elsewhere, here = runner.run(visit())

    assert "canary" not in repr(elsewhere)
    assert elsewhere["accept"] == "text/html"
    assert repr(here).count("canary") == 3


@pytest.mark.parametrize("status", [307, 308, 302])
def test_no_body_follows_to_another_origin(runner: asyncio.Runner, status: int) -> None:
    async def visit() -> Any:
        async with (
            WebServer() as other,
            WebServer(lambda seen: answer(status, Location=f"{other.url}/x")) as first,
        ):
            await fetch(first.url, method="PUT", body={"password": "canary"})
            return first.seen[0], other.seen[0]

    first, other = runner.run(visit())

    assert b"canary" in first.body
    assert (other.line.split()[0], other.body) == ("PUT", b"")
    assert "content-type" not in other.headers


# -- job types and logs ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metadata", "field"),
    [
        ({}, "metadata.url"),
        ({"url": 7}, "metadata.url"),
        ({"url": "ftp://example.com"}, "metadata.url"),
        ({"url": "http://user:secret@example.com"}, "metadata.url"),
        ({"url": "http://example.com:0/"}, "metadata.url"),
        ({"url": "http://example.com:65536/"}, "metadata.url"),
        ({"url": "{{ arguments.url }}"}, "metadata.url"),
        ({"url": "{{ arguments.scheme }}://example.com/"}, "metadata.url"),
        ({"url": "http://{{ arguments.host }}/"}, "metadata.url"),
        ({"url": "http://example.com{{ arguments.path }}"}, "metadata.url"),
        ({"url": "http://example.com:{{ arguments.port }}/"}, "metadata.url"),
        ({"url": "http://{{ arguments.user }}@example.com/"}, "metadata.url"),
        ({"url": "http://h/{{ arguments.a|upper }}"}, "metadata.url"),
        ({"url": "http://h/{{ env.HOME }}"}, "metadata.url"),
        ({"url": "http://h/{{ arguments.__class__() }}"}, "metadata.url"),
        ({"url": "http://h/", "method": "TRACE"}, "metadata.method"),
        ({"url": "http://h/", "method": "GET /\r\n"}, "metadata.method"),
        ({"url": "http://h/", "headers": {"Host": "x"}}, "metadata.headers.Host"),
        ({"url": "http://h/", "headers": {"transfer-encoding": "x"}}, "metadata.headers.transfer-encoding"),
        ({"url": "http://h/", "headers": {"Proxy-Authorization": "x"}}, "metadata.headers.Proxy-Authorization"),
        ({"url": "http://h/", "headers": {"a": "1", "A": "2"}}, "metadata.headers.A"),
        ({"url": "http://h/", "headers": {"a b": "1"}}, "metadata.headers"),
        ({"url": "http://h/", "headers": {"a": 1}}, "metadata.headers.a"),
        ({"url": "http://h/", "headers": {"Content-Type": "{{ job.type }}"}}, "metadata.headers.Content-Type"),
        ({"url": "http://h/", "headers": ["a"]}, "metadata.headers"),
        ({"url": "http://h/", "headers": {f"x-{number}": "" for number in range(65)}}, "metadata.headers"),
        (
            {"url": "http://h/", "headers": {"content-type": "application/json"}, "body": '{"a": "{{ job.id }}"}'},
            "metadata.body",
        ),
        ({"url": "http://h/", "body": {"{{ job.id }}": 1}}, "metadata.body"),
        ({"url": "http://h/", "expected_status": "2xx"}, "metadata.expected_status"),
        ({"url": "http://h/", "expected_status": []}, "metadata.expected_status"),
        ({"url": "http://h/", "expected_status": [99]}, "metadata.expected_status"),
        ({"url": "http://h/", "expected_status": ["xx"]}, "metadata.expected_status"),
        ({"url": "http://h/", "timeout_ms": 0}, "metadata.timeout_ms"),
        ({"url": "http://h/", "max_response_bytes": 10**9}, "metadata.max_response_bytes"),
        ({"url": "http://h/", "follow_redirects": 4}, "metadata.follow_redirects"),
        ({"url": "http://h/", "verify_tls": "no"}, "metadata.verify_tls"),
        ({"url": "http://h/", "allow_private": "10.0.0.1"}, "metadata.allow_private"),
        ({"url": "http://h/", "allow_private": ["10.0.0.1/8"]}, "metadata.allow_private"),
        ({"url": "http://h/", "allow_private": [7]}, "metadata.allow_private"),
        ({"url": "http://h/", "allow_privat": []}, "metadata.allow_privat"),
    ],
)
def test_a_job_type_that_cannot_be_meant_is_refused_by_field(metadata: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        HttpExecutor().check(job_type("http", metadata))

    assert caught.value.field == field
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["http://h/{{ arguments.a }}", "https://H.example./x?{{ arguments.b }}", "http://[::1]"]
)
def test_a_good_job_type_is_accepted(url: str) -> None:
    HttpExecutor().check(job_type("http", {"url": url, "method": "get", "expected_status": [200, "3xx"]}))


def test_a_broken_job_type_is_refused_when_it_runs(runner: asyncio.Runner) -> None:
    outcome = runner.run(HttpExecutor().run(make_run({"url": 7})))

    assert outcome.kind is OutcomeKind.REFUSED
    assert errors_of(outcome)["type"] == "job_type"


def test_the_log_has_a_line_for_the_request_and_one_for_the_answer_but_no_secret(runner: asyncio.Runner) -> None:
    async def visit() -> tuple[Outcome, list[str], int]:
        async with WebServer(lambda seen: answer(body=b"fine", Set_Cookie="canary")) as server:
            run = http_run(
                f"{server.url}/hook?token=canary&t={{{{ arguments.t }}}}",
                {"t": "canary"},
                headers={"Authorization": "Bearer canary", "X-Key": "canary"},
                body="canary",
            )
            return await HttpExecutor().run(run), run.messages(), server.port

    outcome, [sent, answered], port = runner.run(visit())

    assert "canary" not in repr([sent, answered, outcome])
    assert sent == (
        f"POST http://127.0.0.1:{port}/hook?... "
        "(headers Authorization, X-Key, User-Agent, Accept, Accept-Encoding, Content-Type, body of 6 bytes)"
    )
    assert answered.startswith("200, 4 bytes, in ")
