"""A verb that is done ends, whatever threads are left in its process."""

import subprocess
import sys

import pytest

from tests.patience import DEADLINE_S

LEAVES_A_THREAD = """
import sys, threading, time
from rota.cli.main import main

threading.Thread(target=time.sleep, args=[3_600]).start()
sys.argv = ["rota", *sys.argv[1:]]
main()
"""


@pytest.mark.parametrize(("words", "code"), [(["version"], 0), (["no-such-verb"], 2)])
def test_a_verb_ends_with_its_code_although_a_thread_is_left(words: list[str], code: int) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", LEAVES_A_THREAD, *words], capture_output=True, timeout=DEADLINE_S, check=False
    )

    assert ended.returncode == code
