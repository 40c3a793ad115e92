"""Slashes within names in a path."""

import pytest

from rota.server.bodies.decoding import decode_path
from rota.server.gate.path_slashes import with_slashes_apart


@pytest.mark.parametrize(
    ("raw", "decoded", "parts"),
    [
        (b"/api/a%2Fb/why", "/api/a/b/why", ["api", "a/b", "why"]),
        (b"/api/a%2fb%20c", "/api/a/b c", ["api", "a/b c"]),
        (b"/api/a%252Fb", "/api/a%2Fb", ["api", "a%2Fb"]),
        (b"/api/%2e%2e%2Fb", "/api/../b", ["api", "../b"]),
        (b"/api/%C3%A4%2F", "/api/\xe4/", ["api", "\xe4/"]),
    ],
)
def test_a_slash_that_was_encoded_separates_nothing(raw: bytes, decoded: str, parts: list[str]) -> None:
    scope = {"path": decoded, "raw_path": raw}

    routed = with_slashes_apart(scope)["path"].split("/")[1:]

    assert [decode_path({"id": one})["id"] for one in routed] == parts
    assert scope["path"] == decoded


def test_a_server_that_tells_no_raw_path_is_taken_as_it_is() -> None:
    assert with_slashes_apart({"path": "/api"}) == {"path": "/api"}
