"""What a job says is bounded, whatever it says."""

import threading

import msgspec
import pytest

from rota.engine.executors.output import (
    ENTRY_BYTES,
    KEPT_BYTES,
    Ends,
    LineLog,
    LogCap,
    PlainSink,
    Stream,
    capped_log,
    fit_message,
)
from rota.model.limits import MAX_LOG_ATTEMPT_BYTES, MAX_LOG_MESSAGE_BYTES, MAX_RESULT_BYTES
from tests.engine.executors.runs import make_run
from tests.engine.job_functions import MarkedText


class Lines(PlainSink):
    """A log that keeps its entries."""

    def __init__(self) -> None:
        self.entries: list[tuple[str, str]] = []
        super().__init__(lambda message, level: self.entries.append((message, level)))

    @property
    def messages(self) -> list[str]:
        return [message for message, _ in self.entries]


def split(*chunks: bytes) -> list[str]:
    lines = Lines()
    log = LineLog(LogCap(lines), "info")
    for chunk in chunks:
        log.feed(chunk)
    log.finish()
    return lines.messages


def test_lines_are_put_together_over_chunks() -> None:
    assert split(b"on", b"e\ntwo\r\n\nth", b"", b"ree") == ["one", "two", "", "three"]


def test_a_last_line_that_nobody_ended_has_no_half_of_a_line_end() -> None:
    assert split(b"one\r\ntwo\r") == ["one", "two"]


class Crowded(Lines):
    is_crowded = True


def test_a_job_whose_log_is_full_is_not_asked_to_wait_for_it() -> None:
    log = LogCap(Crowded(), limit=ENTRY_BYTES + 1)
    before = log.is_crowded
    log("x")
    at_the_limit = log.is_crowded
    log("y")

    assert (before, at_the_limit, log.is_full, log.is_crowded) == (True, True, True, False)


def test_a_character_split_over_chunks_stays_whole() -> None:
    snowman = "\N{SNOWMAN}".encode()

    assert split(snowman[:1], snowman[1:] + b"\n") == ["\N{SNOWMAN}"]


def test_what_is_not_text_is_replaced() -> None:
    assert split(b"a\xff\x00b\n") == ["a\N{REPLACEMENT CHARACTER}?b"]


def test_a_line_over_the_limit_is_cut_and_the_next_one_is_whole() -> None:
    first, second = split(*[b"x" * 50_000] * 20, b"rest\nnext\n")

    assert first.startswith("xxx")
    assert first.endswith("[line cut]")
    assert len(first) == MAX_LOG_MESSAGE_BYTES
    assert second == "next"


@pytest.mark.parametrize("byte", [b"x", b"\xff", b"\0", "é".encode()])
def test_a_line_just_at_the_limit_stays_within_it(byte: bytes) -> None:
    for size in (MAX_LOG_MESSAGE_BYTES - 1, MAX_LOG_MESSAGE_BYTES, MAX_LOG_MESSAGE_BYTES + 1):
        (message,) = split((byte * size)[:size] + b"\n")
        assert len(message.encode()) <= MAX_LOG_MESSAGE_BYTES
    assert split(b"x" * MAX_LOG_MESSAGE_BYTES + b"\n") == ["x" * MAX_LOG_MESSAGE_BYTES]


@pytest.mark.parametrize("message", ["é" * 100_000, "\ud800", "x" * 100_000, "\ud800" * 100_000, "a\0b", "é" * 8192])
def test_every_message_can_be_stored(message: str) -> None:
    fitted = fit_message(message)

    assert len(fitted.encode()) <= MAX_LOG_MESSAGE_BYTES
    assert "\0" not in fitted


def test_a_message_of_another_class_is_plain_text() -> None:
    assert type(fit_message(MarkedText("a marked line"))) is str


