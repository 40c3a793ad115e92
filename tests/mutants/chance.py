"""Changes that no table names, drawn by chance: a comparison that is one off, a condition turned round, a statement
left out. How many of these are noticed says how well the tests hold what nobody thought of.

Not every one of them is dangerous: a survivor may do the same as before, or be slower only. People judge them.
"""

import ast
import random
import re
from collections.abc import Iterator
from functools import cache
from itertools import islice
from pathlib import Path

from tests.mutants.table import ROOT, Mutant, faults_of

SOURCE = "src/rota"
Spot = tuple[int, int, int, str]
"""Line, first and last column, and what comes there instead."""
HANGS_S = 120
"""A single test that takes longer is taken to hang, and so has noticed the change."""
_ONE_STORE = "--one-store"
"""What is no store's own is tried on one of them."""
_TESTS = {
    "cli": f"tests/cli {_ONE_STORE}",
    "cli/definitions": f"tests/cli/definitions tests/cli/remote {_ONE_STORE}",
    "cli/events": f"tests/cli/events tests/cli/remote {_ONE_STORE}",
    "cli/jobs": f"tests/cli/jobs tests/cli/remote tests/cli/test_show.py {_ONE_STORE}",
    "cli/operations": f"tests/cli/operations tests/cli/remote {_ONE_STORE}",
    "cli/remote": f"tests/cli {_ONE_STORE} -k 'server or remote or frozen'",
    "cli/run": f"tests/cli/run tests/system/test_start.py tests/host tests/sdk/tasks/test_queues.py {_ONE_STORE}",
    "cli/time": f"tests/cli/time tests/cli/remote {_ONE_STORE}",
    "clock.py": f"tests/test_clock.py tests/engine/node tests/engine/liveness tests/sdk/tasks {_ONE_STORE}",
    "dialects": "tests/dialects",
    "dialects/light": f"tests/dialects/light tests/seeds/test_003_light_scheduler.py tests/system/light {_ONE_STORE}",
    "dialects/sync_tasks": "tests/dialects/sync_tasks tests/seeds/test_000_sync_tasks.py",
    "dialects/synchrony": "tests/dialects/synchrony tests/seeds/test_000_redis_keys.py"
    " tests/seeds/test_001_redis_keys.py tests/seeds/test_001_synchrony.py",
    "dialects/tasks": "tests/dialects/tasks tests/seeds/test_002_tasks.py tests/seeds/test_002_source_entity.py",
    "engine": f"tests/engine/test_engine.py tests/engine/node tests/server/routes {_ONE_STORE}",
    "engine/access": "tests/engine/access tests/server/auth tests/server/routes/test_keys.py"
    " tests/cli/operations/test_key.py",
    "engine/bridge": f"tests/engine/bridge tests/engine/events tests/engine/jobs tests/engine/worker {_ONE_STORE}",
    "engine/definitions": "tests/engine/definitions tests/engine/jobs tests/engine/events tests/server/routes"
    f" tests/cli/definitions tests/sdk/tasks/test_declaring.py {_ONE_STORE}",
    "engine/doctor": "tests/cli/operations/test_doctor.py tests/server/routes/test_doctor.py",
    "engine/events": "tests/engine/events tests/seeds/test_004_events.py tests/server/routes/test_events.py"
    f" tests/cli/events {_ONE_STORE}",
    "engine/executors": "tests/engine/executors tests/engine/worker/test_worker.py tests/sdk/tasks/test_tasks.py"
    f" {_ONE_STORE}",
    "engine/housekeeping": f"tests/engine/housekeeping tests/cli/operations {_ONE_STORE}",
    "engine/jobs": f"tests/engine/jobs tests/engine/worker tests/server/routes tests/sdk {_ONE_STORE}",
    "engine/liveness": "tests/engine/liveness tests/engine/node tests/engine/observation/test_happenings.py"
    f" tests/server/routes/test_definitions.py tests/system/workers/test_liveness.py {_ONE_STORE}",
    "engine/node": "tests/engine/node tests/engine/liveness tests/engine/worker/test_stopping.py tests/host"
    f" {_ONE_STORE}",
    "engine/observation": f"tests/engine/observation tests/engine/node tests/server/routes/test_system.py {_ONE_STORE}",
    "engine/schedules": "tests/engine/schedules tests/simulation/test_policies.py tests/server/routes/test_schedules.py"
    f" tests/cli/time tests/server/auth/test_rights.py {_ONE_STORE}",
    "engine/topics": f"tests/engine/topics tests/dialects/light tests/server/routes/test_topics.py {_ONE_STORE}",
    "engine/why": f"tests/engine/why tests/server/routes/test_why.py tests/cli/jobs/test_why.py {_ONE_STORE}",
    "engine/worker": "tests/engine/worker tests/engine/faults tests/engine/node/test_node.py"
    f" tests/engine/observation/test_happenings.py {_ONE_STORE}",
    "ending": f"tests/ending tests/host tests/dialects/tasks {_ONE_STORE}",
    "errors.py": f"tests/cli/test_errors.py tests/server/routes {_ONE_STORE}",
    "host": "tests/host tests/cli/run tests/cli/test_show.py tests/system/test_start.py tests/streaming/test_up.py"
    f" {_ONE_STORE}",
    "lazy_names.py": f"tests/test_layers.py tests/sdk/tasks {_ONE_STORE}",
    "model": f"tests/model tests/contract tests/engine/worker tests/engine/jobs tests/engine/liveness tests/engine/why"
    " tests/engine/executors/test_output.py"
    f" {_ONE_STORE}",
    "model/access": f"tests/model/test_openings.py tests/engine/access tests/server/auth {_ONE_STORE}",
    "model/events": f"tests/model/events tests/engine/events tests/server/routes/test_events.py {_ONE_STORE}",
    "model/flows": f"tests/engine/jobs tests/contract/jobs tests/sdk/tasks/test_flows.py {_ONE_STORE}",
    "model/schedules": f"tests/model/schedules tests/engine/schedules tests/simulation/test_policies.py {_ONE_STORE}",
    "model/topics": "tests/model/topics tests/engine/topics tests/contract/test_topics.py tests/dialects/light"
    f" tests/streaming/test_codec.py tests/streaming/test_partition.py {_ONE_STORE}",
    "model/triggers": f"tests/model/triggers tests/engine/schedules tests/cli/time {_ONE_STORE}",
    "model/why": f"tests/engine/why tests/server/routes/test_why.py tests/cli/jobs/test_why.py {_ONE_STORE}",
    "moving": f"tests/moving {_ONE_STORE}",
    "moving/apscheduler": "tests/moving/test_apscheduler.py tests/moving/test_apscheduler_events.py"
    f" tests/moving/test_apscheduler_jobs.py tests/moving/test_apscheduler_program.py {_ONE_STORE}",
    "moving/arq": f"tests/moving/test_arq.py tests/moving/test_arq_program.py {_ONE_STORE}",
    "moving/celery": "tests/moving/test_celery.py tests/moving/test_celery_calls.py tests/moving/test_celery_links.py"
    f" tests/moving/test_celery_program.py {_ONE_STORE}",
    "moving/dramatiq": f"tests/moving/test_dramatiq.py tests/moving/test_dramatiq_program.py {_ONE_STORE}",
    "moving/rq": "tests/moving/test_rq.py tests/moving/test_rq_dependencies.py tests/moving/test_rq_jobs.py"
    f" tests/moving/test_rq_program.py {_ONE_STORE}",
    "sdk": "tests/sdk -k 'not redis and not django'",
    "sdk/outbox": "tests/sdk/outbox",
    "sdk/tasks": f"tests/sdk/tasks tests/moving {_ONE_STORE}",
    "server": "tests/server tests/sdk/test_client.py --ignore=tests/server/attacks -k 'not redis and not schemathesis'",
    "server/docs": "tests/server/test_schemathesis.py tests/server/routes tests/server/auth/test_matrix.py"
    f" {_ONE_STORE}",
    "server/pages": f"tests/server/pages tests/server/gate tests/browser {_ONE_STORE}",
    "server/routes": f"tests/server/routes tests/server/auth tests/sdk/test_client.py tests/server/pages {_ONE_STORE}",
    "settings": "tests/settings tests/engine/definitions/test_file.py tests/cli/definitions tests/cli/run"
    f" {_ONE_STORE}",
    "shapes": "tests/shapes tests/server/test_shapes.py tests/server/routes tests/sdk/test_client.py tests/cli/jobs"
    f" tests/cli/operations tests/cli/remote tests/sdk/test_flask.py {_ONE_STORE}",
    "store": f"tests/contract {_ONE_STORE}",
    "store/redis": "tests/contract tests/store/redis -k 'redis and not cluster or frozen'",
    "store/redis/link": "tests/store/redis tests/contract/store tests/contract/claims tests/contract/queues"
    " tests/system/redis -k 'redis or frozen'",
    "store/sqlite": "tests/contract tests/store/sqlite tests/system/test_start.py"
    " tests/system/sqlite/test_sqlite_wake_ups.py -k 'not redis'",
    "streaming": "tests/streaming",
    "testing": "tests/testing",
}
"""The longest beginning of a path decides; what is below none of these is left out. What these tests do not notice,
others may."""
_OF_ALL = "tests/test_values.py tests/model/test_defaults.py"
"""What is tested of the code of every room."""
_NOT_DRAWN = ("sdk/django", "cli/operations/bench")
"""Django's tests need Python 3.12, and a benchmark's own changes are nobody's danger."""

