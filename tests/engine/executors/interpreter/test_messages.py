"""What a Python process says to its node, put together from the chunks of a pipe that anybody may have written."""

from rota.engine.executors.interpreter.messages import MessageReader
from rota.model.runs.outcome import OutcomeKind

CHUNK = 64 * 1024


def read(content: bytes, *, chunk: int = CHUNK) -> tuple[MessageReader, list[tuple[str, str]]]:
    """Everything that was said, and what of it went to the log."""
    logged: list[tuple[str, str]] = []
    reader = MessageReader(lambda message, level: logged.append((message, level)), lambda *_progress: None)
    for start in range(0, len(content), chunk):
        reader.feed(content[start : start + chunk])
    return reader, logged


def line_of(size: int) -> bytes:
    """A message for the log, as a line of so many bytes."""
    text = b'{"log":"%s"}'
    return text % (b"x" * (size - len(text) + 2))


def test_messages_are_read_however_they_are_cut() -> None:
    content = (
        b'{"has_begun":true}\n{"log":"one"}\n{"log":"two","level":"warning"}\n'
        b'{"outcome":{"kind":"succeeded","results":[1]}}\n'
    )
    for chunk in (1, 7, 1000):
        reader, logged = read(content, chunk=chunk)

        assert (reader.has_begun, logged) == (True, [("one", "info"), ("two", "warning")])
        assert reader.outcome is not None
        assert (reader.outcome.kind, reader.outcome.results) == (OutcomeKind.SUCCEEDED, [1])


def test_a_stop_and_a_shortage_are_told_apart() -> None:
    stopped, _ = read(b'{"was_stopped":true,"partial_results":"half"}\n')
    lacking, _ = read(b'{"lacks":"memory"}\n')

    assert (stopped.was_stopped, stopped.partial_results, stopped.lacks) == (True, "half", "")
    assert (lacking.was_stopped, lacking.partial_results, lacking.lacks) == (False, None, "memory")


def test_a_line_beyond_four_mebibytes_is_not_kept_and_the_next_one_is_read() -> None:
    limit = 4 * 1024 * 1024
    _, fits = read(line_of(limit) + b"\n")
    _, none = read(line_of(limit + CHUNK) + b'\n{"log":"next"}\n')

    assert [len(message) for message, _ in fits] == [limit - 10]
    assert none == [("next", "info")]


def test_a_last_line_without_an_end_is_no_message() -> None:
    assert read(b'{"lacks":"memory"}')[0].lacks == ""
