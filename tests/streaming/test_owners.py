"""Who has a partition, how instances ask each other, and what becomes of pages over all partitions."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest
from msgspec import structs

from rota.clock import ManualClock
from rota.engine.topics.light.scheduler import MAX_PAGE, DefinitionQuery
from rota.errors import InvalidInput, StoreUnavailable
from rota.model.topics.light.definition import read_definition
from rota.model.triggers.interval import TimeUnit
from rota.streaming.options import StreamOptions, instance_of
from rota.streaming.owners import Owners
from rota.streaming.partition import Partition
from rota.streaming.records.codec import encode_key
from rota.streaming.records.entry import entry_of
from rota.streaming.records.position import Position
from rota.streaming.scheduler import KafkaScheduler, _page, _place_of
from tests.patience import LONG_DEADLINE_S

OPTIONS = StreamOptions(brokers=("127.0.0.1:1",), peer_key="only for peers")
REPORT = {"host": "h", "name": "n", "topic": "t", "action": "INSERT", "start": 5, "frequency": None, "data": None}


class Peer(ThreadingHTTPServer):
    """Another instance, which answers as it is told to."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answering)
        self.status, self.answer = 200, json.dumps({"definitions": [REPORT], "cursor": "next"})
        self.asked: list[tuple[str, str | None]] = []
        self.url = f"http://127.0.0.1:{self.server_port}"


