"""Calls of scripts are packed as redis-py packs them."""

import subprocess
import sys

import pytest
from redis.connection import HiredisRespSerializer
from redis.exceptions import DataError

from rota.store.redis.link.packing import CommandPacker
from tests.servers import RedisServer

NUMBERS = (0, -1, 2**53, 10**30, 1.5, -0.0, 1e300)
TEXTS = ("", "a", "a b\r\n", "Größe \U0001f600", b"", b"\x00\xff\r\n$3", bytearray(b"array"), memoryview(b"view"))


@pytest.mark.parametrize("command", [("EVALSHA", "5" * 40, 1, "key"), ("EVAL", "return 1", 0), ("CONFIG GET",)])
def test_what_a_script_is_given_is_packed_as_ever(command: tuple[str | int, ...]) -> None:
    args = (*command, *NUMBERS, *TEXTS)

    assert CommandPacker().pack(*args) == HiredisRespSerializer().pack(*args)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [None, True, object(), ["list"]])
def test_what_no_command_can_carry_is_refused_as_ever(wrong: object) -> None:
    try:
        expected = HiredisRespSerializer().pack("EVALSHA", wrong)  # type: ignore[arg-type]
    except DataError:
        with pytest.raises(DataError):
            CommandPacker().pack("EVALSHA", wrong)
    else:
        assert CommandPacker().pack("EVALSHA", wrong) == expected


WITHOUT_HIREDIS = """
import sys
sys.modules["hiredis"] = None
from rota.store import open_store
store = open_store(sys.argv[1])
print(store.put_setting("name", "value"))
store.close()
"""


def test_without_hiredis_a_store_works_all_the_same(redis_server: RedisServer) -> None:
    redis_server.flush()

    ended = subprocess.run(
        [sys.executable, "-c", WITHOUT_HIREDIS, redis_server.url], capture_output=True, text=True, check=False
    )

    assert (ended.returncode, ended.stdout) == (0, "value\n"), ended.stderr
