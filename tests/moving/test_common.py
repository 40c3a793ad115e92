"""What the shims share: stores, ids, functions and failures."""

import os
from pathlib import Path
from typing import Any

import pytest
import redis

from rota import GiveUp, InvalidInput, JobFailed
from rota.moving.common.failures import original_error
from rota.moving.common.identity import job_id_of
from rota.moving.common.imports import function_of, named_function
from rota.moving.common.stores import store_url, url_of_connection


@pytest.mark.parametrize(
    ("options", "url"),
    [
        ({}, "redis://localhost:6379/0"),
        ({"host": "shop", "port": 7000, "db": 3}, "redis://shop:7000/3"),
        ({"password": "a/b@c"}, "redis://:a%2Fb%40c@localhost:6379/0"),
        ({"username": "a:b", "password": "c"}, "redis://a%3Ab:c@localhost:6379/0"),
        ({"username": "nobody"}, "redis://localhost:6379/0"),
        ({"ssl": True}, "rediss://localhost:6379/0"),
    ],
)
def test_a_connection_of_redis_py_has_the_url_of_its_server(options: dict[str, Any], url: str) -> None:
    with redis.Redis(**options) as connection:
        assert url_of_connection("connection", connection) == url


def test_what_a_pool_leaves_open_is_as_redis_py_has_it() -> None:
    with redis.Redis(connection_pool=redis.ConnectionPool()) as connection:
        assert url_of_connection("connection", connection) == "redis://localhost:6379/0"


def test_a_connection_to_a_socket_is_refused() -> None:
    with (
        redis.Redis(unix_socket_path="/run/redis.sock") as connection,
        pytest.raises(InvalidInput, match=r"^connection: a Unix socket is not a store of Rota's"),
    ):
        url_of_connection("connection", connection)


@pytest.mark.parametrize("url", [None, "sqlite:///a.db", "rediss+cluster://a:1", "sentinel://a:1/b", "valkeys://a"])
def test_urls_of_stores_are_taken_as_they_are(url: str | None) -> None:
    assert (store_url("broker", url), url_of_connection("broker", url)) == (url, url)


@pytest.mark.parametrize("url", [5, "", "redis", "amqp://me:secret@there//", "http://me:secret@there"])
def test_what_is_no_store_is_refused_without_its_password(url: object) -> None:
    with pytest.raises(InvalidInput, match=r"^broker: .* is not a store of Rota's") as refused:
        store_url("broker", url)

    assert "secret" not in str(refused.value)


def test_a_text_has_the_same_id_for_ever_and_a_uuid_is_its_own() -> None:
    """Another id would make a second job of one that is there, and forget those that ran."""
    assert job_id_of("job_id", "monday") == MONDAY
    assert job_id_of("job_id", MONDAY.upper()) == MONDAY
    assert job_id_of("job_id", "x" * 512) != job_id_of("job_id", "x" * 511)


MONDAY = "924440be-aea0-5697-a02b-007dfaf4c687"


@pytest.mark.parametrize("name", ["", "x" * 513, 5, None])
def test_an_id_that_is_no_text_or_too_long_is_refused(name: object) -> None:
    with pytest.raises(InvalidInput, match=r"^job_id: must be text of 1 to 512 characters"):
        job_id_of("job_id", name)


@pytest.mark.parametrize(
    ("errors", "kind", "words"),
    [
        ({"type": "LookupError", "message": "no"}, LookupError, "no"),
        ({"type": "ValueError"}, ValueError, ""),
        ({"type": "UnicodeDecodeError", "message": "no"}, JobFailed, None),
        ({"type": "SystemExit", "message": "no"}, JobFailed, None),
        ({"type": "print", "message": "no"}, JobFailed, None),
        ({"type": "Odd", "message": "no"}, JobFailed, None),
        ("as text", JobFailed, None),
        (None, JobFailed, None),
    ],
)
def test_a_failure_is_the_built_in_exception_that_it_was(
    errors: object, kind: type[Exception], words: str | None
) -> None:
    failed = JobFailed("a", "failed", errors)

    found = original_error(failed)

    assert type(found) is kind
    assert found is failed if words is None else str(found) == words


def test_a_function_is_found_by_the_longest_module_of_its_name() -> None:
    assert named_function("os.path.join") is os.path.join
    assert named_function(f"{__name__}.Shop.open") is Shop.open
    assert function_of("f", f"{__name__}:test_an_id_that_is_no_text_or_too_long_is_refused") is not None


class Shop:
    @staticmethod
    def open() -> None:
        """In a class."""


def test_a_function_that_is_nowhere_is_given_up() -> None:
    with pytest.raises(GiveUp, match=r"the function 'nowhere.at.all' is not in the code of this worker"):
        named_function("nowhere.at.all")
    with pytest.raises(AttributeError):
        named_function(f"{__name__}.nothing")


def test_a_module_that_cannot_be_imported_for_another_reason_says_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_shop.py").write_text("import nowhere_at_all\n")
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.raises(ModuleNotFoundError, match="nowhere_at_all"):
        named_function("broken_shop.sell")
