"""No test has a part that it never plays: a scene that is defined and not run passes whatever it says."""

import ast
from pathlib import Path

TESTS = Path(__file__).parent
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def unplayed(source: str) -> list[str]:
    """Functions within functions that nobody names, by both their names."""
    return [
        f"{outer.name}: {inner.name}"
        for outer in ast.walk(ast.parse(source))
        if isinstance(outer, _Function)
        for inner in _own_functions(outer)
        if inner.name not in _names(outer)
    ]


def _own_functions(outer: _Function) -> list[_Function]:
    """Those that are neither methods nor given to a decorator, which may well know what to do with them."""
    blocks = [node for node in ast.walk(outer) if not isinstance(node, ast.ClassDef)]
    children = [child for block in blocks for child in ast.iter_child_nodes(block)]
    return [child for child in children if isinstance(child, _Function) and not child.decorator_list]


def _names(outer: _Function) -> set[str]:
    return {node.id for node in ast.walk(outer) if isinstance(node, ast.Name)}


def test_every_scene_is_played() -> None:
    found = {str(path): unplayed(path.read_text()) for path in TESTS.rglob("*.py")}

    assert {path: names for path, names in found.items() if names} == {}


def test_a_scene_that_is_not_played_is_found() -> None:
    forgotten = "def test_it():\n    async def scene():\n        assert False\n"

    assert unplayed(forgotten) == ["test_it: scene"]
    assert unplayed(f"{forgotten}    asyncio.run(scene())\n") == []


def test_methods_and_what_is_decorated_need_no_name() -> None:
    inner = "    class Part:\n        def play(self): ...\n    @app.get('/')\n    def page(): ...\n"

    assert unplayed(f"def test_it():\n{inner}") == []
