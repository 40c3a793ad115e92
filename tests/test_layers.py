"""Imports run downward only: surfaces -> engine -> store -> model, and surfaces leave each other alone. Every import
counts, also within functions and those for type checkers, because each one is something that a reader has to know.

Whatever changes the store goes through the engine, and one place makes jobs: that is looked for here too."""

import ast
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import rota
from rota.store.contract.claims import Lifeline
from rota.store.contract.store import Store

SOURCE = Path(rota.__file__).parent

BELOW: dict[str, set[str]] = {
    "lazy_names": set(),
    "errors": set(),
    "clock": {"errors"},
    "model": {"errors"},
    "store": {"errors", "clock", "model"},
    "settings": {"errors", "clock", "model"},
    "engine": {"errors", "clock", "model", "store", "settings"},
    "streaming": {"errors", "clock", "model", "store", "settings", "engine"},
    "shapes": {"errors", "clock", "model", "store", "settings", "engine"},
    "ending": {"errors", "clock", "model", "store", "settings", "engine"},
}
"""The layers below all surfaces."""
SURFACES: dict[str, set[str]] = {
    "dialects": {"server", "cli"},
    "server": set(),
    "dashboard": set(),
    "sdk": {"dialects", "host"},
    "host": {"dialects", "server", "dashboard"},
    "moving": {"sdk"},
    "cli": {"host", "dialects", "sdk"},
    "testing": {"sdk", "dialects"},
    "": {"sdk", "dialects"},
    "__main__": {"cli"},
}
"""What a surface may import beside the layers below: a host puts a process together, and the command starts it, or
an app does, which the command may start too. A dialect declares operations and verbs as those of the server and the
command are, and whoever reads the file asks dialects for their part of it. What two of them need is in `shapes` or
below. The empty name is `rota` itself, which shows users what they import, a dialect's own words among it."""
MAY_IMPORT = BELOW | {surface: {*BELOW, *others} for surface, others in SURFACES.items()}

MODEL_LIBRARIES = {"msgspec"}
FREE_NAMES = {"rota.__version__"}
"""What everybody may take from the package itself."""

WRITING = {
    "append_audit", "append_logs", "append_topic", "apply_verdicts", "beat", "begin_jobs", "cancel_jobs",
    "claim_due_schedules", "claim_jobs", "clear_outbox",
    "delete_configurations", "delete_job_types", "delete_jobs", "delete_logs", "delete_node_types", "delete_schedules",
    "delete_setting", "enqueue_jobs", "enqueue_jobs_within", "finish_and_claim_jobs", "finish_jobs", "fire_schedules",
    "forget_pulse",
    "forget_queue", "forget_rates",
    "leave_queue", "lifeline", "mark_orphans", "pause_queue", "put_configurations", "put_job_types",
    "put_node_types", "put_schedules", "put_setting", "reclaim_jobs", "record_events", "recover_claims", "remove_nodes",
    "renew_claims", "restore_jobs", "restore_logs", "restore_queue", "restore_topic", "resume_queue", "retry_jobs",
    "settle_audit", "trim_audit", "trim_history", "trim_topics", "try_to_write",
}  # fmt: skip
"""Operations of a store, and of a lifeline, that change something. `lifeline` opens the way to two of them."""
READING = {
    "claims_of_node", "close", "configuration_uuid", "contacts", "copy_queue", "count_jobs", "count_logs",
    "count_series", "definitions_version",
    "find_configurations", "find_jobs", "find_schedules", "get_setting", "list_audit", "list_configurations",
    "list_evaluations", "list_events", "list_job_types", "list_jobs", "list_node_types", "list_nodes", "list_queues",
    "list_schedules", "list_series", "list_settings", "list_ticks", "list_topics", "list_validations",
    "listening_configurations", "load_configurations", "match_events", "next_schedules", "now", "paused_queues",
    "problems",
    "read_job_rules", "read_logs", "read_outbox", "read_progress", "read_pulses", "read_stats", "read_topic",
    "read_totals",
    "read_wait", "reopen",
    "schedule_uuid", "troubles", "unreadable_records", "url", "waker",
}  # fmt: skip
MAY_WRITE = {"engine", "store", "testing"}
"""The testing tools have a store that stands before another one and fails on demand."""
JOB_MAKERS = {"rota.engine.jobs.spec", "rota.store.records.unreadable", "rota.shapes.jobs"}
"""Where a `JobSpec` is made: the door of all jobs, the stand-in for the record of one that nobody can read, and what a
server tells of one."""
OWNERSHIP = {"refuse_file_owned", "refuse_for_file"}
"""Who may change what a file or an app owns is decided in the engine."""


