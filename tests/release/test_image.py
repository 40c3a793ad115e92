"""The container image, as far as it can be tried without a builder: what its Dockerfile copies and what it runs."""

import fnmatch
import re
import shlex
import signal
import subprocess
from pathlib import Path
from typing import Any

import yaml

from rota.settings.fields import FIELDS
from tests.cli.calling import RotaProcess
from tests.ports import free_port
from tests.release.conftest import Release
from tests.release.environment import ROOT
from tests.servers import RedisServer

_OF_THE_BUILDER = "--from=build"


def instructions() -> list[tuple[str, str]]:
    """The instructions of the Dockerfile, and what follows each."""
    text = re.sub(r"\\\n\s*", "", (ROOT / "Dockerfile").read_text())
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(name, rest) for name, _, rest in (line.partition(" ") for line in lines)]


def of(instruction: str) -> list[str]:
    return [rest for name, rest in instructions() if name == instruction]


def words_of(instruction: str) -> list[str]:
    """The words of an instruction in its exec form."""
    found: list[str] = yaml.safe_load(re.sub(r"^.*?(?=\[)", "", of(instruction)[-1]))
    return found


def variables() -> dict[str, str]:
    return dict(word.split("=", 1) for word in shlex.split(of("ENV")[-1]))


def compose() -> Any:
    return yaml.safe_load((ROOT / "compose.yaml").read_text())


def test_everything_that_is_copied_is_there_and_reaches_the_builder() -> None:
    ignored = (ROOT / ".dockerignore").read_text().split("\n")
    let_through = [line[1:] for line in ignored if line.startswith("!")]

    for words in map(str.split, of("COPY")):
        for source in [] if words[0] == _OF_THE_BUILDER else words[:-1]:
            assert (ROOT / source).exists(), source
            assert any(fnmatch.fnmatch(source, pattern) for pattern in let_through), source


def test_it_runs_as_a_user_without_rights_in_a_folder_of_its_own() -> None:
    last_stage = instructions()[max(n for n, (name, _) in enumerate(instructions()) if name == "FROM") :]

    user = next(rest for name, rest in last_stage if name == "USER")
    assert int(user) > 0
    assert f"--uid {user}" in last_stage[1][1]
    assert of("WORKDIR")[-1] == of("VOLUME")[-1] == "/data"
    assert variables()["ROTA_STORE"] == "sqlite:////data/rota.db"


def test_what_it_starts_serves_everybody_is_healthy_and_stops(release: Release, tmp_path: Path) -> None:
    own = {**variables(), "ROTA_PORT": str(free_port()), "ROTA_STORE": f"sqlite:///{tmp_path}/rota.db"}
    path = own.pop("PATH").replace("/opt/rota/bin", str(release.programs)).replace("$PATH", "/usr/bin:/bin")
    check = [f"{release.programs}/{words_of('HEALTHCHECK')[0]}", *words_of("HEALTHCHECK")[1:]]

    def is_healthy() -> bool:
        return subprocess.run(check, env={"ROTA_PORT": own["ROTA_PORT"]}, capture_output=True).returncode == 0

    assert not is_healthy()
    words, program = [*words_of("ENTRYPOINT")[1:], *words_of("CMD")], release.programs / words_of("ENTRYPOINT")[0]
    with RotaProcess([*words, "--json"], tmp_path, program, PATH=path, **own) as up:
        banner = up.banner()
        assert own["ROTA_HOST"] == "0.0.0.0"
        assert banner["api_key"], "nothing but a key that was made here opens a server that others can reach"
        up.until(is_healthy, "it to be healthy")
        assert up.stop(getattr(signal, of("STOPSIGNAL")[-1])) == 0


def test_compose_starts_every_role_on_a_redis_that_keeps_everything(release: Release, tmp_path: Path) -> None:
    services = compose()["services"]
    redis = services.pop("redis")["command"][1:]
    services = {name: service for name, service in services.items() if "profiles" not in service}
    options = {name.removeprefix("--"): value for name, value in zip(redis[::2], redis[1::2], strict=True)}
    own = {"ROTA_HOST": "127.0.0.1", "ROTA_PORT": "0", "ROTA_API_KEY": "a key for this test only"}

    with RedisServer(options) as server:
        for name, service in services.items():
            settings = service["environment"]
            store = settings["ROTA_STORE"].replace("redis:6379", f"127.0.0.1:{server.port}")
            given = {**settings, **own, "ROTA_STORE": store}
            with RotaProcess([*service["command"], "--json"], tmp_path, release.programs / "rota", **given) as process:
                assert process.banner()["roles"] == [name]
                assert process.stop() == 0


def test_compose_sets_only_variables_that_rota_knows_and_gives_jobs_time_to_end() -> None:
    for name, service in compose()["services"].items():
        if name not in ("redis", "kafka"):
            assert {one.removeprefix("ROTA_").lower() for one in service["environment"]} <= set(FIELDS)
            assert int(service["stop_grace_period"].removesuffix("s")) > 25
            (needed,) = service["depends_on"].items()
            assert needed == ("kafka" if name == "light" else "redis", {"condition": "service_healthy"})


def test_compose_has_a_light_scheduler_on_kafka_that_nobody_gets_unasked() -> None:
    services = compose()["services"]
    kafka, light = services["kafka"], services["light"]

    assert kafka["profiles"] == light["profiles"] == ["kafka"]
    assert kafka["environment"]["KAFKA_ADVERTISED_LISTENERS"] == f"PLAINTEXT://{light['environment']['ROTA_KAFKA']}"
    pinned = (ROOT / light["build"]["args"]["LOCK"]).read_text()
    assert "confluent-kafka==" in pinned
    assert "redis==" in pinned
