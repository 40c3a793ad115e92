"""Imports run downward only: surfaces -> engine -> store -> model. Every import counts, also within functions and those
for type checkers, because each one is something that a reader has to know."""

import ast
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import rota

SOURCE = Path(rota.__file__).parent

SURFACES = {"cli", "host", "server", "sdk", "dashboard", "dialects", "__main__", ""}
"""The empty name is `rota` itself, which shows users what they import."""

MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "clock": {"errors"},
    "model": {"errors"},
    "store": {"errors", "clock", "model"},
    "settings": {"errors", "clock", "model"},
    "engine": {"errors", "clock", "model", "store", "settings"},
    "streaming": {"errors", "clock", "model", "store", "settings", "engine"},
    "shapes": {"errors", "clock", "model", "store", "settings", "engine"},
}
MAY_IMPORT |= {surface: {*MAY_IMPORT, *SURFACES} for surface in SURFACES}

MODEL_LIBRARIES = {"msgspec"}
FREE_NAMES = {"rota.__version__"}
"""What everybody may take from the package itself."""


class Import(NamedTuple):
    """One import statement's target, as a full dotted name."""

    module: str
    target: str
    line: int


class Tree:
    """The modules of a package, and what they import."""

    def __init__(self, root: Path) -> None:
        self.files = {_module_name(root, path): path for path in sorted(root.rglob("*.py"))}
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

    def _imports_of(self, module: str) -> Iterator[Import]:
        path = self.files[module]
        package = module if path.name == "__init__.py" else module.rpartition(".")[0]
        for node in ast.walk(ast.parse(path.read_text())):
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


# -- Rota ----------------------------------------------------------------------------------------------------------


def test_every_package_has_a_layer() -> None:
    assert unknown_layers(Tree(SOURCE)) == []


def test_imports_run_downward_only() -> None:
    assert upward_imports(Tree(SOURCE)) == []


def test_no_dialect_imports_another() -> None:
    assert imports_between_dialects(Tree(SOURCE)) == []


def test_no_modules_import_each_other_in_a_cycle() -> None:
    assert import_cycle(Tree(SOURCE)) == []


def test_the_model_needs_only_msgspec() -> None:
    assert foreign_imports_of_model(Tree(SOURCE)) == []


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
