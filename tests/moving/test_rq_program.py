"""A program of RQ's, with its imports changed and nothing else, and `rota worker` in place of `rq worker`."""

from pathlib import Path

from tests.cli.calling import RotaProcess
from tests.moving.moved import changed_lines, move, run
from tests.servers import RedisServer

PROGRAM = "rq_main.py.txt"
SAID = """\
plain finished 3
named finished 2
explicit finished 4
later finished 1
at finished 2
stubborn finished done
failing failed None
told finished 1
after finished 4
anyway finished 3
words-1 2 True default
True
words.count 1
True 1 9
None HERE
"""


def test_a_program_of_rq_s_runs_with_its_imports_changed(folder: Path, redis_server: RedisServer) -> None:
    redis_server.flush()
    move("rq_words.py.txt", "rq", folder, "words.py")
    moved = move(PROGRAM, "rq", folder, "main.py")
    assert all("import" in line for line in changed_lines(PROGRAM, moved))

    with RotaProcess(["worker", "main:q"], folder, REDIS_URL=redis_server.url) as worker:
        worker.until_said("node")
        said = run(folder, "main.py", REDIS_URL=redis_server.url)
        assert worker.stop() == 0

    assert said == SAID
