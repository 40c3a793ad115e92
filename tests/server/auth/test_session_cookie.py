"""The cookie of a session, and what a browser says of where a request comes from."""

import asyncio

import pytest
from starlette.datastructures import Headers

from rota.engine.access.keys.access import Role, read_scopes
from rota.engine.access.keys.key_ring import holder_id
from rota.engine.access.keys.named_keys import make_key, revoke_key
from rota.server.auth.session_cookie import is_opened_by_a_person, is_sent_by_own_page, likely_sessions
from rota.server.endpoint import is_still_good
from rota.store import Store
from tests.server.serving import make_api


def cookies(*names: str) -> Headers:
    """A request with these cookies, each with its name as its value."""
    return Headers({"Cookie": "; ".join(f"{name}={name}" for name in names)})


@pytest.mark.parametrize(
    ("names", "tried"),
    [
        (["rota_session_1", "rota_session_80", "rota_session_2"], ["80", "1", "2"]),
        (["rota_session_80"], ["80"]),
        (["rota_session_4", "rota_session_3", "rota_session_2", "rota_session_1"], ["4", "3", "2"]),
        ([f"rota_session_{port}" for port in (1, 2, 3, 4, 5, 80)], ["80", "1", "2", "3"]),
        (["session_80", "another"], []),
    ],
)
def test_the_session_of_this_port_is_tried_first_and_then_a_few_others(names: list[str], tried: list[str]) -> None:
    """Each may cost a look at the store, and anybody can show any number."""
    found = likely_sessions(cookies(*names), {"server": ("127.0.0.1", 80)})

    assert found == [f"rota_session_{port}" for port in tried]


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"sec-fetch-site": "same-origin"}, True),
        ({"sec-fetch-site": "same-site"}, False),
        ({"sec-fetch-site": "none"}, False),
        ({"sec-fetch-site": "cross-site", "origin": "http://rota.example"}, False),
        ({"origin": "http://rota.example"}, True),
        ({"origin": "https://ROTA.example"}, True),
        ({"origin": "http://rota.example:81"}, False),
        ({"origin": "ftp://rota.example"}, False),
        ({"origin": "rota.example"}, False),
        ({"origin": "null"}, False),
        ({}, False),
    ],
)
def test_only_a_page_of_this_very_server_changes_something_by_a_session(
    headers: dict[str, str], expected: bool
) -> None:
    assert is_sent_by_own_page(Headers({"host": "Rota.example", **headers})) is expected


@pytest.mark.parametrize(
    ("mode", "site", "expected"),
    [
        ("navigate", "none", True),
        ("navigate", "same-origin", True),
        ("navigate", "same-site", False),
        ("navigate", "cross-site", False),
        ("cors", "same-origin", False),
        ("no-cors", "none", False),
        (None, None, False),
    ],
)
def test_a_person_types_the_address_or_comes_from_a_page_of_ours(
    mode: str | None, site: str | None, expected: bool
) -> None:
    said = {"sec-fetch-mode": mode, "sec-fetch-site": site}

    assert is_opened_by_a_person(Headers({name: text for name, text in said.items() if text})) is expected


def test_a_stream_that_a_session_opened_ends_with_that_session_whichever_others_are_shown(kept: Store) -> None:
    keys = [
        make_key(kept, name, role=Role.VIEWER, scopes=read_scopes([], Role.VIEWER), expires_at=None, now=1)[0]
        for name in ("first", "second")
    ]
    api = make_api(kept)
    callers = [caller for key in keys if (caller := api.keys.identify(key))]
    begun = [api.sessions.begin(holder_id(key, caller)) for key, caller in zip(keys, callers, strict=True)]
    sessions = [one.session for one in begun if one]
    shown = Headers({"Cookie": "; ".join(f"rota_session_{at}={one}" for at, one in enumerate(sessions))})

    def are_good() -> list[bool]:
        return [asyncio.run(is_still_good(api, shown, one)) for one in callers]

    assert are_good() == [True, True]
    revoke_key(kept, "first")

    api = make_api(kept)  # which remembers nothing of the key
    assert are_good() == [False, True]