class Import(NamedTuple):
    """One import statement's target, as a full dotted name."""

    module: str
    target: str
    line: int


class Tree:
    """The modules of a package, and what they import."""

    def __init__(self, root: Path) -> None:
        self.files = {_module_name(root, path): path for path in sorted(root.rglob("*.py"))}
        self._parsed = {module: ast.parse(path.read_text()) for module, path in self.files.items()}
        self.imports = [found for module in self.files for found in self._imports_of(module)]

    def module_of(self, target: str) -> str | None:
        """The module that an import loads: of `rota.model.job.Job` it is `rota.model.job`."""
        while target:
            if target in self.files:
                return target
            target = target.rpartition(".")[0]
        return None

    def edges(self) -> Iterator[tuple[Import, str]]:
        """Imports of one module of the package by another."""
        for found in self.imports:
            target = self.module_of(found.target)
            if target and target != found.module and found.target not in FREE_NAMES:
                yield found, target

    def nodes(self) -> Iterator[tuple[str, ast.AST]]:
        """Every piece of syntax, and the module that has it."""
        for module, parsed in self._parsed.items():
            for node in ast.walk(parsed):
                yield module, node

    def attributes(self) -> Iterator[tuple[str, ast.Attribute]]:
        """Every `value.attr`, and the module that has it."""
        for module, node in self.nodes():
            if isinstance(node, ast.Attribute):
                yield module, node

    def is_module(self, module: str, value: ast.expr) -> bool:
        """Whether an expression is the name of a module of the package that this one imports."""
        targets = {found.target for found in self.imports if found.module == module}
        return isinstance(value, ast.Name) and any(
            target in self.files and target.rpartition(".")[2] == value.id for target in targets
        )

    def _imports_of(self, module: str) -> Iterator[Import]:
        path = self.files[module]
        package = module if path.name == "__init__.py" else module.rpartition(".")[0]
        for node in ast.walk(self._parsed[module]):
            for target in _targets(node, package):
                yield Import(module, target, getattr(node, "lineno", 0))


