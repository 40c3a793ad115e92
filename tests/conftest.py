"""Fixtures for every test that needs a store. Servers start when the first test asks for them, once per test process.

`store` is a fresh, empty store and runs its test once per kind of store. A test may also ask for `open_again`, and then
runs on those stores only that a second handle can reach.
"""

import gc
import importlib
import os
import pkgutil
import random
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import rota
from rota.store import Store, open_store
from tests.installation import Installation
from tests.process_state import ProcessState
from tests.servers import RedisCluster, RedisServer

STORE_KINDS = ("sqlite-file", "sqlite-memory", "redis", "redis-cluster")
# A database in memory belongs to the handle that opened it: nobody else can open it again, in this process or another.
SHARED_STORE_KINDS = tuple(kind for kind in STORE_KINDS if kind != "sqlite-memory")
NEEDS_A_SHARED_STORE = ("open_again",)

ROOT = Path(__file__).parents[1]
OpenStore = Callable[[], Store]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--shuffle", type=int, metavar="SEED", help="another order, to find tests that depend on it")
    parser.addoption(
        "--hold-up",
        type=int,
        metavar="SEED",
        help="stop processes and threads by chance, to find tests that hang on speed",
    )
    parser.addoption("--one-store", action="store_true", help="each test on the first of its kinds of store only")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    seed: int | None = config.getoption("--shuffle")
    if seed is not None:
        items[:] = _shuffled(items, random.Random(seed))


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """What was collected is there until the end: the collector of garbage need not look at it again and again."""
    gc.freeze()


def _shuffled(items: list[pytest.Item], chance: random.Random) -> list[pytest.Item]:
    """Files in any order, and the tests of each; those of one file stay together, for what they start once."""
    rank_of_file = defaultdict[Path, float](chance.random)
    return sorted(items, key=lambda item: (rank_of_file[item.path], chance.random()))


def pytest_configure(config: pytest.Config) -> None:
    _hear_signals()
    _import_everything()
    _take_time_for_examples()
    config.addinivalue_line("markers", "stores(*kinds): run only on these kinds of store, for a reason given nearby")


def pytest_sessionstart(session: pytest.Session) -> None:
    """With `--hold-up`, of the process that began it all."""
    seed: int | None = session.config.getoption("--hold-up")
    if seed is None or hasattr(session.config, "workerinput"):
        return
    holding = subprocess.Popen([sys.executable, "-m", "tests.holding_up", str(os.getpid()), str(seed)], cwd=ROOT)
    session.config.add_cleanup(lambda: _end(holding))


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    process.wait()


def _hear_signals() -> None:
    """A shell has what it starts in the background ignore INT and QUIT, and `nohup` HUP, and whatever the tests start
    would inherit that. What has a handler here has its default there."""
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else _go_on)


def _import_everything() -> None:
    """What is imported only when it is needed may be needed in a thread. pytest parses our modules itself, since its
    plugin is one of them, and Python 3.11 cannot parse in two threads at once."""
    for module in pkgutil.walk_packages(rota.__path__, "rota."):
        if "django" not in module.name and not module.name.endswith("__main__"):
            importlib.import_module(module.name)


def _take_time_for_examples() -> None:
    """Hypothesis takes a slow machine for a fault of the test, unless it is told."""
    settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("patient")


def _go_on(number: int, frame: object) -> None:
    """As if it were still ignored."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "store_kind" not in metafunc.fixturenames:
        return
    is_shared = any(name in metafunc.fixturenames for name in NEEDS_A_SHARED_STORE)
    kinds = SHARED_STORE_KINDS if is_shared else STORE_KINDS
    marker = metafunc.definition.get_closest_marker("stores")
    chosen = [kind for kind in kinds if marker is None or kind in marker.args]
    if metafunc.config.getoption("--one-store"):
        chosen = chosen[:1]
    metafunc.parametrize("store_kind", chosen, indirect=True)


@pytest.fixture(autouse=True)
def process_is_left_as_it_was() -> Iterator[None]:
    """Whatever order tests have: none finds a zone, a variable or a folder that another one left."""
    before = ProcessState.now()
    yield
    changes = ProcessState.now().changes_since(before)
    assert not changes, f"the test leaves the process changed for the next one: {'; '.join(changes)}"


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    """A single Redis that all tests of this process share."""
    with RedisServer() as server:
        yield server


@pytest.fixture(scope="session")
def redis_cluster() -> Iterator[RedisCluster]:
    """Three primaries that all tests of this process share."""
    with RedisCluster() as cluster:
        yield cluster


@pytest.fixture
def store_kind(request: pytest.FixtureRequest) -> str:
    """Which kind of store the test runs on; chosen in `pytest_generate_tests`."""
    return str(request.param)


@pytest.fixture
def empty_url(store_kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> Callable[[], str]:
    """Empties the place where the store is; returns its address."""
    if store_kind == "sqlite-memory":
        return lambda: "sqlite://:memory:"
    if store_kind == "sqlite-file":
        files = (tmp_path / f"store-{number}.db" for number in range(1_000_000))
        return lambda: f"sqlite:///{next(files)}"
    fixture = {"redis": "redis_server", "redis-cluster": "redis_cluster"}[store_kind]
    server: RedisServer | RedisCluster = request.getfixturevalue(fixture)
    return lambda: _emptied(server)


def _emptied(server: RedisServer | RedisCluster) -> str:
    """Whoever stands still with the machine is not away."""
    server.flush()
    return f"{server.url}?answer_timeout_s=120"


@pytest.fixture
def store_url(empty_url: Callable[[], str]) -> str:
    """The address of an empty store."""
    return empty_url()


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    """An empty store, closed after the test."""
    opened = open_store(store_url)
    yield opened
    opened.close()


@pytest.fixture
def installation(store: Store) -> Installation:
    """An installation on an empty store, whose clock is the real one."""
    return Installation(store)


@pytest.fixture
def open_again(store_url: str) -> Iterator[OpenStore]:
    """Opens further, independent handles on the test's store; they are closed after the test."""
    with ExitStack() as handles:

        def open_one() -> Store:
            handle = open_store(store_url)
            handles.callback(handle.close)
            return handle

        yield open_one


@pytest.fixture
def fresh_store(empty_url: Callable[[], str]) -> OpenStore:
    """Opens an empty store at each call, for tests that need many in a row; the caller closes it."""
    return lambda: open_store(empty_url())
