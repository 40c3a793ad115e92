"""`rota import crontab`: cron's own files become job types and schedules."""

from pathlib import Path

import pytest

from rota.cli.time.crontab import read_crontab
from rota.cli.time.imports import _is_system
from rota.errors import InvalidInput
from tests.cli.calling import call_process, done, rota

pytestmark = pytest.mark.usefixtures("place")

CRONTAB = """\
# a comment
MAILTO=me@example.org
PATH=/usr/bin:/bin
CRON_TZ=Europe/Berlin
30 2 * * * /usr/local/bin/backup.sh --all
*/5 * * * 1-5 FOO=1 python3 -m poll
@daily  rotate "log files"
@reboot start-me

CRON_TZ=UTC
0 9 * * 7 mail -s 100\\% me%Dear me,%it's Sunday
"""


def read(text: str, *, has_users: bool = False) -> list[tuple[str, str, str]]:
    lines = read_crontab(text, "c", has_users=has_users, tz="UTC").lines
    return [(line.name, line.cron, line.script) for line in lines]


def test_lines_become_times_and_scripts() -> None:
    found = read_crontab(CRONTAB, "mine", has_users=False, tz="UTC")

    assert [(line.name, line.cron, line.tz) for line in found.lines] == [
        ("mine/backup.sh", "30 2 * * *", "Europe/Berlin"),
        ("mine/python3", "*/5 * * * 1-5", "Europe/Berlin"),
        ("mine/rotate", "@daily", "Europe/Berlin"),
        ("mine/mail", "0 9 * * 7", "UTC"),
    ]
    assert found.lines[0].environment == {"PATH": "/usr/bin:/bin"}


def test_what_cannot_be_taken_over_is_told() -> None:
    notes = read_crontab(CRONTAB, "mine", has_users=False, tz="UTC").notes

    assert notes == [
        "line 2: MAILTO is left out; `rota logs` shows what a job said",
        "line 8: @reboot names no time and is left out: start-me",
    ]


@pytest.mark.parametrize(
    ("shell", "is_told"),
    [("/bin/sh", False), ("/bin/bash", False), ("dash", False), ("/usr/bin/zsh", True), ("/opt/bash/fish", True)],
)
def test_a_shell_that_is_not_used_is_told(shell: str, is_told: bool) -> None:
    found = read_crontab(f"SHELL={shell}\n@daily x\n", "mine", has_users=False, tz="UTC")

    assert found.notes == ([f"line 1: SHELL={shell} is left out; commands run in bash"] if is_told else [])
    assert found.lines[0].environment == {}


def test_percent_signs_are_input_and_line_ends() -> None:
    ((_, _, script),) = read("0 9 * * 7 mail -s 100\\% me%Dear me,%it's Sunday")

    assert script == "printf '%s\\n' 'Dear me,\nit'\\''s Sunday' | { mail -s 100% me\n}"


def test_system_files_name_a_user() -> None:
    text = "17 *\t* * *\troot\tcd / && run-parts /etc/cron.hourly"
    found = read_crontab(text, "e", has_users=True, tz="UTC", home_of=lambda user: f"/{user}")

    assert (found.lines[0].user, found.lines[0].script) == ("root", "cd / && run-parts /etc/cron.hourly")
    assert found.notes == ["line 1: runs as the user of the worker, not as root"]