class Answering(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        peer = self.server
        assert isinstance(peer, Peer)
        peer.asked.append((self.path, self.headers["Authorization"]))
        self.send_response(peer.status)
        self.end_headers()
        self.wfile.write(peer.answer.encode())

    def log_message(self, *_: Any) -> None:
        """Nobody reads it."""


@pytest.fixture
def peer() -> Iterator[Peer]:
    with Peer() as made:
        serving = Thread(target=made.serve_forever, args=(0.01,))
        serving.start()
        yield made
        made.shutdown()
        serving.join()


def test_another_instance_is_asked_with_the_key_of_instances(peer: Peer) -> None:
    owners = Owners(OPTIONS, ManualClock())

    page = owners.find(peer.url, 3, DefinitionQuery(host="a b", unit=TimeUnit.DAYS, limit=7))

    assert peer.asked == [("/api/schedulers/partitions/3?host=a+b&unit=DAYS&limit=7", "Bearer only for peers")]
    assert ([one.name for one in page.definitions], page.cursor) == (["n"], "next")


ASKS = """
import sys
from rota.clock import ManualClock
from rota.engine.topics.light.scheduler import DefinitionQuery
from rota.streaming.options import StreamOptions
from rota.streaming.owners import Owners
Owners(StreamOptions(brokers=()), ManualClock()).find(sys.argv[1], 0, DefinitionQuery())
"""


def test_another_instance_is_asked_directly_whatever_proxies_there_are(peer: Peer) -> None:
    """A proxy of the company's does not reach it, and would be shown the key."""
    nobody = {"http_proxy": "http://127.0.0.1:1", "no_proxy": ""}

    asking = subprocess.run(
        [sys.executable, "-c", ASKS, peer.url],
        env={**os.environ, **nobody},
        capture_output=True,
        timeout=LONG_DEADLINE_S,
        check=False,
    )

    assert (asking.returncode, len(peer.asked)) == (0, 1), asking.stderr


@pytest.mark.parametrize(
    ("status", "answer", "told"),
    [
        (401, "{}", "it refused our key; give all instances the same api_key"),
        (403, "{}", "it refused our key; give all instances the same api_key"),
        (503, '{"error": "partition 3 is not here"}', "partition 3 is not here"),
        (502, "<html>", "HTTP 502"),
        (404, "[]", "HTTP 404"),
        (200, "<html>", "malformed"),
    ],
)
def test_an_instance_that_has_no_answer_is_told_with_its_address_and_reason(
    peer: Peer, status: int, answer: str, told: str
) -> None:
    peer.status, peer.answer = status, answer

    with pytest.raises(StoreUnavailable, match=f"the instance at {peer.url} did not answer: .*{told}"):
        Owners(OPTIONS, ManualClock()).find(peer.url, 3, DefinitionQuery())


class Asked(Owners):
    """Counts how often the group is asked, which tells another address each time."""

    times = 0

    def _ask_group(self) -> dict[int, str]:
        self.times += 1
        return {0: f"http://{self.times}"}


def test_the_group_is_asked_again_after_a_second_or_when_somebody_was_not_there() -> None:
    clock = ManualClock()
    owners = Asked(OPTIONS, clock)
    found = []

    for ms in (0, 999, 1):
        clock.advance(ms)
        found.append(owners.address_of(0))
    owners.forget()
    found.append(owners.address_of(0))

    assert found == ["http://1", "http://1", "http://2", "http://3"]
    assert owners.address_of(1) is None


def test_an_instance_is_known_by_what_the_group_calls_it_and_other_programs_are_not() -> None:
    options = structs.replace(OPTIONS, address="http://a+b:80")

    assert instance_of(options.client_id("name")) == ("name", "http://a+b:80")
    assert instance_of(OPTIONS.client_id("name")) == ("name", "")
    assert instance_of("rdkafka") == instance_of("other+name+http://a") == instance_of("") == ("", "")


def test_options_of_the_user_reach_every_client_and_change_nothing_on_which_a_stream_relies() -> None:
    options = structs.replace(
        OPTIONS,
        brokers=("a:1", "b:2"),
        client_options={"sasl.username": "me", "log_level": "7", "isolation.level": "read_uncommitted"},
    )

    made = options.client({"isolation.level": "read_committed"})

    assert (made["bootstrap.servers"], made["sasl.username"], made["log_level"]) == ("a:1,b:2", "me", "7")
    assert made["isolation.level"] == "read_committed"


def filled(*names: str) -> Partition:
    partition = Partition(0, Position(0))
    for name in names:
        definition = read_definition({**REPORT, "name": name})
        partition.put(encode_key(definition.key), entry_of(definition))
    return partition


def test_a_partition_is_read_page_by_page_and_the_last_page_has_no_cursor() -> None:
    partition, names, cursor = filled("c", "a", "b"), [], None

    for _ in range(2):
        page = _page(partition, DefinitionQuery(limit=2, cursor=cursor))
        names.append([one.name for one in page.definitions])
        cursor = page.cursor

    assert (names, cursor) == ([["a", "b"], ["c"]], None)
    assert _page(partition, DefinitionQuery(host="other", limit=2)).definitions == []
    assert _page(partition, DefinitionQuery(host="other", limit=2)).cursor is not None, "more may match behind it"


def test_a_page_is_never_longer_than_allowed() -> None:
    partition = filled(*map(str, range(MAX_PAGE + 1)))

    page = _page(partition, DefinitionQuery(limit=MAX_PAGE + 5))

    assert (len(page.definitions), page.cursor is None) == (MAX_PAGE, False)


@pytest.mark.parametrize(
    ("cursor", "place"), [(None, (0, None)), ("0:", (0, None)), ("3:", (3, None)), ("2:0aff", (2, "0aff"))]
)
def test_a_cursor_says_the_partition_and_the_key_behind_which_to_go_on(
    cursor: str | None, place: tuple[int, str | None]
) -> None:
    assert _place_of(cursor, 4) == place


@pytest.mark.parametrize("cursor", ["", "x", ":", "4:", "-1:", "1:0", "1:xy", "1:0A", "²:"])
def test_a_cursor_that_is_not_from_an_earlier_page_is_refused(cursor: str) -> None:
    with pytest.raises(InvalidInput, match="is not from an earlier page"):
        _place_of(cursor, 4)


@pytest.mark.parametrize("cursor", ["x", "0", "0:"])
def test_a_cursor_of_one_partition_that_is_not_from_an_earlier_page_is_refused(cursor: str) -> None:
    with pytest.raises(InvalidInput, match="is not from an earlier page"):
        _page(filled("a"), DefinitionQuery(cursor=cursor))


def test_nothing_is_taken_before_it_is_known_how_many_partitions_there_are() -> None:
    """A command in the wrong partition would be carried out late, and a question answered wrongly."""
    scheduler = KafkaScheduler(OPTIONS, ManualClock())
    command = read_definition({**REPORT, "data": {}})

    with pytest.raises(StoreUnavailable, match="it has not reached the brokers yet"):
        scheduler.apply(command)
    with pytest.raises(StoreUnavailable, match="it has not reached the brokers yet"):
        scheduler.find(DefinitionQuery("h", "n"))
