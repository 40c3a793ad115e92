"""Configurations: how they are read, what their resources match, and which can never be met."""

from typing import Any

import pytest

from rota.errors import InvalidInput
from rota.model.events.configuration import Group, Match, resource_matches
from rota.model.events.configuration_request import read_configuration
from rota.model.events.feasibility import why_impossible


def wish(*dependencies: object, **more: object) -> dict[str, object]:
    return {"name": "c", "dependencies": list(dependencies), **more}


def dep(resource: str = "a", life: object = 60, type: str = "FILE", **more: object) -> dict[str, object]:
    return {"type": type, "resourceId": resource, "lifeDuration": life, **more}


def test_a_configuration_is_read_with_its_defaults() -> None:
    found = read_configuration(wish(dep("/in/", "3600"), dep("cron", 0, "TIME BASED")))

    assert [(one.type, one.resource, one.life_s, one.match) for one in found.dependencies] == [
        ("FILE", "/in/", 3600, Match.DIRECTORY),
        ("TIME_BASED", "cron", 0, Match.EXACT),
    ]
    assert (found.rule, found.job, found.clock, found.late) == (None, None, "event", "ignore")


def test_a_key_without_a_value_counts_as_absent() -> None:
    plain = read_configuration(wish(dep(), job={"job_type": "report"}))
    nothing = {"executor": None, "metadata": None, "arguments": None, "priority": None}

    assert read_configuration(wish(dep(match=None, outcome=None), job={"job_type": "report", **nothing})) == plain
    assert read_configuration(wish(dep(), job=None, clock=None, late=None)) == read_configuration(wish(dep()))
    with pytest.raises(InvalidInput, match=r"^name: is missing"):
        read_configuration({"name": None, "dependencies": [dep()]})


def test_groups_nest() -> None:
    found = read_configuration(wish(dep("a"), {"any_of": [dep("b"), {"all_of": [dep("c"), dep("d")]}]}))

    assert found.rule == Group((0, Group((1, Group((2, 3))), any_of=True)))


