"""What a child reads as its standard input."""

import os
import resource

import pytest

from rota.engine.executors.process.nameless_file import open_input
from tests.engine.executors.hearing import Descriptors


def test_an_input_is_read_from_its_beginning() -> None:
    fd = open_input(b"all of it")

    assert os.read(fd, 100) == b"all of it"
    os.close(fd)


def test_an_input_that_cannot_be_written_costs_no_descriptor() -> None:
    before, limits = Descriptors(), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            open_input(b"x" * 100)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    before.await_no_more()
