"""What pages say: searches, colours in logs, timelines, graphs."""

import pytest
from jinja2 import Environment

from rota.model.triggers.durations import short_duration
from rota.server.pages.drawing.graph import draw_graph
from rota.server.pages.drawing.spark import spark_points
from rota.server.pages.drawing.timeline import draw_timeline
from rota.server.pages.finding.search import as_word, read_search, with_state
from rota.server.pages.showing.ansi import ansi_html
from rota.server.pages.showing.words import FILTERS, as_json, cut, typed

NOW = 1_700_000_000_000
HOUR = 3_600_000


@pytest.mark.parametrize(
    ("millis", "words"),
    [
        (0, "0 ms"),
        (999, "999 ms"),
        (1_000, "1 s"),
        (2_149, "2.1 s"),
        (9_999, "9.9 s"),
        (59_999, "59 s"),
        (60_000, "1 min"),
        (250_000, "4 min 10 s"),
        (HOUR, "1 h"),
        (11 * HOUR + 45 * 60_000 + 59_000, "11 h 45 min"),
        (25 * HOUR, "1 d 1 h"),
    ],
)
def test_a_length_of_time_is_told_in_its_two_largest_units(millis: int, words: str) -> None:
    assert short_duration(millis) == words


@pytest.mark.parametrize(
    ("millis", "text"), [(30_000, "30s"), (90_000, "90s"), (HOUR, "1h"), (1_500, "1500ms"), (0, "")]
)
def test_a_length_of_time_is_typed_with_its_unit(millis: int, text: str) -> None:
    assert typed(millis) == text


SAID = [
    ("ago", NOW, "now"),
    ("ago", NOW - 999, "now"),
    ("ago", NOW - 1_000, "1 s ago"),
    ("ago", NOW - 2_900, "2 s ago"),
    ("ago", NOW - 2_000_900, "33 min 20 s ago"),
    ("ago", NOW + 1_000, "in 1 s"),
    ("ago", NOW + 840_000, "in 14 min"),
    ("ago", None, ""),
    ("since", NOW - 250_000, "4 min 10 s"),
    ("since", NOW + 1, "0 ms"),
    ("iso", NOW, "2023-11-14T22:13:20Z"),
    ("iso", None, ""),
    ("exact", NOW, "2023-11-14 22:13:20 UTC"),
    ("exact('Europe/Berlin')", NOW, "2023-11-14 23:13:20 +01:00"),
    ("exact", None, ""),
    ("clock_time", NOW + 125, "22:13:20.125"),
    ("span", 1_000, "1 s"),
    ("span", None, ""),
    ("typed", 90_000, "90s"),
    ("number", 1_234_567, "1,234,567"),
    ("number", 1234.56, "1,234.6"),
    ("cut", "x" * 500, "x" * 500),
    ("cut", "x" * 501, "x" * 500 + "…"),
    ("cut(2)", "xyz", "xy…"),
    ("cut", None, ""),
    ("as_json", {"a": [1]}, '{\n  "a": [\n    1\n  ]\n}'),
    ("compact_json", {"a": [1]}, '{"a":[1]}'),
    ("segment", "a/b c", "a%2Fb%20c"),
    ("field_value", "text", "text"),
    ("short_id", "b30833c1-83b0-4dda-a439-97e3c97bbaa5", "c97bbaa5"),
    ("short_id", None, ""),
]


@pytest.mark.parametrize(("said", "value", "words"), SAID)
def test_templates_say_things_in_these_words(said: str, value: object, words: str) -> None:
    environment = Environment()
    environment.filters.update(FILTERS)

    assert environment.from_string("{{ value|" + said + " }}").render(value=value, now=NOW) == words


def test_everything_that_templates_can_say_is_tried_here() -> None:
    assert {said.partition("(")[0] for said, _, _ in SAID} == set(FILTERS)