def test_equal_programs_get_numbers() -> None:
    assert [name for name, _, _ in read("@daily x\n@hourly x\n@weekly x")] == ["c/x", "c/x-2", "c/x-3"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("61 * * * * x", "line 1: cron: "),
        ("\n* * * *", "line 2: is neither"),
        ("* * * * *", "line 1: is neither"),
        ("CRON_TZ=Nowhere\n* * * * * x", "line 2: tz: "),
    ],
)
def test_a_line_that_cannot_be_read_is_named(text: str, says: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        read(text)

    assert says in str(caught.value)


def test_all_lines_that_cannot_be_read_are_named_at_once(folder: Path, place: str) -> None:
    (folder / "bad").write_text("61 * * * * x\n@daily good\n* * * *\nCRON_TZ=Nowhere\n* * * * * y\n")

    answer = rota("import", "crontab", "bad")

    assert answer.exit_code == 2
    assert "3 lines cannot be read, and nothing was taken over:" in answer.stderr
    for says in ("line 1: cron: ", "line 3: is neither", "line 5: tz: "):
        assert f"\n  {says}" in answer.stderr
    assert (folder / "rota.db").exists() == (place == "server")


def test_jobs_run_in_the_home_of_their_user_as_cron_does() -> None:
    homes = {None: "/home/me", "root": "/root"}
    text = "@daily root a\n@daily nobody-here b\nHOME=/srv\n@daily root c\n"

    system = read_crontab(text, "c", has_users=True, tz="UTC", home_of=homes.get)
    own = read_crontab("@daily a\n", "c", has_users=False, tz="UTC", home_of=homes.get)

    assert [line.home for line in system.lines] == ["/root", None, "/srv"]
    assert "line 2: the home of nobody-here is not known here, so it runs where the worker was started" in system.notes
    assert [line.home for line in own.lines] == ["/home/me"]


def test_an_import_says_what_is_different_from_cron(folder: Path) -> None:
    (folder / "mine").write_text("@daily x\n")

    told = done("import", "crontab", "mine", "--dry-run").stderr
    shape = done("import", "crontab", "mine", "--dry-run", "--json").json

    assert "Different from cron: commands run in bash" in told
    assert shape["lines"][0]["home"] == str(Path.home())
    assert len(shape["differences"]) == 3


def test_a_crontab_becomes_job_types_and_schedules(folder: Path) -> None:
    (folder / "mine").write_text(CRONTAB)

    done("import", "crontab", "mine")

    assert [one["name"] for one in done("job-type", "list", "--json").json] == [
        "mine/backup.sh",
        "mine/mail",
        "mine/python3",
        "mine/rotate",
    ]
    shown = done("schedule", "show", "mine/backup.sh", "--json").json
    assert shown["words"] == "at 2:30 every day (Europe/Berlin)"
    assert (shown["overlap"], shown["catch_up"]["mode"]) == ("allow", "none")


def test_importing_again_changes_and_does_not_add(folder: Path) -> None:
    (folder / "mine").write_text("@daily x\n")
    done("import", "crontab", "mine")
    before = done("schedule", "show", "mine/x", "--json").json

    (folder / "mine").write_text("@hourly x\n")
    done("import", "crontab", "mine")

    after = done("schedule", "show", "mine/x", "--json").json
    assert after["uuid"] == before["uuid"]
    assert after["words"] != before["words"]


def test_what_rests_still_rests_after_another_import(folder: Path) -> None:
    (folder / "mine").write_text("@daily x\n@daily y\n")
    done("import", "crontab", "mine")
    done("schedule", "pause", "mine/x")

    done("import", "crontab", "mine")

    assert resting() == {"mine/x": True, "mine/y": False}
    done("import", "crontab", "mine", "--paused")
    assert resting() == {"mine/x": True, "mine/y": True}


def resting() -> dict[str, bool]:
    """Of each schedule whether it is paused."""
    return {one["name"]: one["paused"] for one in done("schedule", "list", "--json").json}


def test_what_is_said_of_a_crontab_counts_for_all_of_its_lines(folder: Path) -> None:
    done("node-type", "create", "fast")
    (folder / "mine").write_text("0 9 * * * root x\nCRON_TZ=UTC\n0 9 * * * root y\n")
    options = ["--system", "--tz", "Asia/Tokyo", "--label", "night", "--node-type", "fast"]

    told = done("import", "crontab", "mine", *options, "--json").json["lines"]

    assert [(one["name"], one["tz"], one["user"], one["command"]) for one in told] == [
        ("night/x", "Asia/Tokyo", "root", "x"),
        ("night/y", "UTC", "root", "y"),
    ]
    assert {one["node_type"] for one in done("job-type", "list", "--json").json} == {"fast"}
    assert [done("schedule", "show", f"night/{one}", "--json").json["zone"] for one in "xy"] == ["Asia/Tokyo", "UTC"]


@pytest.mark.parametrize(
    ("file", "expected"),
    [("/etc/crontab", True), ("/etc/cron.d/a", True), ("/etc/crontabs/root", False), ("/var/spool/cron/a", False)],
)
def test_files_of_the_system_name_users_and_those_of_users_do_not(file: str, expected: bool) -> None:
    assert _is_system(Path(file)) is expected


def test_a_dry_run_makes_nothing_and_tells_all(folder: Path, place: str) -> None:
    (folder / "mine").write_text(CRONTAB)

    told = done("import", "crontab", "mine", "--dry-run", "--json").json

    assert [line["line"] for line in told["lines"]] == [5, 6, 7, 11]
    assert len(told["notes"]) == 2
    assert (folder / "rota.db").exists() == (place == "server")


def test_a_file_that_is_not_there_is_bad_input() -> None:
    assert rota("import", "crontab", "nothing").exit_code == 2


def test_an_imported_line_runs_as_cron_would(folder: Path) -> None:
    home = folder / "home"
    home.mkdir()
    (folder / "mine").write_text(f"HOME={home}\nGREETING='hello  there'\n@yearly cat; echo $GREETING; pwd%one%two\n")
    done("import", "crontab", "mine")

    job = done("schedule", "run", "mine/cat", "--json").json["uuid"]
    assert call_process("worker", "--burst", "--store", "sqlite:///rota.db").exit_code == 0

    assert done("job", job, "--json").json["results"]["stdout"] == f"one\ntwo\nhello there\n{home}\n"