def _module_name(root: Path, path: Path) -> str:
    parts = path.relative_to(root.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _targets(node: ast.AST, package: str) -> list[str]:
    match node:
        case ast.Import(names=names):
            return [name.name for name in names]
        case ast.ImportFrom(module=module, names=names, level=level):
            base = ".".join(package.split(".")[: len(package.split(".")) - level + 1]) if level else ""
            origin = ".".join(part for part in (base, module) if part)
            return [f"{origin}.{name.name}" for name in names]
        case ast.Call(
            func=ast.Name(id="import_module" | "__import__") | ast.Attribute(attr="import_module"),
            args=[ast.Constant(value=str(target)), *_],
        ):
            return [target]
    return []


def layer_of(module: str) -> str:
    """The first name below `rota`."""
    return module.split(".")[1] if "." in module else ""


def upward_imports(tree: Tree) -> list[str]:
    return [
        f"{found.module}:{found.line} imports {target}"
        for found, target in tree.edges()
        if layer_of(target) not in MAY_IMPORT.get(layer_of(found.module), set()) | {layer_of(found.module)}
    ]


def unknown_layers(tree: Tree) -> list[str]:
    return sorted({layer_of(module) for module in tree.files} - set(MAY_IMPORT))


def imports_between_dialects(tree: Tree) -> list[str]:
    """A dialect is a folder in `dialects`; modules beside the folders may know them all."""
    dialects = {module: _dialect_of(tree, module) for module in tree.files}
    return [
        f"{found.module}:{found.line} imports {target}"
        for found, target in tree.edges()
        if dialects[found.module] and dialects[target] and dialects[found.module] != dialects[target]
    ]


def _dialect_of(tree: Tree, module: str) -> str | None:
    parts = module.split(".")
    if len(parts) < 3 or parts[1] != "dialects":
        return None
    return parts[2] if tree.files.get(".".join(parts[:3]), Path()).name == "__init__.py" else None


def import_cycle(tree: Tree) -> list[str]:
    """The modules of one cycle, or none."""
    graph: dict[str, set[str]] = {module: set() for module in tree.files}
    for found, target in tree.edges():
        graph[found.module].add(target)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def foreign_imports_of_model(tree: Tree) -> list[str]:
    allowed = {"rota", *MODEL_LIBRARIES, *sys.stdlib_module_names}
    return [
        f"{found.module}:{found.line} imports {found.target}"
        for found in tree.imports
        if layer_of(found.module) == "model" and found.target.split(".")[0] not in allowed
    ]


def writes_outside_the_engine(tree: Tree) -> list[str]:
    """Store operations that change something, called or handed on. A function of an imported module is none."""
    return [
        f"{module}:{node.lineno} uses {node.attr}"
        for module, node in tree.attributes()
        if node.attr in WRITING and layer_of(module) not in MAY_WRITE and not tree.is_module(module, node.value)
    ]


def makers_of_jobs(tree: Tree) -> set[str]:
    """Modules that make a `JobSpec`."""
    return {
        module for module, node in tree.nodes() if isinstance(node, ast.Call) and _last_name(node.func) == "JobSpec"
    }


def judges_of_ownership(tree: Tree) -> list[str]:
    return [
        f"{found.module}:{found.line} imports {found.target}"
        for found in tree.imports
        if found.target.rpartition(".")[2] in OWNERSHIP and layer_of(found.module) != "engine"
    ]


def _last_name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def operations_of(*protocols: type) -> set[str]:
    return {name for one in protocols for name in dir(one) if not name.startswith("_")}


# -- Rota ----------------------------------------------------------------------------------------------------------


@cache
def source() -> Tree:
    return Tree(SOURCE)


def test_every_package_has_a_layer() -> None:
    assert unknown_layers(source()) == []


def test_imports_run_downward_only() -> None:
    assert upward_imports(source()) == []


def test_no_dialect_imports_another() -> None:
    assert imports_between_dialects(source()) == []


def test_no_modules_import_each_other_in_a_cycle() -> None:
    assert import_cycle(source()) == []


def test_the_model_needs_only_msgspec() -> None:
    assert foreign_imports_of_model(source()) == []


def test_only_the_engine_writes_to_the_store() -> None:
    assert writes_outside_the_engine(source()) == []


def test_every_operation_of_a_store_is_known_to_read_or_to_write() -> None:
    assert operations_of(Store, Lifeline) == READING | WRITING
    assert set() == READING & WRITING


def test_one_place_makes_jobs() -> None:
    assert makers_of_jobs(source()) == JOB_MAKERS


def test_only_the_engine_judges_what_a_file_owns() -> None:
    assert judges_of_ownership(source()) == []


# -- the checks themselves -----------------------------------------------------------------------------------------


def made_up(tmp_path: Path, files: dict[str, str]) -> Tree:
    root = tmp_path / "rota"
    for name, text in {"__init__.py": "", **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Tree(root)


def test_an_upward_import_is_found_in_whatever_way_it_is_written(tmp_path: Path) -> None:
    tree = made_up(
        tmp_path,
        {
            "settings.py": "",
            "engine/__init__.py": "",
            "engine/worker.py": "def work() -> None: ...",
            "store/__init__.py": "import rota.engine",
            "store/a.py": "from rota.engine.worker import work",
            "store/b.py": "def late():\n    from rota.engine import worker",
            "store/c.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ..engine import worker",
            "store/d.py": "import importlib\nimportlib.import_module('rota.engine.worker')",
            "store/e.py": "from rota import settings",
            "model/__init__.py": "from rota.store import a",
        },
    )

    assert upward_imports(tree) == [
        "rota.model:1 imports rota.store.a",
        "rota.store:1 imports rota.engine",
        "rota.store.a:1 imports rota.engine.worker",
        "rota.store.b:2 imports rota.engine.worker",
        "rota.store.c:3 imports rota.engine.worker",
        "rota.store.d:2 imports rota.engine.worker",
        "rota.store.e:1 imports rota.settings",
    ]


def test_a_downward_import_is_fine(tmp_path: Path) -> None:
    tree = made_up(
        tmp_path,
        {
            "__init__.py": "from rota.sdk import Rota",
            "errors.py": "",
            "settings.py": "from rota.errors import InvalidInput",
            "sdk/__init__.py": "from rota.engine import intake\nfrom rota.settings import Settings",
            "engine/__init__.py": "",
            "engine/intake.py": "from rota import __version__\nfrom rota.model.job import Job\nimport rota.settings",
            "model/job.py": "from . import ids\nfrom .ids import new_id",
            "model/ids.py": "",
        },
    )

    assert upward_imports(tree) == []
    assert import_cycle(tree) == []


def test_a_package_without_a_layer_is_found(tmp_path: Path) -> None:
    assert unknown_layers(made_up(tmp_path, {"utils/__init__.py": ""})) == ["utils"]


def test_a_dialect_that_imports_another_is_found(tmp_path: Path) -> None:
    tree = made_up(
        tmp_path,
        {
            "dialects/__init__.py": "from rota.dialects import tasks, light",
            "dialects/tasks/__init__.py": "from rota.dialects.tasks import words",
            "dialects/tasks/words.py": "from rota.dialects import shapes",
            "dialects/light/__init__.py": "from rota.dialects.tasks.words import WORDS",
            "dialects/shapes.py": "",
        },
    )

    assert imports_between_dialects(tree) == ["rota.dialects.light:1 imports rota.dialects.tasks.words"]


def test_a_cycle_is_found_even_if_one_import_waits_in_a_function(tmp_path: Path) -> None:
    files = {"model/a.py": "from rota.model.b import B", "model/b.py": "def late():\n    from rota.model.a import A"}

    assert set(import_cycle(made_up(tmp_path, files))) == {"rota.model.a", "rota.model.b"}


def test_a_foreign_import_in_the_model_is_found(tmp_path: Path) -> None:
    tree = made_up(tmp_path, {"model/a.py": "import json, msgspec\nfrom yaml import load"})

    assert foreign_imports_of_model(tree) == ["rota.model.a:2 imports yaml.load"]


def test_a_surface_that_imports_another_is_found(tmp_path: Path) -> None:
    tree = made_up(
        tmp_path,
        {
            "cli/run.py": "from rota.host import process\nfrom rota.server.listen import address_of",
            "host/process.py": "from rota.server.listen import address_of\nfrom rota.dialects import tasks",
            "server/listen.py": "import rota.cli.run",
            "sdk/flask.py": "from rota.server.listen import address_of",
            "dialects/tasks.py": "from rota.shapes import jobs",
            "shapes/jobs.py": "",
        },
    )

    assert upward_imports(tree) == [
        "rota.cli.run:2 imports rota.server.listen",
        "rota.sdk.flask:1 imports rota.server.listen",
        "rota.server.listen:1 imports rota.cli.run",
    ]


def test_a_write_outside_the_engine_is_found_in_whatever_way_it_is_done(tmp_path: Path) -> None:
    tree = made_up(
        tmp_path,
        {
            "engine/jobs.py": "def cancel(store):\n    store.cancel_jobs([], now=0)",
            "store/sqlite.py": "class S:\n    def a(self):\n        self.cancel_jobs([], now=0)",
            "cli/a.py": "def run(rota):\n    rota.store.cancel_jobs([], now=0)",
            "cli/b.py": "def run(target):\n    _change(lambda store: store.pause_queue)",
            "cli/c.py": "def run(rota):\n    rota.store.list_jobs(None, limit=1)",
            "server/d.py": "async def run(api):\n    await api.in_thread(api.store.put_setting, 'a', 'b')",
            "sdk/calls.py": "def cancel_jobs(): ...",
            "sdk/client.py": "from rota.sdk import calls\ncancel_jobs = calls.cancel_jobs",
        },
    )

    assert writes_outside_the_engine(tree) == [
        "rota.cli.a:2 uses cancel_jobs",
        "rota.cli.b:2 uses pause_queue",
        "rota.server.d:2 uses put_setting",
    ]


def test_a_second_maker_of_jobs_is_found(tmp_path: Path) -> None:
    tree = made_up(
        tmp_path,
        {
            "engine/a.py": "from rota.model.job import JobSpec\ndef make(): return JobSpec(id='')",
            "engine/b.py": "from rota.model import job\ndef make(): return job.JobSpec(id='')",
            "engine/c.py": "from rota.model.job import JobSpec\ndef read(spec: JobSpec) -> JobSpec: return spec",
            "model/job.py": "class JobSpec: ...",
        },
    )

    assert makers_of_jobs(tree) == {"rota.engine.a", "rota.engine.b"}


def test_a_surface_that_judges_ownership_is_found(tmp_path: Path) -> None:
    rule = "from rota.engine.ownership import refuse_file_owned"
    tree = made_up(tmp_path, {"cli/a.py": rule, "engine/b.py": rule, "engine/ownership.py": ""})

    assert judges_of_ownership(tree) == ["rota.cli.a:1 imports rota.engine.ownership.refuse_file_owned"]
