"""A program of Dramatiq's, with its imports changed and nothing else, and `rota worker` in place of `dramatiq`."""

from pathlib import Path

from tests.cli.calling import RotaProcess
from tests.moving.moved import changed_lines, move, run
from tests.servers import RedisServer

PROGRAM = "dramatiq_shop.py.txt"
SAID = """\
5
3
done
KeyError
missing
113
6
[0, 2, 4]
6
"""


def test_a_program_of_dramatiq_s_runs_with_its_imports_changed(folder: Path, redis_server: RedisServer) -> None:
    redis_server.flush()
    moved = move(PROGRAM, "dramatiq", folder, "shop.py")
    assert all("import" in line for line in changed_lines(PROGRAM, moved))

    with RotaProcess(["worker", "shop:broker"], folder, REDIS_URL=redis_server.url) as worker:
        worker.until_said("node")
        said = run(folder, "shop.py", REDIS_URL=redis_server.url)
        assert worker.stop() == 0

    assert said == SAID
