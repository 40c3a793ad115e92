"""A notice when a collection's final status is another one than before, once."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import msgspec
import pytest

from rota.dialects.sync_tasks import notices as module
from rota.dialects.sync_tasks.notices import Notices
from rota.engine.definitions.file import Wanted
from rota.errors import StoreUnavailable
from rota.model.job import FINAL_STATES, Job, JobState
from rota.model.triggers.durations import DAY_MS
from rota.store import Store
from rota.store.contract.jobs import JobQuery
from rota.testing.faults import Faults, away
from tests.cli.calling import RotaProcess, rota
from tests.contract.building import claim_one, fail, finish, log_batch, succeed
from tests.dialects.sync_tasks.source import YAML, Shop, read

URL = "https://hooks.example.org/T0/B0"


def end(shop: Shop, *, well: bool, collection: str = "orders") -> None:
    """A task that ends well or not."""
    shop.clock.advance(1_000)
    shop.tasks.create("shop", collection)
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

    said = [str(job.spec.arguments["text"]).partition(" (")[0] for job in told]
    assert said == ["shop/orders is FAILED, was SUCCESS", "shop/orders is SUCCESS, was FAILED"]
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


class Hook(BaseHTTPRequestHandler):
    """Keeps what is posted."""

    posted: ClassVar[list[tuple[str, object]]] = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.posted.append((self.path, msgspec.json.decode(body)))
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Tests are quiet."""


def test_a_notice_arrives_and_a_collection_may_be_a_request(tmp_path: Path) -> None:
    """With a real node and a real server on the other side."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hook)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    (tmp_path / "rota.yaml").write_text(f"""
http_allow: ["127.0.0.1"]
sync_tasks: {{notify: "{address}/hook"}}
sources:
  shop: {{executor: bash, metadata: {{command: "echo no API >&2; exit 1"}}, collections: [{{name: orders}}]}}
  web: {{executor: http, metadata: {{url: "{address}/sync", method: POST, body: {{a: 1}}}}, collections: [{{name: x}}]}}