@pytest.mark.parametrize(
    ("text", "conditions"),
    [
        ("", {}),
        ("state:failed", {"state": ["failed"]}),
        ("state:failed,cancelled state:queued", {"state": ["failed", "cancelled", "queued"]}),
        ('type:"my report" queue:default', {"job_type": "my report", "queue": "default"}),
        ("schedule:nightly node:x", {"schedule": "nightly", "node": "x"}),
        ("after:1h before:30m", {"since": NOW - HOUR, "until": NOW - HOUR // 2}),
        ("after:2023-11-14T22:13:20Z", {"since": NOW}),
        ("after:2023-11-14", {"since": 1_699_920_000_000}),
        ("some text", {"search": "some text"}),
        ("type:report http://x:80 state:", {"job_type": "report", "search": "http://x:80 state:"}),
        ("it's", {"search": "it's"}),
    ],
)
def test_a_search_is_conditions_and_text(text: str, conditions: dict[str, object]) -> None:
    assert read_search(text, NOW).conditions == conditions
    assert read_search(text, NOW).problem == ""


@pytest.mark.parametrize("text", ["after:soon", "after:1x", "before:99999999999999h", "type:a type:b"])
def test_a_search_that_cannot_be_says_why(text: str) -> None:
    assert read_search(text, NOW).problem


def test_another_state_leaves_the_rest_of_a_search() -> None:
    assert with_state('state:failed type:"my report" text', "queued") == 'state:queued "type:my report" text'
    assert with_state("state:failed", "") == ""
    for text in ('"say \\"hi\\" to"', "it's", "a'b c", r"C:\\\\new dir", '"" x', "'a\tb'", '5" disk', r"'\'"):
        searched = read_search(text, NOW).conditions["search"]
        assert read_search(with_state(text, ""), NOW).conditions["search"] == searched, text
    for name in ('my "best" report', r"a\b", "it's", "two words"):
        assert read_search(f"type:{as_word(name)}", NOW).conditions == {"job_type": name}
    assert read_search(with_state('type:"my report"', "queued"), NOW).conditions["job_type"] == "my report"


@pytest.mark.parametrize(
    ("line", "html"),
    [
        ("plain", "plain"),
        ("\x1b[31mred\x1b[0m end", '<span class="ansi-red">red</span> end'),
        (
            "\x1b[1;32mok\x1b[22m still",
            '<span class="ansi-bold ansi-green">ok</span><span class="ansi-green"> still</span>',
        ),
        ("\x1b[38;5;196mx\x1b[48;2;1;2;3my", '<span class="ansi-red">xy</span>'),
        ("\x1b[38;5;10ma\x1b[38;5;240mb", '<span class="ansi-green">a</span>b'),
        ("\x1b[38;2;30;90;220mx", '<span class="ansi-blue">x</span>'),
        ("\x1b[38:2::250:200:20mx\x1b[39my", '<span class="ansi-yellow">x</span>y'),
        ("\x1b[38:2:200:20:190;1mx", '<span class="ansi-magenta ansi-bold">x</span>'),
        ("\x1b[38:5:6mx\x1b[48:5:1;58:2::1:2:3my", '<span class="ansi-cyan">xy</span>'),
        ("\x1b[4:3mx\x1b[4:0my", '<span class="ansi-underline">x</span>y'),
        ("\x1b[38mx\x1b[38:mx\x1b[38;2mx\x1b[38:2:9mx\x1b[:mx", "xxxxx"),
        ("\x1b[91m<b>\x1b[39m", '<span class="ansi-red">&lt;b&gt;</span>'),
        ("\x1b[2J\x1b]0;title\x07gone\x1b(B", "gone"),
        ("\x1b]8;;javascript:alert(1)\x1b\\link", "link"),
        ('\x1b["><script>x', "\u241b[&#34;&gt;&lt;script&gt;x"),
        ("\x1b[" + "9" * 50 + "mx", "x"),
        ("50 %\r51 %", "50 %\u240d51 %"),
        ("a\u202eb\x00", "a\ufffdb\u2400"),
        ("\x1b[31ma\x1b[31mb\x1b[2Kc\x1b[0;31md", '<span class="ansi-red">abcd</span>'),
        ("a\x1b[31m\x1b[0mb\x1b[mc", "abc"),
        ("\x1b[38;2;1;2;3;1mx", '<span class="ansi-bold">x</span>'),
        ("\x1b[" + "31;" * 5_000 + "32mx", '<span class="ansi-green">x</span>'),
    ],
)
def test_colours_become_classes_and_everything_else_is_text(line: str, html: str) -> None:
    assert str(ansi_html(line)) == html


def job(**fields: object) -> dict[str, object]:
    whole: dict[str, object] = {
        "enqueued_at": 0,
        "available_at": 0,
        "ended_at": None,
        "state": "queued",
        "attempts": [],
    }
    return whole | fields


def attempt(started_at: int | None, ended_at: int | None, error: str | None = None) -> dict[str, object]:
    return {"attempt": 1, "node": None, "started_at": started_at, "ended_at": ended_at, "error": error}


def test_a_timeline_has_a_row_for_each_attempt_with_its_wait() -> None:
    attempts = [attempt(100, 300, "exit code 3"), attempt(600, 1_000)]
    drawn = draw_timeline(job(state="succeeded", ended_at=1_000, attempts=attempts), 9_999)

    assert [[span.kind for span in row.spans] for row in drawn.rows] == [["wait", "failed"], ["wait", "succeeded"]]
    (_, first), (wait, last) = (row.spans for row in drawn.rows)
    assert (first.x, first.width) == (131.4, 110.8)
    assert (wait.x, wait.width) == (242.2, 166.2)
    assert (last.x, last.width) == (408.4, 221.6)
    assert (drawn.begin, drawn.end) == (0, 1_000)


def test_a_timeline_goes_up_to_now_or_to_when_it_runs_again() -> None:
    running = draw_timeline(job(state="running", attempts=[attempt(10, None)]), 500)
    delayed = draw_timeline(job(state="delayed", available_at=2_000, attempts=[attempt(10, 20, "no")]), 500)
    waiting = draw_timeline(job(), 0)

    assert (running.end, delayed.end, waiting.end) == (500, 2_000, 1)
    assert [row.label for row in delayed.rows] == ["attempt 1", "waits"]
    for drawn in (running, delayed, waiting):
        for span in (span for row in drawn.rows for span in row.spans):
            assert drawn.left <= span.x <= drawn.right
            assert span.width > 0


def test_a_graph_has_a_box_for_each_dependency_and_group() -> None:
    leaf = {"type": "FILE", "resourceId": "a", "lifeDuration": 1}
    configuration = {"dependencies": [leaf, {"any_of": [leaf, {"all_of": [leaf, leaf]}]}], "job": None}
    rows = [{"dependency": leaf, "met": met} for met in (True, False, True, False)]

    drawn = draw_graph(configuration, rows)

    assert [box.title for box in drawn.boxes if box.x == 0] == ["a"] * 4
    assert sorted(box.title for box in drawn.boxes if box.x) == ["a line in the log", "all of", "any of"]
    assert [link.is_met for link in drawn.links].count(True) == 2


def test_a_spark_line_goes_from_left_to_right() -> None:
    assert spark_points([0, 5, 10], 10) == "0.0,24.0 60.0,13.0 120.0,2.0"
    assert spark_points([], 0) == ""


def test_what_is_very_long_is_cut_but_for_what_is_sent_back() -> None:
    assert (cut(None), cut("short"), cut("x" * 501)) == ("", "short", "x" * 500 + "…")
    assert len(as_json("x" * 300_000)) < 101_000
    assert as_json("x" * 300_000).endswith("cut: 300,002 characters in all")
    assert len(as_json("x" * 300_000, is_whole=True)) == 300_002
