"""Which nodes have which duties of sync tasks, and where the keys are."""

import logging
from pathlib import Path

import pytest

from rota.dialects.sync_tasks.notices import Notices
from rota.dialects.sync_tasks.opening import open_dialect
from rota.dialects.sync_tasks.redis.dialect import KeyKeeper
from rota.dialects.sync_tasks.redis.mirror import Mirror
from rota.dialects.sync_tasks.redis.opening import Unseen, open_shown
from rota.engine.node.dialect import DialectContext
from rota.settings import Settings
from rota.store import Store
from tests.dialects.sync_tasks.source import YAML, Shop, read


def duties(shop: Shop, settings: Settings, *roles: str) -> list[type]:
    """Of a node with these roles."""
    dialect = open_dialect(settings, shop.store)
    if dialect is None:
        return []
    context = DialectContext(engine=shop.engine, node="a node", node_type="default", roles=frozenset(roles))
    found = dialect.join(context)
    dialect.leave()
    return [type(one) for one in found]


@pytest.mark.stores("redis")
def test_schedulers_tell_of_changes_and_whoever_runs_tasks_or_fires_them_keeps_the_keys(
    store: Store, tmp_path: Path
) -> None:
    shop = Shop(store, tmp_path)

    assert duties(shop, shop.settings, "worker", "scheduler") == [Notices, KeyKeeper]
    assert duties(shop, shop.settings, "scheduler") == [Notices, KeyKeeper]
    assert duties(shop, shop.settings, "worker") == [KeyKeeper]
    assert duties(shop, shop.settings, "server") == []


@pytest.mark.stores("redis")
def test_a_setting_leaves_the_keys_alone(store: Store, tmp_path: Path) -> None:
    shop = Shop(store, tmp_path)
    off = read(tmp_path, f"{YAML}sync_tasks: {{keys: false}}\n")

    assert isinstance(open_shown(shop.settings, store), Mirror)
    assert isinstance(open_shown(off, store), Unseen)
    assert duties(shop, off, "worker", "scheduler") == [Notices]


@pytest.mark.stores("sqlite-file", "redis-cluster")
def test_elsewhere_there_are_no_keys_and_changes_are_told_all_the_same(
    store: Store, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "rota.sync_tasks")
    shop = Shop(store, tmp_path)

    assert isinstance(open_shown(shop.settings, store), Unseen)
    assert duties(shop, shop.settings, "worker", "scheduler") == [Notices]

    assert ("not available on Redis Cluster" in caplog.text) == ("+cluster:" in store.url)


@pytest.mark.stores("sqlite-file")
def test_without_sources_there_is_nothing_to_do(store: Store, tmp_path: Path) -> None:
    assert duties(Shop(store, tmp_path), Settings(), "worker", "scheduler") == []