def test_an_attempt_that_says_too_much_gets_one_last_entry() -> None:
    lines = Lines()
    log = LogCap(lines)

    for _ in range(2 * MAX_LOG_ATTEMPT_BYTES // 10_000):
        log("x" * 10_000, "info")

    assert sum(map(len, lines.messages[:-1])) <= MAX_LOG_ATTEMPT_BYTES
    assert [message for message in lines.messages if "log ends here" in message] == lines.messages[-1:]
    assert lines.entries[-1][1] == "warning"


def test_a_flood_of_empty_lines_ends_too() -> None:
    lines = Lines()
    log = LineLog(LogCap(lines, limit=1000 * ENTRY_BYTES), "info")

    for _ in range(10):
        log.feed(b"\n" * 1000)

    assert len(lines.entries) == 1001


def test_threads_that_reach_the_cap_together_say_so_once() -> None:
    lines = Lines()
    log = LogCap(lines, limit=50_000)

    def talk() -> None:
        for _ in range(500):
            log("x" * 100)

    threads = [threading.Thread(target=talk) for _ in range(8)]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sum("log ends here" in message for message in lines.messages) == 1


def test_an_unknown_level_is_info() -> None:
    lines = Lines()

    LogCap(lines)("x", "shouting")

    assert lines.entries == [("x", "info")]


def test_a_run_has_one_cap() -> None:
    run = make_run({})

    assert capped_log(run) is capped_log(run)


def test_a_short_stream_is_kept_whole() -> None:
    ends = Ends()
    ends.feed(b"x" * KEPT_BYTES)
    ends.feed(b"y" * KEPT_BYTES)

    assert ends.text() == "x" * KEPT_BYTES + "y" * KEPT_BYTES


@pytest.mark.parametrize("chunk", [1000, 4096, 65536, 1_000_000])
def test_of_a_long_stream_both_ends_are_kept_and_the_cut_is_told(chunk: int) -> None:
    stream = b"head" + b"-" * 3_000_000 + b"tail"
    ends = Ends()

    for start in range(0, len(stream), chunk):
        ends.feed(stream[start : start + chunk])

    text = ends.text()
    assert text.startswith("head-")
    assert text.endswith("-tail")
    assert f"\n[... {len(stream) - 2 * KEPT_BYTES} bytes cut ...]\n" in text


@pytest.mark.parametrize("byte", [b"\0", b"\xff", b'"', b"\x01", "é".encode()])
def test_two_streams_of_anything_fit_into_a_result(byte: bytes) -> None:
    streams = [Stream(LogCap(Lines()), level) for level in ("info", "error")]
    for stream in streams:
        stream.feed(byte * 200_000)

    encoded = msgspec.json.encode({"texts": [stream.finish() for stream in streams], "exit_code": -15})

    assert len(encoded) < MAX_RESULT_BYTES


class ManyLines(Lines):
    """A log that takes many lines at once, too."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def add_lines(self, messages: list[str], level: str) -> None:
        self.calls += 1
        self.entries += [(message, level) for message in messages]


def test_the_lines_of_a_chunk_go_to_the_log_together() -> None:
    lines = ManyLines()
    log = LineLog(LogCap(lines), "error")

    assert log.feed(b"a\nb\r\n\nc\0d\n" + "é\n".encode() + b"\xff\nre") == 6
    assert log.feed(b"st\n") == 1

    assert lines.calls == 2
    assert lines.entries == [(message, "error") for message in ("a", "b", "", "c?d", "é", "\ufffd", "rest")]


@pytest.mark.parametrize("line", [b"x" * 20, "é".encode() * 9, b"\xff" * 30, b"\r", b"\0", b"", b"y" * 20_000])
def test_lines_that_go_together_are_those_that_go_one_by_one(line: bytes) -> None:
    stream = b"".join(b"%d " % number + line + b"\n" for number in range(50)) + b"end"
    one_by_one = [fit_message(each.decode("utf-8", "replace").removesuffix("\r")) for each in stream.split(b"\n")]

    for size in (7, 100, 5_000, len(stream)):
        lines = ManyLines()
        log = LineLog(LogCap(lines), "info")
        for start in range(0, len(stream), size):
            log.feed(stream[start : start + size])
        log.finish()
        assert lines.messages == one_by_one


def test_a_log_that_is_full_within_many_lines_takes_those_before() -> None:
    lines = ManyLines()
    log = LineLog(LogCap(lines, limit=3 * (ENTRY_BYTES + 1)), "info")

    log.feed(b"1\n2\n")
    log.feed(b"3\n4\n5\n")
    log.feed(b"6\n")

    assert lines.messages[:3] == ["1", "2", "3"]
    assert [message.split(":")[0] for message in lines.messages[3:]] == ["the log ends here"]
