"""What an http job type says, checked; and the request that one of its jobs makes of it.

A job fills in placeholders and changes nothing else. In the URL a value is escaped so that it stays one component, and
no placeholder can be where it could choose another host.
"""

import re
from urllib.parse import quote, unquote

from msgspec import Struct

from rota.engine.executors.executor import Run
from rota.engine.executors.http.client import Request
from rota.engine.executors.http.target import AllowList
from rota.engine.executors.http.template import Budget, JsonTemplate, Template, Values, as_text, template_values
from rota.engine.executors.http.url import TargetRefused, Url, parse_url
from rota.engine.executors.metadata import check_keys
from rota.engine.executors.references import resolved
from rota.errors import InvalidInput
from rota.model.limits import check_range

DEFAULT_TIMEOUT_MS = 30_000
DEFAULT_RESPONSE_BYTES = 256 * 1024
MAX_RESPONSE_BYTES = 448 * 1024
"""A body is shown with at most two bytes of JSON for each of its own, so it stays under the limit of a result."""
MAX_REDIRECTS = 3
_MAX_TIMEOUT_MS = 24 * 3600 * 1000
_MAX_BODY_BYTES = 1024 * 1024
_MAX_URL_BYTES = 8 * 1024
_MAX_HEADER_BYTES = 8 * 1024
_MAX_HEADERS = 64
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
_KEYS = (
    "allow_private",
    "body",
    "expected_status",
    "follow_redirects",
    "headers",
    "max_response_bytes",
    "method",
    "timeout_ms",
    "url",
    "verify_tls",
)
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_OUR_HEADERS = re.compile(
    r"(host|connection|content-length|transfer-encoding|te|trailer|upgrade|expect|keep-alive|proxy-.*|http2-settings)"
)
"""Those which say how the message is sent; a wrong one could make a server see two requests in one."""
_BEFORE_PATH = re.compile(r"[A-Za-z]+://[^/?#]*[/?#]")
_JSON_TYPE = re.compile(r"[^;]*[/+]json\b", re.IGNORECASE)
_FORM_TYPE = "application/x-www-form-urlencoded"


class Plan(Struct, frozen=True):
    """A job type's request, with its placeholders still open."""

    method: str
    path: Template
    """The URL as far as its query."""
    query: Template | None
    headers: dict[str, Template]
    body: Template | JsonTemplate | None
    content_type: str | None
    """As the job type says, or as fits the body."""
    expected: frozenset[int]
    timeout_ms: int
    max_response_bytes: int
    follow_redirects: int
    verify_tls: bool
    allowed: AllowList


def read_plan(metadata: dict[str, object]) -> Plan:
    """The metadata as a plan; `InvalidInput` names what is wrong with it."""
    check_keys(metadata, _KEYS)
    path, query = _read_url(metadata.get("url"))
    headers = _read_headers(metadata.get("headers", {}))
    body, content_type = _read_body(metadata.get("body"), headers)
    verify_tls = metadata.get("verify_tls", True)
    if not isinstance(verify_tls, bool):
        raise InvalidInput("metadata.verify_tls", f"must be true or false, got {verify_tls!r}")
    return Plan(
        method=_read_method(metadata.get("method", "POST")),
        path=path,
        query=query,
        headers=headers,
        body=body,
        content_type=content_type,
        expected=_read_expected(metadata.get("expected_status", ["2xx"])),
        timeout_ms=_number(metadata, "timeout_ms", DEFAULT_TIMEOUT_MS, 1, _MAX_TIMEOUT_MS),
        max_response_bytes=_number(metadata, "max_response_bytes", DEFAULT_RESPONSE_BYTES, 0, MAX_RESPONSE_BYTES),
        follow_redirects=_number(metadata, "follow_redirects", MAX_REDIRECTS, 0, MAX_REDIRECTS),
        verify_tls=verify_tls,
        allowed=AllowList("metadata.allow_private", metadata.get("allow_private", [])),
    )


def _number(metadata: dict[str, object], key: str, default: int, low: int, high: int) -> int:
    return check_range(f"metadata.{key}", metadata.get(key, default), low, high)


def _read_method(value: object) -> str:
    method = value.upper() if isinstance(value, str) else value
    if method not in _METHODS:
        raise InvalidInput("metadata.method", f"must be one of {', '.join(_METHODS)}; got {value!r}")
    return str(method)


def _read_url(value: object) -> tuple[Template, Template | None]:
    if value is None:
        raise InvalidInput("metadata.url", "is required")
    whole = Template("metadata.url", value)
    if whole.has_places and not _BEFORE_PATH.match(whole.start):
        raise InvalidInput("metadata.url", "has a placeholder before its path; the job type alone says to which host")
    path, _, query = str(value).partition("#")[0].partition("?")
    return Template("metadata.url", path), Template("metadata.url", query) if query else None