@pytest.mark.parametrize("life", [-1, "-1", 1.5, 3600.0, "1.5", "", "1h", True, False, None, [], 10**12, "9" * 13])
def test_a_life_that_is_no_whole_number_of_seconds_is_refused(life: object) -> None:
    with pytest.raises(InvalidInput, match=r"dependencies\[0\]\.lifeDuration"):
        read_configuration(wish(dep(life=life)))


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        (None, "configuration"),
        ([], "configuration"),
        ({}, "name"),
        ({"name": "c"}, "dependencies"),
        ({"name": "", "dependencies": [dep()]}, "name"),
        ({"name": "c", "dependencies": []}, "dependencies"),
        ({"name": "c", "dependencies": {}}, "dependencies"),
        (wish("a"), r"dependencies\[0\]"),
        (wish({"type": "FILE", "resourceId": "a"}), r"dependencies\[0\]\.lifeDuration"),
        (wish({"type": "FILE", "lifeDuration": 1}), r"dependencies\[0\]\.resourceId"),
        (wish({"resourceId": "a", "lifeDuration": 1}), r"dependencies\[0\]\.type"),
        (wish(dep(type="FOLDER")), r"dependencies\[0\]\.type"),
        (wish(dep(resource="")), r"dependencies\[0\]\.resourceId"),
        (wish(dep(match="regex")), r"dependencies\[0\]\.match"),
        (wish(dep(outcome="succeeded")), r"dependencies\[0\]\.outcome"),
        (wish(dep(type="JOB", outcome="done")), r"dependencies\[0\]\.outcome"),
        (wish(dep(type="JOB", match="glob")), r"dependencies\[0\]\.match"),
        (wish(dep(lifeTime=3)), r"dependencies\[0\]\.lifeTime: .*lifeDuration"),
        (wish({"any_of": []}), r"dependencies\[0\]\.any_of"),
        (wish({"any_of": [dep()], "type": "FILE"}), r"dependencies\[0\]\.type"),
        (wish({"any_of": [dep("b"), dep(life=-1)]}), r"dependencies\[0\]\.any_of\[1\]\.lifeDuration"),
        (wish(dep(), clock="wall"), "clock"),
        (wish(dep(), late="never"), "late"),
        (wish(dep(), jobs={}), "jobs"),
        (wish(dep(), job={}), "job"),
        (wish(dep(), job={"job_type": "a", "executor": "log"}), "job"),
        (wish(dep(), job={"job_type": "a", "metadata": {}}), r"job\.metadata"),
        (wish(dep(), job={"job_type": "a", "arguments": []}), r"job\.arguments"),
        (wish(dep(), job={"job_type": "a", "priority": "high"}), r"job\.priority"),
        (wish(*[dep()] * 101), "dependencies"),
    ],
)
def test_bad_input_names_the_place(raw: object, field: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{field}"):
        read_configuration(raw)


def test_nesting_has_an_end() -> None:
    inner: dict[str, Any] = dep()
    for _ in range(7):
        inner = {"any_of": [inner]}
    read_configuration(wish(inner))

    with pytest.raises(InvalidInput, match="nested deeper than 8 levels"):
        read_configuration(wish({"any_of": [inner]}))


def test_a_configuration_has_a_hundred_dependencies_at_most() -> None:
    assert len(read_configuration(wish(*[dep()] * 100)).dependencies) == 100
    with pytest.raises(InvalidInput, match="are more than 100"):
        read_configuration(wish(*[dep()] * 101))


@pytest.mark.parametrize(
    ("match", "wanted", "hits", "misses"),
    [
        (Match.EXACT, "/in/path", ["/in/path"], ["/in/path_other", "/in/path/", "/in/path/x"]),
        (Match.DIRECTORY, "/in/", ["/in/x", "/in/y/z"], ["/in", "/inn"]),
        (Match.DIRECTORY, "/in", ["/in/x"], ["/in", "/inn"]),
        (
            Match.DIRECTORY,
            "/n/path/",
            ["/n/path/a", "/n/path/a/../b", "/n/path/..a", "/n/path/a../b"],
            ["/n/path/../../etc/x", "/n/path/..", "/n/path/a/../..", "/n/path/../path2/x"],
        ),
        (Match.PREFIX, "/n/path/", ["/n/path/a"], ["/n/path/../x"]),
        (Match.GLOB, "/n/**", ["/n/a/b", "/n/a/../b"], ["/n/../etc/x"]),
        (Match.PREFIX, "tab", ["tab", "table"], ["ta"]),
        (Match.GLOB, "/in/*.csv", ["/in/a.csv"], ["/in/x/a.csv", "/in/a.txt", "/in/a.csvx"]),
        (Match.GLOB, "/in/**/*.csv", ["/in/x/a.csv", "/in/x/y/a.csv"], ["/in/a.txt"]),
        (Match.GLOB, "t_?", ["t_1"], ["t_", "t_12", "t_/"]),
        (Match.GLOB, "t_[0-9]", ["t_1"], ["t_a"]),
        (Match.GLOB, "t_[!0-9]", ["t_a"], ["t_1"]),
        (Match.GLOB, "a.b", ["a.b"], ["aXb"]),
        (Match.GLOB, "a[", ["a["], ["a"]),
        (Match.GLOB, "a[]]", ["a]"], ["a"]),
        (Match.GLOB, r"a[\]", ["a\\"], ["a"]),
        (Match.GLOB, "a[^b]", ["a^", "ab"], ["ac"]),
    ],
)
def test_resources_match(match: Match, wanted: str, hits: list[str], misses: list[str]) -> None:
    assert [one for one in hits + misses if resource_matches(match, wanted, one)] == hits


def impossible(*dependencies: object, **more: object) -> bool:
    request = read_configuration(wish(*dependencies, **more))
    return why_impossible(request.dependencies, request.tree, request.late) is not None


def test_two_dependencies_without_a_life_on_different_resources_can_never_be_met() -> None:
    request = read_configuration(wish(dep("a", 0), dep("b", 0)))

    reason = why_impossible(request.dependencies, request.tree, request.late)

    assert reason is not None
    assert "FILE a and FILE b both have a lifeDuration of 0" in reason


def test_what_one_event_can_serve_can_be_met() -> None:
    assert not impossible(dep("a", 0), dep("b", 1))
    assert not impossible(dep("a", 0), dep("a", 0))
    assert not impossible(dep("/in/", 0), dep("/in/x", 0))
    assert not impossible(dep("/in/", 0), dep("/in/sub/", 0))
    assert not impossible(dep("a*", 0, match="glob"), dep("ab", 0, match="prefix"))
    assert not impossible(dep("a", 0), dep("b", 0), late="join")
    assert not impossible(dep("ab", 0, match="prefix"), dep("a*", 0, match="glob"))
    assert not impossible(dep("/in/sub/", 0), dep("/in/", 0))
    assert not impossible(dep("load", 0, "JOB", outcome="failed"), dep("load", 0, "JOB"))
    assert not impossible(dep("load", 0, "JOB"), dep("load", 0, "JOB", outcome="failed"))
    assert not impossible({"any_of": [dep("a", 0), dep("b", 0)]})
    assert not impossible({"any_of": [dep("a", 0), dep("b", 5)]}, dep("c", 0))


def test_what_no_event_can_serve_cannot() -> None:
    assert impossible(dep("a", 0, "FILE"), dep("a", 0, "TABLE"))
    assert impossible(dep("/in/", 0), dep("/out/", 0))
    assert impossible(dep("a*", 0, match="glob"), dep("b", 0))
    assert impossible(dep("load", 0, "JOB", outcome="failed"), dep("load", 0, "JOB", outcome="succeeded"))
    assert impossible({"any_of": [dep("a", 0), dep("b", 0)]}, dep("c", 0))


def test_a_rule_with_more_ways_to_meet_it_than_are_looked_at_is_taken_for_possible() -> None:
    def pairs(number: int) -> list[object]:
        return [{"any_of": [dep(f"a{n}", 0), dep(f"b{n}", 0)]} for n in range(number)]

    assert impossible(*pairs(8)), "256 ways"
    assert not impossible(*pairs(9))
    assert not impossible(*pairs(40)), "and nobody waits for that"
