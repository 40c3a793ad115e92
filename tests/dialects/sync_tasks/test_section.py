"""`sources:` in the configuration file: what it means, and how mistakes are told."""

from pathlib import Path

import pytest

from rota.dialects import registry
from rota.dialects.sync_tasks.names import Collection, collection_of
from rota.dialects.sync_tasks.options import side_queues
from rota.errors import InvalidInput
from rota.model.job_type import OnNodeDeath, Unique
from rota.settings import load_settings
from rota.store import Store
from tests.dialects.sync_tasks.source import Shop, read

TEXT = """
sources:
  shop:
    executor: bash
    metadata: {command: sync, environment: {A: b}}
    timeout: 5000
    collections:
      - name: orders
        schedule: "0/1 * 0 ? * * *"
      - name: "we ird:#_"
        executor: http
        metadata: {url: "https://example.org"}
sync_tasks: {threads: 3, last_runs: 7}
"""


def test_a_collection_is_a_job_type_and_a_schedule(tmp_path: Path) -> None:
    settings = read(tmp_path, TEXT)
    orders, other = settings.job_types
    (schedule,) = settings.schedules

    assert (orders.name, orders.executor, orders.timeout_ms) == ("sync:shop/orders", "bash", 5000)
    assert orders.metadata["environment"] == {"A": "b", "ROTA_SOURCE": "shop", "ROTA_COLLECTION": "orders"}
    assert (orders.unique, orders.on_node_death) == (Unique.WHILE_PENDING, OnNodeDeath.FAIL)
    assert (orders.node_type, orders.history_max_count) == ("sync_tasks", 7)
    assert (other.executor, other.metadata, other.timeout_ms) == ("http", {"url": "https://example.org"}, 5000)
    assert collection_of(other) == Collection("shop", "we ird:#_")
    assert (schedule.cron, schedule.priority, schedule.catch_up) == ("0/1 * 0 ? * * *", 200, "none")
    assert schedule.job_arguments == {"source": "shop", "collection": "orders"}
    assert side_queues(settings) == {"sync_tasks": 3}


def test_what_a_collection_says_for_itself_counts_though_it_is_nothing(tmp_path: Path) -> None:
    own = "{name: own, executor: python, metadata: {}}"
    text = f"sources: {{a: {{executor: bash, metadata: {{command: x}}, collections: [{own}, {{name: none}}]}}}}"

    metadata = {one.labels["collection"]: one.metadata for one in read(tmp_path, text).job_types}

    assert metadata["own"] == {}
    assert metadata["none"]["command"] == "x"


def test_logs_are_kept_for_the_days_of_the_collection_the_source_or_the_section(tmp_path: Path) -> None:
    text = """
sources:
  a: {log_max_age_days: 2, collections: [{name: own, log_max_age_days: 0.5}, {name: of_source}]}
  b: {collections: [{name: of_section}]}
sync_tasks: {log_max_age_days: 7}
"""
    ages = {one.labels["collection"]: one.log_max_age_ms for one in read(tmp_path, text).job_types}

    assert ages == {"own": 43_200_000, "of_source": 172_800_000, "of_section": 604_800_000}
    assert {one.log_max_age_ms for one in read(tmp_path, TEXT).job_types} == {None}
    with pytest.raises(InvalidInput, match=r"rota.yaml:3: sources.a.collections\[0\].log_max_age_days: must be"):
        read(tmp_path, text.replace("0.5", "soon"))


def test_a_cron_line_is_in_utc_or_in_the_zone_of_its_collection_or_source(tmp_path: Path) -> None:
    text = """
sources:
  a: {tz: Europe/Berlin, collections: [{name: x, schedule: "@daily"}, {name: y, schedule: "@daily", tz: Asia/Tokyo}]}
  b: {collections: [{name: z, schedule: "@daily"}]}
"""
    zones = [(one.tz, one.utc) for one in read(tmp_path, text).schedules]

    assert zones == [("Europe/Berlin", False), ("Asia/Tokyo", False), (None, True)]


def test_a_command_is_told_its_own_names_whatever_its_source_says(tmp_path: Path) -> None:
    (orders, _) = read(tmp_path, TEXT.replace("{A: b}", "{ROTA_SOURCE: other, A: b}")).job_types

    assert orders.metadata["environment"] == {"A": "b", "ROTA_SOURCE": "shop", "ROTA_COLLECTION": "orders"}


