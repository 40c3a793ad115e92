"""A node under attack: it answers `/health` and beats while the attack goes on, and does not grow.

The times are printed (`pytest -s`) and recorded in `docs/security.md`. What is judged is what a slow machine does not
change: the CPU time that the server gives to an attack before it answers, and the dead time.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median

import pytest

from rota.model.node import DEAD_AFTER_MS
from rota.store import open_store
from tests.cli.calling import RotaProcess, environment
from tests.seeds.curling import Curl
from tests.server.attacks.watching import Seen, Watcher, memory_of
from tests.server.gate.raw_http import Server
from tests.servers import RedisServer, wait_until

MIB = 1024 * 1024
MOST_GROWTH = {
    "zeros": 384 * MIB,
    "stars": 64 * MIB,
    "heads": 64 * MIB,
    "halves": 64 * MIB,
    "pipelined": 64 * MIB,
    "crumbs": 64 * MIB,
    "unread": 384 * MIB,
}
"""Each attack, and how many bytes the process may grow meanwhile."""
LEAST_CPU_MS, MEDIAN_CPU_MS = 400, 4_000
"""What the server may do for others between a question and its answer: in the best cases, where a question finds at
most some rounds of the attack before it, of 100 ms each, and in the middle. The busier the machine is, the more rounds
there are while the watcher waits for a core."""
LINES = "i=0; while [ $i -lt 300 ]; do echo {}; i=$((i+1)); done".format("x" * 30_000)


class House:
    """`rota up` on a store, with what the attacks need: a glob of many stars, and a job with a long log."""

    def __init__(self, process: RotaProcess, url: str) -> None:
        banner = process.banner()
        self.up = Server(banner["address"], banner["api_key"])
        self.pid = process.process.pid
        self.store = open_store(url)
        self.watcher = Watcher(self.up, self.pid, self.store)
        curl = Curl(banner["address"], banner["api_key"])
        stars = {"type": "FILE", "resourceId": "*a" * 30, "match": "glob", "lifeDuration": 60}
        curl.post("/api/configurations", {"name": "stars", "dependencies": [stars]})
        curl.post("/api/job_types", {"name": "long", "executor": "bash", "metadata": {"command": LINES}})
        self.job = curl.post("/api/jobs", {"job_type_uuid": "long"})["uuid"]
        wait_until(
            lambda: curl.get(f"/api/jobs/{self.job}")["state"] == "succeeded", "the end of the job with a long log"
        )

    @contextmanager
    def attacked(self, attack: str) -> Iterator[subprocess.Popen[str]]:
        words = [attack, str(self.up.port), self.up.key, self.job]
        attackers = subprocess.Popen(
            [sys.executable, "-m", "tests.server.attacks.attackers_main", *words],
            stdout=subprocess.PIPE,
            text=True,
            env=environment(),
        )
        try:
            yield attackers
        finally:
            attackers.kill()
            attackers.communicate()


@pytest.fixture(scope="module", params=["sqlite", "redis"])
def house(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    folder = tmp_path_factory.mktemp("house")
    url = f"sqlite:///{folder / 'rota.db'}"
    if request.param == "redis":
        server: RedisServer = request.getfixturevalue("redis_server")
        server.flush()
        url = server.url
    words = ["up", "--no-demo", "--port", "0", "--json", "--store", url]
    with RotaProcess(words, folder, ROTA_MAX_CONNECTIONS="100", ROTA_RATE_LIMIT="0") as process:
        made = House(process, url)
        yield made
        made.store.close()
        assert process.stop() == 0
        assert process.log_errors() == []
        assert not [line for line in process.log_lines() if "dead" in line["message"]]


def is_enough(seen: Seen) -> bool:
    return len(seen.answers) >= 30 and len(seen.beats) >= 2


@pytest.mark.parametrize("attack", MOST_GROWTH)
def test_a_node_answers_and_beats_while_it_is_attacked(house: House, attack: str) -> None:
    before = memory_of(house.pid)

    with house.attacked(attack) as attackers:
        assert attackers.stdout is not None
        assert attackers.stdout.readline() == "a round\n"
        seen = house.watcher.watch(is_enough)
        assert attackers.poll() is None, "the attack went on all the time"

    print(f"\n{attack}: {seen}, {before // MIB} MiB before")
    # While the watcher itself is held up, the attack goes on and counts: a fault shows in all answers.
    assert sorted(seen.spent)[2] < LEAST_CPU_MS
    assert median(seen.spent) < MEDIAN_CPU_MS
    assert seen.longest_silence < DEAD_AFTER_MS
    assert seen.memory - before < MOST_GROWTH[attack]