""")
    store = f"sqlite:///{tmp_path / 'rota.db'}"
    with RotaProcess(["up", "--port", "0", "--no-demo", "--json", "--store", store], tmp_path) as up:
        up.banner()
        config = str(tmp_path / "rota.yaml")
        assert rota("sync", "shop", "orders", "--wait", "--store", store, "--config", config).exit_code == 1
        assert rota("sync", "web", "x", "--wait", "--store", store, "--config", config).exit_code == 0
        up.until(lambda: len(Hook.posted) == 2, "both requests")
        assert up.stop() == 0
    server.shutdown()
    server.server_close()

    found = dict(Hook.posted)
    assert found["/sync"] == {"a": 1}
    assert str(found["/hook"]).startswith("{'text': 'shop/orders is FAILED, was SUCCESS: no API (shop_orders_")


def test_what_was_told_is_not_told_again_when_history_has_forgotten_the_notice(store: Store, tmp_path: Path) -> None:
    shop = Shop(store, tmp_path, f"{YAML}\nsync_tasks: {{notify: {URL}}}\n")
    told = Notices(shop.engine)
    end(shop, well=False)
    told.run_once(shop.clock.now())
    shop.clock.advance(60_000)
    end(shop, well=True, collection="users")
    told.run_once(shop.clock.now())
    (notice,) = notices(shop)
    finish(store, succeed(claim_one(store, notice.spec.queue, now=shop.clock.now())), now=shop.clock.now())
    assert store.delete_jobs([notice.id]) == [True]

    told.run_once(shop.clock.now())

    assert notices(shop) == []


def test_what_a_store_that_was_away_did_not_take_is_told_later(store: Store, tmp_path: Path) -> None:
    faults = Faults(store)
    shop = Shop(faults.store, tmp_path, f"{YAML}\nsync_tasks: {{notify: {URL}}}\n")
    told = Notices(shop.engine)
    end(shop, well=False)
    shop.clock.advance(60_000)
    end(shop, well=True, collection="users")
    faults.before("enqueue_jobs", away)

    with pytest.raises(StoreUnavailable):
        told.run_once(shop.clock.now())
    told.run_once(shop.clock.now())

    assert len(notices(shop)) == 1


def test_an_end_that_was_told_late_is_told_on(store: Store, tmp_path: Path) -> None:
    """Its node was cut off; another task, which ended after it, was told of before it."""
    shop = Shop(store, tmp_path, f"{YAML}\nsync_tasks: {{notify: {URL}}}\n")
    told = Notices(shop.engine)
    shop.tasks.create("shop", "orders")
    late = fail(claim_one(store, shop.queue, now=shop.clock.now()), shop.clock.now())
    told.run_once(shop.clock.advance(60_000))
    end(shop, well=True, collection="users")
    told.run_once(shop.clock.now())

    finish(store, late, now=shop.clock.now())
    told.run_once(shop.clock.now())

    assert len(notices(shop)) == 1


def test_ends_are_told_when_a_clock_that_was_ahead_is_right_again(store: Store, tmp_path: Path) -> None:
    shop = Shop(store, tmp_path, f"{YAML}\nsync_tasks: {{notify: {URL}}}\n")
    told = Notices(shop.engine)
    shop.clock.advance(DAY_MS)
    end(shop, well=True, collection="users")
    told.run_once(shop.clock.now())

    shop.clock.set(shop.clock.now() - DAY_MS)
    end(shop, well=False)
    told.run_once(shop.clock.now())

    assert len(notices(shop)) == 1


def test_an_end_to_come_by_a_clock_that_was_ahead_is_not_told_again(store: Store, tmp_path: Path) -> None:
    """Though history has forgotten the notice that told of it."""
    shop = Shop(store, tmp_path, f"{YAML}\nsync_tasks: {{notify: {URL}}}\n")
    told = Notices(shop.engine)
    shop.clock.advance(DAY_MS)
    end(shop, well=False)
    told.run_once(shop.clock.now())
    (notice,) = notices(shop)
    store.cancel_jobs([notice.id], now=shop.clock.now())
    assert store.delete_jobs([notice.id]) == [True]

    shop.clock.set(shop.clock.now() - DAY_MS)
    told.run_once(shop.clock.now())

    assert notices(shop) == []


def test_a_task_that_was_brought_back_and_waits_has_no_final_status(store: Store, tmp_path: Path) -> None:
    """What ended after it is compared with what ended before it."""
    shop = Shop(store, tmp_path, f"{YAML}\nsync_tasks: {{notify: {URL}}}\n")
    told = Notices(shop.engine)
    for well in (True, False):
        end(shop, well=well)
        told.run_once(shop.clock.now())
    (failed,) = store.list_jobs(JobQuery(states=frozenset({JobState.FAILED})), limit=10).jobs
    end(shop, well=True)
    shop.engine.jobs.retry(failed.id)

    told.run_once(shop.clock.now())

    assert [str(job.spec.arguments["text"]).partition(" (")[0] for job in notices(shop)] == [
        "shop/orders is FAILED, was SUCCESS"
    ]


def test_what_ended_while_no_scheduler_was_there_is_told_if_it_is_not_older_than_ten_minutes(
    store: Store, tmp_path: Path
) -> None:
    shop = Shop(store, tmp_path, f"{YAML}\nsync_tasks: {{notify: {URL}}}\n")
    end(shop, well=False, collection="users")
    shop.clock.advance(300_000)
    end(shop, well=False)
    shop.clock.advance(590_000)

    Notices(shop.engine).run_once(shop.clock.now())

    assert [str(job.spec.arguments["text"]).partition(" ")[0] for job in notices(shop)] == ["shop/orders"]


def test_an_end_whose_report_is_three_seconds_late_is_told(store: Store, tmp_path: Path) -> None:
    shop = Shop(store, tmp_path, f"{YAML}\nsync_tasks: {{notify: {URL}}}\n")
    told = Notices(shop.engine)
    end(shop, well=True, collection="users")
    told.run_once(shop.clock.now())
    shop.tasks.create("shop", "orders")
    claim = claim_one(store, shop.queue, now=shop.clock.now())
    finish(store, fail(claim, shop.clock.now() - 2_999), now=shop.clock.now())

    told.run_once(shop.clock.now())

    assert len(notices(shop)) == 1


def test_a_notice_has_the_beginning_of_the_last_line(store: Store, tmp_path: Path) -> None:
    shop = Shop(store, tmp_path, f"{YAML}\nsync_tasks: {{notify: {URL}}}\n")
    shop.tasks.create("shop", "orders")
    claim = claim_one(store, shop.queue, now=shop.clock.now())
    store.append_logs([log_batch(claim, "first", "x" * 600, now=shop.clock.now())])
    finish(store, fail(claim, shop.clock.now(), None), now=shop.clock.now())

    Notices(shop.engine).run_once(shop.clock.now())

    (notice,) = notices(shop)
    id = f"shop_orders_{claim.spec.id}"
    assert notice.spec.arguments["text"] == f"shop/orders is FAILED, was SUCCESS: {'x' * 500} ({id})"


def test_more_ends_than_fit_a_page_are_told(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PAGE", 1)
    shop = Shop(store, tmp_path, f"{YAML}\nsync_tasks: {{notify: {URL}}}\n")
    for collection in ("orders", "users"):
        end(shop, well=False, collection=collection)

    Notices(shop.engine).run_once(shop.clock.now())

    assert len(notices(shop)) == 2


def test_who_begins_to_be_told_is_not_told_of_the_whole_past(store: Store, tmp_path: Path) -> None:
    shop = Shop(store, tmp_path)
    told = Notices(shop.engine)
    end(shop, well=False)
    told.run_once(shop.clock.advance(24 * 3_600_000))

    shop.engine.file.apply(Wanted.of(read(tmp_path, f"{YAML}\nsync_tasks: {{notify: {URL}}}\n")))
    told.run_once(shop.clock.now())

    assert notices(shop) == []
