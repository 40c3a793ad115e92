"""What the address of a Redis says beyond its host."""

import pytest

from rota.errors import InvalidInput
from rota.store.redis.link.connection import Address


def patience_of(url: str, answer_timeout_s: float | None = None) -> tuple[float, float]:
    """How long a client waits for an answer, and for a connection."""
    ways = Address(url).connect(answer_timeout_s=answer_timeout_s).connection_pool.connection_kwargs
    return ways["socket_timeout"], ways["socket_connect_timeout"]


def test_a_server_has_ten_seconds_to_answer_unless_its_address_says_otherwise() -> None:
    assert patience_of("redis://127.0.0.1:6379/0") == (10, 5)
    assert patience_of("redis://127.0.0.1:6379/0?answer_timeout_s=7") == (7, 5)
    assert patience_of("redis://127.0.0.1:6379/0?wait_replicas=1&answer_timeout_s=3") == (3, 3)


@pytest.mark.parametrize(
    ("url", "meant"),
    [
        ("redis://h", ("single", False, [("h", 6379)], 0, "mymaster", None, None)),
        ("rediss://u:p%40@h:1/2", ("single", True, [("h", 1)], 2, "mymaster", "u", "p@")),
        ("redis+cluster://a,b:2", ("cluster", False, [("a", 6379), ("b", 2)], 0, "mymaster", None, None)),
        ("sentinel://a,b:3/other/4", ("sentinel", False, [("a", 26379), ("b", 3)], 4, "other", None, None)),
        ("sentinel://a", ("sentinel", False, [("a", 26379)], 0, "mymaster", None, None)),
    ],
)
def test_what_an_address_leaves_open_has_its_usual_value(url: str, meant: tuple[object, ...]) -> None:
    it = Address(url)

    assert (it.kind, it.is_tls, it.hosts, it.database, it.service, it.username, it.password) == meant


@pytest.mark.parametrize("url", ["redis://127.0.0.1:6379/0", "sentinel://127.0.0.1:26379/service/0"])
def test_a_connection_that_is_idle_for_long_is_kept_alive_on_its_way(url: str) -> None:
    ways = Address(url).connect().connection_pool.connection_kwargs

    assert ways["socket_keepalive"] is True


def test_who_waits_in_a_blocking_pop_has_a_patience_of_his_own() -> None:
    assert patience_of("redis://127.0.0.1:6379/0?answer_timeout_s=3", 20.0) == (20, 5)


@pytest.mark.parametrize("option", ["answer_timeout_s", "wait_replicas", "history_max_bytes"])
@pytest.mark.parametrize("value", ["soon", "-1", "1.5"])
def test_options_that_are_no_whole_numbers_are_refused_by_name(option: str, value: str) -> None:
    with pytest.raises(InvalidInput, match=f"{option} must be a number, such as 1"):
        Address(f"redis://127.0.0.1:6379/0?{option}={value}")


@pytest.mark.parametrize("host", ["a..b", ".a", "x" * 64, "a:1:2", "a:port"])
@pytest.mark.parametrize("url", ["redis://{}/0", "sentinel://good,{}/service/0", "redis+cluster://good:7000,{}"])
def test_a_host_that_cannot_be_one_is_refused_before_anybody_is_asked(url: str, host: str) -> None:
    with pytest.raises(InvalidInput, match="does not name its servers as host:port"):
        Address(url.format(host))


@pytest.mark.parametrize("host", ["redis", "my_redis.example.", "redis-1.example.org", "x" * 63, "[::1]", "192.0.2.1"])
def test_names_and_addresses_are_taken_as_they_are(host: str) -> None:
    assert Address(f"redis://{host}:7000/0").hosts == [(host.strip("[]"), 7000)]


@pytest.mark.parametrize(
    "url",
    [
        "redis://:hunter2@host/0",
        "redis://host/0?password=hunter2",
        "redis://host/0?x=1&sentinel_password=hunter2",
        "sentinel://:hunter2@a:1,b:2/name/0",
        "redis+cluster://u:hunter2@a:1",
        "redis://u:hunter2#x@host:1/0",
        "redis://u:hunter2?x@host:1/0",
        "redis://u:hunter2@host:port/0",
        "redis://u:hunter2@host:99999/0",
        "redis://u:hunter2@host/zero",
        "redis://u:hunter2@host/0?wait_replicas=x",
        "redis+cluster://u:hunter2@host/1",
    ],
)
def test_neither_an_address_nor_what_is_wrong_with_it_shows_a_password(url: str) -> None:
    try:
        shown = Address(url).shown
    except InvalidInput as error:
        shown = str(error)

    assert "hunter2" not in shown


def patience_with_sentinels(url: str, answer_timeout_s: float | None = None) -> list[float]:
    """How long a client waits for each of them."""
    pool = Address(url).connect(answer_timeout_s=answer_timeout_s).connection_pool
    ways = [one.connection_pool.connection_kwargs for one in pool.sentinel_manager.sentinels]
    assert all(one["socket_connect_timeout"] == one["socket_timeout"] for one in ways)
    return [one["socket_timeout"] for one in ways]


@pytest.mark.parametrize("hosts", [1, 3, 5])
@pytest.mark.parametrize(("patience_s", "in_all_s"), [(None, 5.0), (2.5, 2.5), (20.0, 5.0)])
def test_sentinels_share_the_time_that_a_caller_has_for_a_connection(
    hosts: int, patience_s: float | None, in_all_s: float
) -> None:
    url = f"sentinel://{','.join(f'host{number}' for number in range(hosts))}/service/0"

    each = patience_with_sentinels(url, patience_s)

    assert len(each) == hosts
    assert sum(each) == pytest.approx(in_all_s)