def test_a_process_that_runs_no_tasks_has_a_queue_for_them_all_the_same(tmp_path: Path) -> None:
    settings = read(tmp_path, TEXT.replace("threads: 3", "threads: 0"))

    assert side_queues(settings) == {"sync_tasks": 0}
    assert [(one.name, one.thread_count) for one in settings.node_types] == [("sync_tasks", 1)]


def test_a_notice_is_posted_again_if_that_fails(tmp_path: Path) -> None:
    *_, notice = read(tmp_path, TEXT.replace("threads: 3", "notify: https://hooks.example.org")).job_types

    assert (notice.executor, notice.metadata["method"]) == ("http", "POST")
    assert (notice.retry.attempts, notice.retry.delay_ms, notice.retry.max_delay_ms) == (5, 1_000, 60_000)


def test_names_that_look_alike_are_different_job_types() -> None:
    pairs = [("a", "b_c"), ("a_b", "c"), ("a b", "c"), ("a:b", "c"), ("a-b", "c"), ("a#b", "c")]

    assert len({Collection(*pair).job_type_name for pair in pairs}) == len(pairs)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("collections:", "colections:", r"rota.yaml:7: sources.shop.colections: .* did you mean 'collections'"),
        ("- name: orders", "- nam: orders", r"rota.yaml:8: .*nam: .* did you mean 'name'"),
        ("0/1 * 0 ? * * *", "every now and then", r"rota.yaml:9: sources.shop.collections\[0\].schedule: "),
        ('"we ird:#_"', "orders", r"rota.yaml:10: sources.shop.collections\[1\]: has the same name as rota.yaml:8"),
        ('"we ird:#_"', "a/b", r"rota.yaml:10: .*name: 'a/b' must not have '/'"),
        ("threads: 3", "threads: -1", r"rota.yaml:13: sync_tasks.threads: must be from 0"),
        ("last_runs: 7", "last_runs: 0", r"rota.yaml:13: sync_tasks.last_runs: must be from 1"),
        ('"we ird:#_"', "x" * 129, r"rota.yaml:10: .*name: must be text of 1 to 128 characters"),
        ('"we ird:#_"', "' '", r"rota.yaml:10: .*name: must be text of 1 to 128 characters"),
        ("timeout: 5000", "timeout: soon", r"rota.yaml:6: .*timeout: must be a duration"),
        ("  shop:", "  shop: 5\n  other:", r"rota.yaml:3: sources.shop: must be a mapping"),
    ],
)
def test_a_mistake_is_told_with_its_line(tmp_path: Path, old: str, new: str, told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        read(tmp_path, TEXT.replace(old, new, 1))


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("{command: sync, ", "{comand: sync, ", r"rota.yaml:5: sources.shop.collections\[0\].metadata.comand: unknown"),
        ("{url:", "{ur:", r"rota.yaml:12: sources.shop.collections\[1\].metadata.ur: unknown"),
        ("executor: http", "executor: htp", r"rota.yaml:11: sources.shop.collections\[1\].executor: "),
    ],
)
def test_a_mistake_that_only_the_executor_finds_is_told_with_its_line(
    store: Store, tmp_path: Path, old: str, new: str, told: str
) -> None:
    with pytest.raises(InvalidInput, match=told):
        Shop(store, tmp_path, TEXT.replace(old, new, 1))


def test_the_document_s_own_sample_is_good_and_says_what_it_lacks(tmp_path: Path) -> None:
    sample = """
sources:
  source_id:
    collections:
      - name: "sample_collection"
        schedule: "0/1 * 0 ? * * *" #cron expression, every minute
"""

    (job_type,) = read(tmp_path, sample).job_types

    assert job_type.executor == "log"
    assert "has no executor" in str(job_type.metadata["message"])


def test_the_example_is_good() -> None:
    example = Path(__file__).parents[3] / "examples" / "sync.yaml"

    found = load_settings({}, {}, example, example.parent, registry.sections())
    assert [one.name for one in found.job_types] == ["sync:machine/disks", "sync:machine/users", "sync:broken/orders"]
