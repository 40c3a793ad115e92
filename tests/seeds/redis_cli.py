"""Speaks to a Redis server as a person does: with redis-cli, or the driver where that is not installed."""

import shutil
import subprocess
from collections.abc import Mapping
from uuid import uuid4

import msgspec

from tests.ports import HOST
from tests.servers import RedisServer, raw_command


class RedisCli:
    """One server."""

    def __init__(self, server: RedisServer, database: int = 0) -> None:
        self._port = server.port
        self._database = database

    def __call__(self, *words: str | int) -> str:
        """The answer, a list as one line per item."""
        if shutil.which("redis-cli") is None:
            if self._database:
                raise AssertionError("redis-cli is needed for other databases than 0")
            return raw_command(self._port, *words)
        command = ["redis-cli", "-h", HOST, "-p", str(self._port), "-n", str(self._database)]
        ended = subprocess.run([*command, *map(str, words)], capture_output=True, text=True, timeout=60, check=True)
        return ended.stdout.rstrip("\n")

    def record(self, key: str, field: str) -> dict[str, object] | None:
        """A field's JSON."""
        text = self("HGET", key, field)
        return None if text in ("", "None") else msgspec.json.decode(text, type=dict[str, object])

    def define_node_type(self, name: str, uuid: str, thread_count: int = 1) -> None:
        record = {"name": name, "uuid": uuid, "thread_count": thread_count}
        self("HSET", "node_types", name, as_json(record))

    def define_job_type(self, uuid: str, name: str, command: str, **fields: object) -> None:
        what: dict[str, object] = {"name": name, "executor": "bash", "metadata": {"command": command}}
        record = {"uuid": uuid, **what, "unique": False, "node_type": "default", "timeout": None, **fields}
        self("HSET", "job_types", uuid, as_json(record))

    def push_jobs(self, node_type: str, job_type: str, *arguments: Mapping[str, object]) -> list[str]:
        """Push one job per arguments; returns their uuids, which are random."""
        uuids = [str(uuid4()) for _ in arguments]
        entries = [
            as_json({"uuid": uuid, "job_type_uuid": job_type, "arguments": some})
            for uuid, some in zip(uuids, arguments, strict=True)
        ]
        self("RPUSH", f"jobs_waiting_{node_type}", *entries)
        return uuids


def as_json(value: object) -> str:
    """As a program would send it."""
    return msgspec.json.encode(value).decode()
