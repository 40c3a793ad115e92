"""Topics over HTTP."""

import pytest
from starlette.testclient import TestClient

from rota.model.topics.topic import TopicRecord
from rota.store import Store

NOW = 1_760_000_000_000


@pytest.fixture
def filled(kept: Store) -> Store:
    for topic, count in (("orders", 5), ("tasks", 1)):
        records = [
            TopicRecord(id=str(n), key={"n": n}, value={"text": f"{n}"}, headers={"message-id": str(n)}, time=NOW + n)
            for n in range(count)
        ]
        kept.append_topic(topic, records)
    return kept


def test_topics_are_listed(admin: TestClient, filled: Store) -> None:
    assert admin.get("/api/topics").json() == {
        "topics": [
            {"name": "orders", "first_offset": 0, "next_offset": 5},
            {"name": "tasks", "first_offset": 0, "next_offset": 1},
        ]
    }
    assert [one["name"] for one in admin.get("/api/topics?after=orders&limit=1").json()["topics"]] == ["tasks"]


def test_a_topic_is_read_from_an_offset_on(admin: TestClient, filled: Store) -> None:
    answer = admin.get("/api/topics/orders?offset=3&limit=1").json()

    assert answer == {
        "topic": {"name": "orders", "first_offset": 0, "next_offset": 5},
        "records": [
            {
                "offset": 3,
                "timestamp": NOW + 3,
                "key": {"n": 3},
                "value": {"text": "3"},
                "headers": {"message-id": "3"},
            }
        ],
        "following": 4,
    }


@pytest.mark.parametrize(
    ("query", "offsets"),
    [("", [0, 1, 2, 3, 4]), ("?offset=-2", [3, 4]), ("?offset=-99", [0, 1, 2, 3, 4]), ("?offset=5", [])],
)
def test_offsets_count_from_both_ends(admin: TestClient, filled: Store, query: str, offsets: list[int]) -> None:
    answer = admin.get(f"/api/topics/orders{query}").json()

    assert [one["offset"] for one in answer["records"]] == offsets
    assert answer["following"] == 5


def test_a_topic_that_is_not_there_is_a_404(admin: TestClient) -> None:
    answer = admin.get("/api/topics/nothing")

    assert answer.status_code == 404
    assert "no topic 'nothing'" in answer.json()["error"]


@pytest.mark.parametrize("query", ["offset=x", "limit=0", "limit=1001", "from=3"])
def test_a_query_that_means_nothing_is_a_400(admin: TestClient, query: str) -> None:
    assert admin.get(f"/api/topics/orders?{query}").status_code == 400
