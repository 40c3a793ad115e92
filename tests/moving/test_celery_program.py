"""A program of Celery's, with its imports changed and nothing else, and `rota worker` in place of `celery worker`."""

from pathlib import Path

from rota import Rota
from tests.cli.calling import RotaProcess
from tests.moving.moved import changed_lines, move, run
from tests.servers import RedisServer

PROGRAM = "celery_shop.py.txt"
SAID = """\
delay 5
apply_async ada: hi
eta 2
flaky 2
chain 17
group [0, 2, 4]
chord 6
chains [11, 12]
soft as far as it came
SUCCESS True True
KeyError FAILURE True
ValueError FAILURE True
7 True
42
"""


def test_a_program_of_celery_s_runs_with_its_imports_changed(folder: Path, redis_server: RedisServer) -> None:
    redis_server.flush()
    moved = move(PROGRAM, "celery", folder, "shop.py")
    assert all("import" in line for line in changed_lines(PROGRAM, moved))

    variables = {"REDIS_URL": redis_server.url, "REPORTS": str(folder / "reports")}
    with RotaProcess(["worker", "shop:app"], folder, **variables) as worker:
        worker.until_said("node")
        said = run(folder, "shop.py", **variables)
        assert worker.stop() == 0

    assert said == SAID
    with Rota(redis_server.url) as app:
        schedules = app.engine.store.list_schedules(limit=10, cursor=None, job_type=None).entries
    assert {one.schedule.name: one.schedule.arguments for one in schedules} == {
        "nightly": {"x": 16, "y": 16},
        "often": {"x": 1, "y": 2},
    }
