"""Apps in programs of their own, as users start them: workers, scripts, forks."""

import subprocess
import sys
from pathlib import Path

import pytest

import rota as rota_package
from rota import Rota
from rota.store.contract.jobs import JobQuery
from tests.cli.calling import Answer, RotaProcess, environment
from tests.cli.test_help import HEAVY
from tests.patience import LONG_DEADLINE_S
from tests.servers import RedisServer

TASKS = """
from rota import Rota, current_job

app = Rota("sqlite:///rota.db")
other = Rota()


@app.task(every=0.1)
async def tick() -> str:
    return str(current_job().scheduled_for)


@app.task
def add(a: int, b: int) -> int:
    return a + b
"""


RESULTS = """
from shop import app
from rota.store.contract.jobs import JobQuery
for job in app.engine.store.list_jobs(JobQuery(), limit=9).jobs:
    print(job.results)
"""


@pytest.fixture
def folder(folder: Path) -> Path:
    """With a module of tasks."""
    (folder / "shop.py").write_text(TASKS)
    return folder


def python(folder: Path, *words: str) -> str:
    """What a Python program prints that must end well."""
    ended = subprocess.run(
        [sys.executable, *words], cwd=folder, capture_output=True, text=True, env=environment(), timeout=LONG_DEADLINE_S
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def rota(folder: Path, *words: str) -> Answer:
    """What a command says."""
    ended = subprocess.run(
        [sys.executable, "-m", "rota", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        env=environment(),
        timeout=LONG_DEADLINE_S,
    )
    return Answer(ended.returncode, ended.stdout, ended.stderr)


def test_a_worker_of_an_app_runs_its_tasks_and_fires_their_schedules(folder: Path) -> None:
    with RotaProcess(["worker", "shop:app"], folder) as worker:
        worker.until_said("node")
        said = python(folder, "-c", "from shop import add; print(add.enqueue(2, b=3).get(timeout=60))")
        with Rota(f"sqlite:///{folder / 'rota.db'}") as app:
            worker.until(lambda: ticks(app) >= 2, "the task to run by itself")
        assert worker.stop() == 0

    assert said == "5\n"


def ticks(app: Rota) -> int:
    """Jobs of the schedule that succeeded."""
    query = JobQuery(schedule=app.engine.schedules.find("shop.tick").schedule.uuid)
    return sum(job.results is not None for job in app.engine.store.list_jobs(query, limit=10).jobs)


def test_a_worker_of_an_app_ends_with_its_jobs_in_a_burst(folder: Path) -> None:
    python(folder, "-c", "from shop import add; print(add.enqueue(2, b=3).id)")

    answer = rota(folder, "worker", "shop", "--burst", "--json")  # `app` is the name that is looked for

    assert (answer.exit_code, answer.stderr) == (0, "")
    assert answer.json["roles"] == ["worker"]  # a scheduler would make new jobs
    assert python(folder, "-c", RESULTS) == "5\n"


def test_the_store_of_the_command_goes_before_the_app_s_own(folder: Path, redis_server: RedisServer) -> None:
    redis_server.flush()

    assert rota(folder, "worker", "shop:app", "--burst", "--store", redis_server.url).exit_code == 0

    assert not (folder / "rota.db").exists()
    with Rota(redis_server.url) as app:
        assert {one.name for one in app.engine.definitions.job_types()} == {"shop.add", "shop.tick"}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("shoop:app", "app: 'shoop:app': there is no module 'shoop' here"),
        ("shop:ap", "app: 'shop:ap': the module 'shop' has no app 'ap'; it has app, other"),
        ("json", "it has none; make one with app = Rota(url)"),
        ("depot.tasks:app", "app: 'depot.tasks:app': importing 'depot.tasks' failed: ImportError: cannot import name"),
        ("depot:app", "app: 'depot:app': the module 'depot' has no app 'app'"),
        ("depot.broken", "importing 'depot.broken' failed: NameError: name 'shelf' is not defined"),
        (":app", "importing '' failed: ValueError"),
    ],
)
def test_an_app_that_is_not_there_is_an_error_that_says_so(folder: Path, name: str, message: str) -> None:
    (folder / "depot").mkdir()
    (folder / "depot/__init__.py").touch()
    (folder / "depot/tasks.py").write_text("from depot import shelf\n")
    (folder / "depot/broken.py").write_text("shelf\n")

    answer = rota(folder, "worker", name)

    assert answer.exit_code == 2
    assert message in answer.stderr


def test_any_worker_finds_the_function_of_a_task(folder: Path) -> None:
    python(folder, "-c", "from shop import add; add.enqueue(2, b=3)")

    assert rota(folder, "worker", "--burst").exit_code == 0

    assert python(folder, "-c", RESULTS) == "5\n"


SCRIPT = """
from rota import Rota

app = Rota("sqlite:///rota.db")
print("loaded")


@app.task
def add(a: int, b: int) -> int:
    return a + b


handle = add.enqueue(2, 3)
app.run_worker(burst=True)
print(app, add, handle.result)
"""


def test_a_script_runs_its_own_tasks_and_is_not_imported_again(folder: Path) -> None:
    (folder / "script.py").write_text(SCRIPT)

    assert python(folder, "script.py") == "loaded\n<app 'script'> <task 'script.add'> 5\n"


FORK = """
import os
from shop import add, app

add.enqueue(1, 1)
parents = app.engine
child = os.fork()
if child == 0:
    add.enqueue(2, 2)
    is_own = app.engine is not parents
    app.close()
    os._exit(0 if is_own else 1)
print(os.waitpid(child, 0)[1])
add.enqueue(3, 3)
app.run_worker(burst=True)
"""


def test_a_forked_process_has_connections_of_its_own(folder: Path) -> None:
    assert python(folder, "-c", FORK) == "0\n"

    assert sorted(python(folder, "-c", RESULTS).split()) == ["2", "4", "6"]


@pytest.mark.parametrize("program", ["import rota", "from rota import Handle, Rota; Rota('sqlite:///rota.db')"])
def test_importing_rota_loads_nothing_that_takes_long(folder: Path, program: str) -> None:
    heavy = [name for name in HEAVY if name != "msgspec" or program == "import rota"]

    said = python(folder, "-c", f"import sys\n{program}\nprint([name for name in {heavy!r} if name in sys.modules])")

    assert said == "[]\n"


def test_names_of_the_package_are_found_when_they_are_used(folder: Path) -> None:
    said = python(
        folder, "-c", "import rota\nfrom rota import *\nprint(all(getattr(rota, n) for n in dir(rota)))\nRota"
    )

    assert said == "True\n"
    with pytest.raises(AttributeError, match="no attribute 'Rotaa'"):
        _ = rota_package.Rotaa  # type: ignore[attr-defined]
