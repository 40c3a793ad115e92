"""What is not shown to everybody."""

import pytest

from rota.model.access.masking import is_reference, mask_metadata, mask_url

CANARY = "hunter2"


@pytest.mark.parametrize(
    "url",
    [
        "redis://:hunter2@host:6379/0",
        "redis://user:hunter2@host",
        "redis://user:hunter2/with/slashes@host/0",
        "redis://:an@hunter2@host",
        "redis://:hunter2:colon@host",
        "redis://hunter2@host",
        "rediss+cluster://:hunter2@a:1,b:2",
        "sentinel://:hunter2@a:1,b:2/name/0?sentinel_password=hunter2",
        "redis://host/0?password=hunter2&x=1",
        "rdis://:hunter2@host",
        ":hunter2@host:6379",
        "redis:/:hunter2@host",
        "redis://:x://hunter2@host",
    ],
)
def test_no_shape_of_a_url_shows_its_password(url: str) -> None:
    assert CANARY not in mask_url(url)
    assert "***" in mask_url(url)


@pytest.mark.parametrize("part", ["x", "a://", "?", "&", "a@", "x.", "://", ":", "a://b?", "password"])
def test_a_long_text_is_looked_at_once_and_not_from_each_of_its_letters(part: str) -> None:
    mask_metadata({"command": ["echo", part * (1_000_000 // len(part)) + " https://u:hunter2@host"]})


@pytest.mark.parametrize(
    "text",
    [
        "curl https://u:hunter2@host/x -o y",
        "A=b;curl 'https://u:hunter2@host/x'",
        "see http://a/b and http://c/d?token=hunter2",
        "x=postgres://u:hunter2@h/db",
        "a://b://u:hunter2@h",
    ],
)
def test_passwords_of_urls_in_a_text_are_masked(text: str) -> None:
    (shown,) = mask_metadata({"command": text}).values()

    assert CANARY not in str(shown)
    assert str(shown).split()[0] == text.split()[0] or "***" in str(shown).split()[0]


@pytest.mark.parametrize(
    "url", ["redis://host:6379/0", "sqlite:///dir@home/rota.db", "sqlite://:memory:", "https://a/b"]
)
def test_a_url_without_a_password_is_shown_as_it_is(url: str) -> None:
    assert mask_url(url) == url


def test_what_may_be_a_secret_is_masked_and_a_reference_is_not() -> None:
    metadata: dict[str, object] = {
        "command": ["psql", f"postgres://u:{CANARY}@db/x", "-c", "select 1"],
        "environment": {"PGPASSWORD": CANARY, "TOKEN": "env:TOKEN", "CERT": "file:/run/cert"},
        "headers": {"X-Any": CANARY},
        "redis": f"redis://:{CANARY}@host/0",
        "body": {"api_key": CANARY, "deep": [{"password": CANARY}], "text": "hello"},
        "timeout_ms": 5,
        "verify_tls": True,
    }

    assert mask_metadata(metadata) == {
        "command": ["psql", "postgres://u:***@db/x", "-c", "select 1"],
        "environment": {"PGPASSWORD": "***", "TOKEN": "env:TOKEN", "CERT": "file:/run/cert"},
        "headers": {"X-Any": "***"},
        "redis": "redis://:***@host/0",
        "body": {"api_key": "***", "deep": [{"password": "***"}], "text": "hello"},
        "timeout_ms": 5,
        "verify_tls": True,
    }
    assert metadata["headers"] == {"X-Any": CANARY}, "the job type itself is as it was"


@pytest.mark.parametrize(
    ("value", "is_one"),
    [
        ("env:TOKEN", True),
        ("file:/run/secrets/token", True),
        ("file:///etc/passwd", False),
        ("file:relative", False),
        ("env:", False),
        ("env:A B", False),
        ("an env:TOKEN", False),
        (7, False),
    ],
)
def test_a_reference_is_a_whole_value(value: object, is_one: bool) -> None:
    assert is_reference(value) is is_one
