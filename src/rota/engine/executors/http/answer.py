"""An HTTP answer as the result of a job: JSON of a bounded size, whatever the server sent."""

import base64
import codecs

import msgspec

from rota.engine.executors.http.client import Answer

_LATIN_1 = ("iso-8859-1", "iso8859-1", "latin-1", "latin1")
_MASK = "***"


def results_of(answer: Answer, elapsed_ms: int) -> dict[str, object]:
    """`body` is text; where it is not text it is base64, and `body_encoding` says so. `body_cut` is there if it was
    longer than allowed. Cookies are masked: they are credentials, and results are shown to many."""
    results: dict[str, object] = {"status": answer.status, "headers": _headers(answer)}
    text = _text(answer)
    if text is None:
        results |= {"body": base64.b64encode(answer.body).decode(), "body_encoding": "base64"}
    else:
        mark = f"\n[... cut after {len(answer.body)} bytes ...]" if answer.is_cut else ""
        results["body"] = text + mark
    if answer.is_cut:
        results["body_cut"] = True
    return results | {"elapsed_ms": elapsed_ms}


def _headers(answer: Answer) -> dict[str, str]:
    headers: dict[str, str] = {}
    for name, value in answer.headers:
        if name in ("set-cookie", "set-cookie2"):
            value = _MASK
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers


def _text(answer: Answer) -> str | None:
    """The body as text, unless it is none or would take more than twice its size as JSON."""
    try:
        text = _decoded(answer)
    except UnicodeDecodeError:
        return None
    is_small = len(msgspec.json.encode(text)) <= 2 * len(answer.body) + 2
    return text if is_small and "\0" not in text else None


def _decoded(answer: Answer) -> str:
    content_type = next(iter(answer.values_of("content-type")), "").lower()
    charset = content_type.partition("charset=")[2].partition(";")[0].strip(" \"'")
    if charset in _LATIN_1:
        return answer.body.decode("latin-1")
    # A cut may go through a character, whose first bytes are then left out.
    return codecs.getincrementaldecoder("utf-8")().decode(answer.body, final=not answer.is_cut)