def _read_headers(value: object) -> dict[str, Template]:
    if not isinstance(value, dict):
        raise InvalidInput("metadata.headers", "must be an object of strings")
    if len(value) > _MAX_HEADERS:
        raise InvalidInput("metadata.headers", f"has {len(value)} headers, the limit is {_MAX_HEADERS}")
    names: set[str] = set()
    for name in value:
        lower = _check_header_name(name)
        if lower in names:
            raise InvalidInput(f"metadata.headers.{name}", "is there twice")
        names.add(lower)
    headers = {name: Template(f"metadata.headers.{name}", text) for name, text in value.items()}
    for name, template in headers.items():
        if name.lower() == "content-type" and template.has_places:
            raise InvalidInput(f"metadata.headers.{name}", "cannot hold placeholders: it decides how the body is read")
    return headers


def _check_header_name(name: object) -> str:
    if not isinstance(name, str) or not _HEADER_NAME.fullmatch(name):
        raise InvalidInput("metadata.headers", f"{name!r} is not the name of a header")
    if _OUR_HEADERS.fullmatch(name.lower()):
        raise InvalidInput(f"metadata.headers.{name}", "cannot be set: it follows from the request itself")
    return name.lower()


def _read_body(value: object, headers: dict[str, Template]) -> tuple[Template | JsonTemplate | None, str | None]:
    """The body, and a content type unless the job type has its own."""
    own = next((template.start for name, template in headers.items() if name.lower() == "content-type"), None)
    is_json = own is not None and _JSON_TYPE.match(own) is not None
    if value is None:
        return None, own
    if not isinstance(value, str):
        return JsonTemplate("metadata.body", value), own or "application/json"
    text = Template("metadata.body", value)
    if text.only_place and (own is None or is_json):
        return JsonTemplate("metadata.body", value), own or "application/json"
    if is_json and text.has_places:
        raise InvalidInput(
            "metadata.body", "is JSON in a string, where a job could break out of a placeholder; write it as an object"
        )
    return text, own or "text/plain; charset=utf-8"


def _read_expected(value: object) -> frozenset[int]:
    if not isinstance(value, list) or not value:
        raise InvalidInput("metadata.expected_status", 'must be an array such as [200, "3xx"]')
    expected: set[int] = set()
    for item in value:
        if isinstance(item, str) and re.fullmatch(r"[2-5]xx", item):
            first = int(item[0]) * 100
            expected.update(range(first, first + 100))
        else:
            expected.add(check_range("metadata.expected_status", item, 200, 599))
    return frozenset(expected)


# -- the request of one job ------------------------------------------------------------------------------------------


def fill_request(plan: Plan, run: Run) -> tuple[Url, Request]:
    """What a job asks for; `InvalidInput` names the argument, `TargetRefused` tells what is wrong with the URL."""
    values = template_values(run)
    headers = {name: _fill_header(name, template, values) for name, template in plan.headers.items()}
    present = {name.lower() for name in headers}
    body = _fill_body(plan, values)
    defaults = {"User-Agent": "rota", "Accept": "*/*", "Accept-Encoding": "identity"}
    if body is not None and plan.content_type:
        defaults["Content-Type"] = plan.content_type
    headers |= {name: value for name, value in defaults.items() if name.lower() not in present}
    return fill_url(plan, values), Request(plan.method, headers, body)


def fill_url(plan: Plan, values: Values) -> Url:
    budget = Budget("metadata.url", _MAX_URL_BYTES)
    text = plan.path.fill(values, budget, _as_path_part)
    if plan.query is not None:
        text += "?" + plan.query.fill(values, budget, _as_component)
    url = parse_url(text)
    _refuse_dots(url)
    return url


def check_url(plan: Plan) -> None:
    """Refuse a job type whose URL no job could use."""
    try:
        parse_url(plan.path.start)
    except TargetRefused as error:
        raise InvalidInput("metadata.url", str(error)) from None


def _as_component(path: str, value: object) -> str:
    return quote(as_text(path, value), safe="")


def _as_path_part(path: str, value: object) -> str:
    text = _as_component(path, value)
    if not text:
        raise InvalidInput(path, "is empty; in the path of a URL it would ask for something else")
    return text


def _refuse_dots(url: Url) -> None:
    """Servers resolve dot segments, some of them even escaped ones; then a value is not one component any more."""
    path = url.target.partition("?")[0]
    for segment in re.split(r"[/\\]", unquote(path)):
        if segment in (".", ".."):
            raise TargetRefused("the path of the URL has a . or .. segment")


def _fill_header(name: str, template: Template, values: Values) -> str:
    field = f"metadata.headers.{name}"
    text = template.fill(values, Budget(field, _MAX_HEADER_BYTES), as_text).strip(" \t")
    if not template.has_places:  # what a job fills in is never looked up
        text = resolved(field, text)
    if _CONTROL.search(text):
        raise InvalidInput(f"metadata.headers.{name}", "has a line break or another control character")
    return text


def _fill_body(plan: Plan, values: Values) -> bytes | None:
    budget = Budget("metadata.body", _MAX_BODY_BYTES)
    if isinstance(plan.body, JsonTemplate):
        return plan.body.fill(values, budget)
    if plan.body is None:
        return None
    is_form = (plan.content_type or "").lower().startswith(_FORM_TYPE)
    return plan.body.fill(values, budget, _as_component if is_form else as_text).encode()
