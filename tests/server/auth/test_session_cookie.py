"""The cookie of a session, and what a browser says of where a request comes from."""

import pytest
from starlette.datastructures import Headers

from rota.server.auth.session_cookie import is_opened_by_a_person, is_sent_by_own_page, likely_sessions


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