_SWAPS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.In: "not in",
    ast.NotIn: "in",
}
_LUA_AND_SQL = [
    (re.compile(r"(?<![<>=~!])<(?![=>])"), "<="),
    (re.compile(r"<="), "<"),
    (re.compile(r"(?<![<>=~!-])>(?!=)"), ">="),
    (re.compile(r">="), ">"),
    (re.compile(r"=="), "~="),
    (re.compile(r"~="), "=="),
    (re.compile(r"\band\b"), "or"),
    (re.compile(r"\bAND\b"), "OR"),
    (re.compile(r"^\s*redis\.call\(.*\)$"), ""),
]


def draw(count: int, seed: int, *, root: Path = ROOT, under: str = "") -> list[Mutant]:
    """So many changes by chance; the same seed on the same code draws the same ones."""
    spots = list(_spots(root, under))
    random.Random(seed).shuffle(spots)
    fitting = (
        mutant for path, spot in spots if (mutant := _mutant(root, path, spot)) and not [*faults_of(mutant, root)]
    )
    return list(islice(fitting, count))


@cache
def _spots(root: Path, under: str) -> list[tuple[Path, Spot]]:
    """Where something can be changed. To find that takes seconds, and the code stays as it is: only copies change."""
    return [(path, spot) for path in _files(root, under) for spot in _spots_of(path)]


