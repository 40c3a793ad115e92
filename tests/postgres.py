"""A real PostgreSQL for tests: on 127.0.0.1, on a free port, in a folder of its own.

Its programs are in `ROTA_TEST_POSTGRES`, as scripts/ensure-postgres finds them, or on the PATH. It refuses to run as
root, so root runs it as `nobody`.
"""

import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psycopg

from tests.ports import HOST, free_port
from tests.servers import ServerError, wait_until

_START_S = 120.0


def postgres_programs() -> Path | None:
    """The folder with the programs; None without any."""
    named = os.environ.get("ROTA_TEST_POSTGRES")
    if named:
        return Path(named)
    found = shutil.which("initdb") if shutil.which("postgres") else None
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return Path(found).parent if found else (installed[-1].parent if installed else None)


class PostgresServer:
    """One server process."""

    def __init__(self, programs: Path) -> None:
        self._programs = programs
        self._process: subprocess.Popen[bytes] | None = None
        self._folder = Path()
        self._log = Path()
        self.port = 0

    @property
    def address(self) -> str:
        """For `psycopg.connect`."""
        return f"host={HOST} port={self.port} user=rota dbname=postgres"

    def __enter__(self) -> Self:
        self._folder = Path(tempfile.mkdtemp(prefix="rota-test-postgres-"))
        self._log = self._folder / "log"
        if os.getuid() == 0:
            shutil.chown(self._folder, "nobody", "nogroup")
        self._make_cluster()
        self._start()
        return self

    def _make_cluster(self) -> None:
        words = [
            "-D",
            str(self._folder / "data"),
            "-U",
            "rota",
            "-A",
            "trust",
            "-E",
            "UTF8",
            "--no-sync",
            "--no-locale",
        ]
        done = subprocess.run(
            [str(self._programs / "initdb"), *words], capture_output=True, cwd=self._folder, check=False, **_as_nobody()
        )
        if done.returncode:
            raise ServerError(f"initdb failed: {done.stderr.decode(errors='replace')[-2_000:]}")

    def _start(self) -> None:
        self.port = free_port()
        words = ["-D", str(self._folder / "data"), "-h", HOST, "-p", str(self.port), "-k", str(self._folder), "-F"]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [str(self._programs / "postgres"), *words], stdout=log, stderr=log, cwd=self._folder, **_as_nobody()
            )
        wait_until(self._answers, f"PostgreSQL on port {self.port} to answer", deadline_s=_START_S)

    def _answers(self) -> bool:
        assert self._process is not None
        if self._process.poll() is not None:
            raise ServerError(f"PostgreSQL ended: {self._log.read_text(errors='replace')[-2_000:]}")
        try:
            psycopg.connect(self.address).close()
        except psycopg.OperationalError:
            return False
        return True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait(timeout=_START_S)
        shutil.rmtree(self._folder, ignore_errors=True)


def _as_nobody() -> dict[str, Any]:
    return {"user": "nobody", "group": "nogroup", "extra_groups": []} if os.getuid() == 0 else {}
