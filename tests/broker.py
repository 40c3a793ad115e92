"""A real Kafka broker for tests: on 127.0.0.1, on free ports, in a folder of its own, with 512 MiB.

Its jars are in `ROTA_TEST_KAFKA` or `KAFKA_HOME`, as scripts/ensure-kafka finds them. `KAFKA_BOOTSTRAP` names brokers
that run already, and then none is started.
"""

import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self
from uuid import uuid4

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from tests.ports import HOST, free_port
from tests.servers import ServerError, wait_until

# Java on a loaded machine takes its time to start.
_START_S = 180.0
_HEAP = "512m"
ACCOUNT = ("rota", "only-for-tests")
"""Name and password."""
_LOGIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
_CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qk"


def kafka_home() -> Path | None:
    """Where the jars are; None without any."""
    found = os.environ.get("ROTA_TEST_KAFKA") or os.environ.get("KAFKA_HOME")
    return Path(found) if found and shutil.which("java") else None


class KafkaBroker:
    """One process that is broker and controller; or another broker beside the one that it is told to join."""

    def __init__(self, home: Path, *, joins: "KafkaBroker | None" = None) -> None:
        self._home = home
        self._folder: Path | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._joins = joins
        self.port = 0
        self.controller_port = 0
        self._guarded_port = 0
        self.gated_port = 0
        self.gate_port = 0
        """Whoever connects to the gated port is sent to this one, where a test may listen."""

    def beside(self) -> "KafkaBroker":
        """A second broker of the same cluster, for whoever enters it. Its id is 2."""
        return KafkaBroker(self._home, joins=self)

    @property
    def bootstrap(self) -> str:
        return f"{HOST}:{self.port}"

    @property
    def guarded(self) -> str:
        """Where it asks for an account; there is one, `ACCOUNT`. Elsewhere nobody is asked, and all is allowed."""
        return f"{HOST}:{self._guarded_port}"

    @property
    def pid(self) -> int:
        if self._process is None:
            raise ServerError("this broker is not running")
        return self._process.pid

    def __enter__(self) -> Self:
        self._folder = Path(tempfile.mkdtemp(prefix="rota-test-kafka-"))
        self.port = free_port()
        self._guarded_port = free_port()
        self.gated_port, self.gate_port = free_port(), free_port()
        self.controller_port = self._joins.controller_port if self._joins else free_port()
        self._configuration.write_text("".join(f"{line}\n" for line in self._config_lines()))
        subprocess.run(
            [*self._java(), "kafka.tools.StorageTool", "format", "-t", _CLUSTER_ID, "-c", str(self._configuration)],
            check=True,
            capture_output=True,
            timeout=_START_S,
        )
        self.start()
        if self._joins is None:
            wait_until(lambda: _knows_groups(self.bootstrap), "Kafka to know of groups", deadline_s=_START_S)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill9()
        shutil.rmtree(self._in_folder(""), ignore_errors=True)

    def start(self) -> None:
        """Start it with the port and the files that it had before."""
        with self._in_folder("broker.log").open("ab") as log:
            self._process = subprocess.Popen(
                [*self._java(), "kafka.Kafka", str(self._configuration)],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
            )
        wait_until(self._is_ready, f"Kafka on port {self.port} to answer", deadline_s=_START_S)

    def stop(self) -> None:
        """Let it leave its cluster, which knows at once then."""
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(signal.SIGTERM)
            process.wait(_START_S)

    def kill9(self) -> None:
        """Kill it without warning; its files and its port stay for `start`."""
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(signal.SIGKILL)
            process.wait()

    def _java(self) -> list[str]:
        log = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
        memory = [f"-Xmx{_HEAP}", f"-Xms{_HEAP}", "-XX:+UseSerialGC"]
        # A broker lives for a minute or two: to compile what it does often as well as can be would not pay.
        return ["java", *memory, "-XX:TieredStopAtLevel=1", log, "-cp", f"{self._home}/libs/*"]

    @property
    def _configuration(self) -> Path:
        return self._in_folder("server.properties")

    def _in_folder(self, name: str) -> Path:
        if self._folder is None:
            raise ServerError("this broker is not running")
        return self._folder / name

    def _config_lines(self) -> list[str]:
        mine = f"PLAINTEXT://{HOST}:{self.port},GUARDED://{HOST}:{self._guarded_port}"
        gated, gate = f",GATED://{HOST}:{self.gated_port}", f",GATED://{HOST}:{self.gate_port}"
        controller = "" if self._joins else f",CONTROLLER://{HOST}:{self.controller_port}"
        return [
            f"process.roles=broker{'' if self._joins else ',controller'}",
            f"node.id={2 if self._joins else 1}",
            f"controller.quorum.voters=1@{HOST}:{self.controller_port}",
            f"listeners={mine}{gated}{controller}",
            f"advertised.listeners={mine}{gate}",
            "controller.listener.names=CONTROLLER",
            "listener.security.protocol.map="
            "PLAINTEXT:PLAINTEXT,GUARDED:SASL_PLAINTEXT,GATED:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "listener.name.guarded.sasl.enabled.mechanisms=PLAIN",
            f'listener.name.guarded.plain.sasl.jaas.config={_LOGIN_MODULE} required user_{ACCOUNT[0]}="{ACCOUNT[1]}";',
            # The account may do what no rule forbids.
            "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users=User:ANONYMOUS",
            "allow.everyone.if.no.acl.found=true",
            f"log.dirs={self._in_folder('logs')}",
            "offsets.topic.num.partitions=4",
            "offsets.topic.replication.factor=1",
            "transaction.state.log.num.partitions=4",
            "transaction.state.log.replication.factor=1",
            "transaction.state.log.min.isr=1",
            # Members of a group come one by one; waiting for more only makes tests slow.
            "group.initial.rebalance.delay.ms=0",
            "group.min.session.timeout.ms=1000",
            "auto.create.topics.enable=false",
            "log.cleaner.dedupe.buffer.size=16777216",
        ]

    def _is_ready(self) -> bool:
        if self._process is None or self._process.poll() is not None:
            raise ServerError(f"Kafka ended at once:\n{self._in_folder('broker.log').read_text()[-2000:]}")
        return _answers(self.bootstrap)


def _answers(bootstrap: str) -> bool:
    try:
        return bool(_admin(bootstrap).list_topics(timeout=10).brokers)
    except KafkaException:
        return False


def _knows_groups(bootstrap: str) -> bool:
    """The first question after a group has it make the topic in which it keeps them, and that takes its time."""
    admin = _admin(bootstrap)  # to be kept: without it there is no answer
    asked = admin.describe_consumer_groups(["nobody"], request_timeout=5)
    return all(answer.exception() is None for answer in asked.values())


def _admin(bootstrap: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": bootstrap, "log_level": 0, "client.id": f"test-{uuid4()}"})
