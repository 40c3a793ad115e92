"""A real Sidekiq for tests: Ruby's own program, on a Redis of its own, with a few classes to run.

A machine without Sidekiq is an error, as with the other servers; `scripts/ensure-sidekiq` installs it.
"""

import os
import shutil
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import redis

from tests.servers import RedisServer, ServerError, wait_until

REPORT = Path(__file__).parents[4] / "contrib" / "sidekiq" / "rota_report.rb"
CLASSES = """
require "sidekiq"
require "sidekiq/launcher"
if Sidekiq::Launcher.const_defined?(:BEAT_PAUSE) # a heartbeat every five seconds would make for slow tests
  Sidekiq::Launcher.send(:remove_const, :BEAT_PAUSE)
  Sidekiq::Launcher.const_set(:BEAT_PAUSE, 0.5)
end
module Billing
  class WriteFile
    include Sidekiq::Worker
    def perform(path, content) = File.write(path, content.to_json)
  end
end
class Fail
  include Sidekiq::Worker
  def perform = raise(ArgumentError, "no such invoice")
end
class Wait
  include Sidekiq::Worker
  def perform(begun, awaited)
    File.write(begun, "")
    sleep 0.02 until File.exist?(awaited)
  end
end
"""


def find_sidekiq() -> str:
    """The program to run: ROTA_TEST_SIDEKIQ, then the PATH."""
    found = shutil.which(os.environ.get("ROTA_TEST_SIDEKIQ") or "sidekiq")
    if not found:
        raise ServerError("no Sidekiq for the tests: run scripts/ensure-sidekiq, or name one in ROTA_TEST_SIDEKIQ")
    return found


class SidekiqServer:
    """A Sidekiq process that serves the queue `default`; `folder` is where its files go."""

    def __init__(self, folder: Path) -> None:
        self._redis_server = RedisServer()
        self._process: subprocess.Popen[bytes] | None = None
        self._log = folder / "sidekiq.log"
        self.app = folder / "app.rb"
        self.app.write_text(f'{CLASSES}\nrequire "{REPORT}"\n')

    @property
    def url(self) -> str:
        return self._redis_server.url

    @property
    def redis(self) -> Any:
        return redis.Redis.from_url(self.url)

    def __enter__(self) -> Self:
        self._redis_server.start()
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [find_sidekiq(), "-r", str(self.app), "-c", "4", "-q", "default", "-t", "2"],
                env={**os.environ, "REDIS_URL": self.url},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        try:
            wait_until(self._is_ready, "Sidekiq to show its heartbeat")
        except ServerError:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
        self._redis_server.stop()

    def _is_ready(self) -> bool:
        assert self._process is not None
        if self._process.poll() is not None:
            raise ServerError(f"Sidekiq ended at once:\n{self._log.read_text(errors='replace')[-2000:]}")
        with self.redis as client:
            return any(client.hget(name, "beat") for name in client.smembers("processes"))
