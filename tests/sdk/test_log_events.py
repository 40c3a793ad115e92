"""The stream of a job's log, read line by line."""

from rota.sdk.log_events import LogEvents


def test_a_stream_that_breaks_within_an_event_is_taken_up_before_it() -> None:
    events = LogEvents("job")
    data = 'data: {"time": 1, "message": "first", "level": "info", "attempt": 1}'
    lines = [events.read(line) for line in ("id: 1", data, "")]

    for line in ("id: 2", data):
        events.read(line)

    assert [line and line.message for line in lines] == [None, None, "first"]
    assert events.call().query == {"after": 1}
    assert events.read("") is None
    assert events.call().query == {"after": 1}


def test_a_stream_that_breaks_within_a_line_is_taken_up_with_that_line_anew() -> None:
    first, second = (
        f'id: {n}\ndata: {{"time": {n}, "message": "{n}", "level": "info", "attempt": 1}}\n\n'.encode() for n in (1, 2)
    )
    for end in range(1, len(second)):
        events = LogEvents("job")
        begun = [line.message for line in events.lines(first + second[:end])]

        assert events.call().query == {"after": 1}
        again = [line.message for line in events.lines(second)]

        assert (begun, again) == (["1"], ["2"]), end