def _files(root: Path, under: str) -> list[Path]:
    start = root / SOURCE / under
    places = [start] if start.is_file() else sorted(start.rglob("*"))
    return [one for one in places if one.suffix in (".py", ".lua", ".sql") and place_of_tests(root, one)]


def place_of_tests(root: Path, path: Path) -> str | None:
    """The tests that a file's changes are tried with."""
    place = path.relative_to(root / SOURCE).as_posix()
    if place.startswith(_NOT_DRAWN):
        return None
    fitting = [start for start in _TESTS if f"{place}/".startswith(f"{start}/")]
    return _TESTS[max(fitting, key=len)] if fitting else None


def _spots_of(path: Path) -> Iterator[Spot]:
    text = path.read_text()
    return _spots_of_python(text) if path.suffix == ".py" else _spots_of_lines(text)


def _mutant(root: Path, path: Path, spot: Spot) -> Mutant | None:
    """The change with as many lines before it as make it the only one of its kind."""
    number, start, end, new = spot
    text = path.read_text()
    lines = text.splitlines(keepends=True)
    line = lines[number]
    changed = line[:start] + new + line[end:]
    for first in range(number, max(number - 4, -1), -1):
        before = "".join(lines[first:number])
        if text.count(before + line) == 1:
            what = f"line {number + 1}: {line.strip()!r} becomes {changed.strip()!r}"
            file = path.relative_to(root).as_posix()
            tests = f"{_OF_ALL} {place_of_tests(root, path)} --timeout={HANGS_S}"
            return Mutant(what, file, before + line, before + changed, tests, hangs=True, area="chance")
    return None


def _spots_of_lines(text: str) -> Iterator[Spot]:
    for number, line in enumerate(text.splitlines()):
        if not line.lstrip().startswith("--"):
            for pattern, new in _LUA_AND_SQL:
                for found in pattern.finditer(line):
                    yield number, found.start(), found.end(), new


def _spots_of_python(text: str) -> Iterator[Spot]:
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Compare(left=left, ops=[operator], comparators=[right]) if left.end_lineno == right.lineno:
                yield left.end_lineno - 1, left.end_col_offset or 0, right.col_offset, f" {_SWAPS[type(operator)]} "
            case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) if test.lineno == test.end_lineno:
                yield _around(test, f"not ({lines[test.lineno - 1][test.col_offset : test.end_col_offset]})")
            case ast.Constant(value=bool(value)) if node.lineno == node.end_lineno:
                yield _around(node, str(not value))
            case ast.Constant(value=int(value)):
                yield _around(node, str(value + 1))
            case ast.Expr(value=ast.Call()) | ast.Assign(targets=[ast.Attribute()]) | ast.AugAssign():
                if node.lineno == node.end_lineno and "_logger" not in lines[node.lineno - 1]:
                    yield _around(node, "pass")


def _around(node: ast.expr | ast.stmt, new: str) -> Spot:
    return node.lineno - 1, node.col_offset, node.end_col_offset or 0, new
