"""A program of arq's, with its imports changed and nothing else, and `rota worker` in place of `arq`."""

from pathlib import Path

from rota import Rota
from tests.cli.calling import RotaProcess
from tests.moving.moved import changed_lines, move, run
from tests.servers import RedisServer

PROGRAM = "arq_shop.py.txt"
SAID = """\
None
hello ada from the shop at try 1
hi bob from the shop at try 1
hello eve from the shop at try 1
3
True
LookupError no
deferred not_found
"""


def test_a_program_of_arq_s_runs_with_its_imports_changed(folder: Path, redis_server: RedisServer) -> None:
    redis_server.flush()
    moved = move(PROGRAM, "arq", folder, "shop.py")
    assert all("import" in line for line in changed_lines(PROGRAM, moved))
    variables = {"REDIS_URL": redis_server.url, "ENDED": str(folder / "ended")}

    with RotaProcess(["worker", "shop:WorkerSettings"], folder, **variables) as worker:
        worker.until_said("node")
        said = run(folder, "shop.py", **variables)
        assert worker.stop() == 0

    assert said == SAID
    assert (folder / "ended").read_text() == "the shop"
    with Rota(redis_server.url) as app:
        schedules = app.engine.store.list_schedules(limit=10).entries
        assert [(one.schedule.name, one.schedule.trigger.cron) for one in schedules] == [  # type: ignore[union-attr]
            ("cron:nightly", "0 30 2,14 * * mon")
        ]
