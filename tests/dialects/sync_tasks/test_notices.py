"""A notice when a collection's final status is another one than before, once."""

from pathlib import Path

from rota.dialects.sync_tasks.notices import Notices
from rota.model.job import FINAL_STATES, Job
from rota.store import Store
from rota.store.jobs import JobQuery
from tests.contract.building import claim_one, fail, finish, succeed
from tests.dialects.sync_tasks.source import YAML, Shop

URL = "https://hooks.example.org/T0/B0"


def end(shop: Shop, *, well: bool) -> None:
    """A task that ends well or not, and a round of two schedulers."""
    shop.clock.advance(1_000)
    shop.tasks.create("shop", "orders")
    claim = claim_one(shop.store, shop.queue, now=shop.clock.now())
    settle = succeed if well else fail
    finish(shop.store, settle(claim, shop.clock.now()), now=shop.clock.now())


def notices(shop: Shop) -> list[Job]:
    default = shop.engine.definitions.node_type("default").uuid
    found = shop.store.list_jobs(JobQuery(queue=default), limit=100).jobs
    assert not any(job.state in FINAL_STATES for job in found)
    return sorted(found, key=lambda job: job.id)


def test_a_change_of_the_final_status_is_told_once(store: Store, tmp_path: Path) -> None:
    shop = Shop(store, tmp_path, f"{YAML}\nsync_tasks: {{notify: {URL}}}\n")
    schedulers = [Notices(shop.engine), Notices(shop.engine)]
    for well in (True, True, False, False, True):
        end(shop, well=well)
        for one in schedulers:
            one.run_once(shop.clock.now())
    Notices(shop.engine).run_once(shop.clock.now())  # after a restart

    told = notices(shop)

    assert [job.spec.arguments["status"] for job in told] == ["FAILED", "SUCCESS"]
    assert str(told[0].spec.arguments["text"]).startswith("shop/orders is FAILED, was SUCCESS")
    job_type = shop.engine.definitions.job_type(told[0].spec.job_type)
    assert (job_type.executor, job_type.metadata["url"]) == ("http", URL)


def test_without_a_url_nobody_is_told(store: Store, tmp_path: Path) -> None:
    shop = Shop(store, tmp_path)
    end(shop, well=False)

    Notices(shop.engine).run_once(shop.clock.now())

    assert notices(shop) == []


def test_a_source_may_have_its_own_url(store: Store, tmp_path: Path) -> None:
    shop = Shop(store, tmp_path, YAML.replace("    executor: bash", f"    notify: {URL}\n    executor: bash"))
    end(shop, well=False)

    Notices(shop.engine).run_once(shop.clock.now())

    assert len(notices(shop)) == 1
