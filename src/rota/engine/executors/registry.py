"""Finds executors by name: built-in ones, and those that packages register as entry points of `rota.executors`.

An entry point names a class, or any callable without arguments, that gives an `Executor`. Everything is imported when
it is first asked for. A plug-in cannot take the name of a built-in executor.
"""

import importlib
import logging
import threading
from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points

from rota.engine.executors.executor import Executor, ExecutorOptions
from rota.engine.executors.metadata import did_you_mean
from rota.engine.executors.shortage import raise_if_import_ran_short
from rota.errors import InvalidInput

GROUP = "rota.executors"
BUILT_IN = {
    "event": "rota.engine.executors.built_in.event:EventExecutor",
    "bash": "rota.engine.executors.bash.bash:BashExecutor",
    "http": "rota.engine.executors.http.http:HttpExecutor",
    "light": "rota.engine.topics.light.executor:LightExecutor",
    "log": "rota.engine.executors.built_in.log:LogExecutor",
    "python": "rota.engine.executors.python.python:PythonExecutor",
    "sidekiq": "rota.engine.executors.sidekiq.sidekiq:SidekiqExecutor",
    "topic": "rota.engine.executors.built_in.topic:TopicExecutor",
}
_STARTING_CHILDREN = frozenset({"bash", "python", "sidekiq"})
_logger = logging.getLogger(__name__)


class ExecutorRegistry:
    """The executors of one process, each made once. May be asked from any thread."""

    def __init__(self, made: Mapping[str, Executor] | None = None, *, options: ExecutorOptions | None = None) -> None:
        """`made` holds executors that were made elsewhere, ready to use."""
        self.options = options or ExecutorOptions()
        self._executors: dict[str, Executor] = dict(made or {})
        self._made_elsewhere = set(self._executors)
        self._plug_ins: dict[str, list[EntryPoint]] | None = None
        self._lock = threading.RLock()

    def names(self) -> list[str]:
        """Every name that `get` knows; a plug-in among them may still turn out to be broken."""
        return sorted({*BUILT_IN, *self._find_plug_ins()})

    def get(self, name: str) -> Executor:
        """The executor of this name; `InvalidInput` when there is none or its plug-in is broken, `NodeStrained` when
        there is no descriptor for the files of its module, or no memory."""
        executor = self._executors.get(name)
        if executor is None:
            with self._lock:
                try:
                    executor = self._executors.get(name) or self._make(name)
                except Exception as error:
                    raise_if_import_ran_short(error)
                    raise
                self._executors[name] = executor
        return executor

    def provide(self, name: str, executor: Executor) -> None:
        """Use an executor that was made elsewhere, because it needs more than its name."""
        with self._lock:
            self._executors[name] = executor
            self._made_elsewhere.add(name)

    def can_make(self, name: str) -> bool:
        """Whether another process with the same packages and options has the same executor of this name."""
        return name not in self._made_elsewhere

    async def close(self) -> None:
        """Close every executor that was made; one that fails to close does not keep the others from it."""
        executors, self._executors = self._executors, {}
        for name, executor in executors.items():
            try:
                await executor.close()
            except Exception:
                _logger.exception("an executor did not close", extra={"executor": name})

    def _make(self, name: str) -> Executor:
        if name in BUILT_IN:
            module, _, attribute = BUILT_IN[name].partition(":")
            make = getattr(importlib.import_module(module), attribute)
            if name == "http":
                made: Executor = make(self.options.http_allow)
            else:
                made = make(self.options) if name in _STARTING_CHILDREN else make()
            return made
        plug_ins = self._find_plug_ins().get(name)
        if not plug_ins:
            names = self.names()
            raise InvalidInput(
                "executor", f"no executor {name!r}{did_you_mean(name, names)}; known are {', '.join(names)}"
            )
        if len(plug_ins) > 1:
            packages = ", ".join(sorted(_package_of(plug_in) for plug_in in plug_ins))
            raise InvalidInput("executor", f"several packages register {name!r}: {packages}; keep one of them")
        return _load(plug_ins[0])

    def _find_plug_ins(self) -> dict[str, list[EntryPoint]]:
        with self._lock:
            if self._plug_ins is None:
                self._plug_ins = _installed_plug_ins()
            return self._plug_ins


def _installed_plug_ins() -> dict[str, list[EntryPoint]]:
    plug_ins: dict[str, list[EntryPoint]] = {}
    for entry_point in entry_points(group=GROUP):
        if entry_point.name in BUILT_IN:
            message = "a plug-in has the name of a built-in executor and is not used"
            _logger.warning(message, extra={"executor": entry_point.name, "package": _package_of(entry_point)})
        else:
            plug_ins.setdefault(entry_point.name, []).append(entry_point)
    return plug_ins


def _load(entry_point: EntryPoint) -> Executor:
    broken = f"the plug-in {entry_point.name!r} of {_package_of(entry_point)} ({entry_point.value})"
    try:
        executor = entry_point.load()()
    except Exception as error:
        raise_if_import_ran_short(error)
        raise InvalidInput("executor", f"{broken} cannot be loaded: {type(error).__name__}: {error}") from error
    missing = [part for part in ("check", "run", "close") if not callable(getattr(executor, part, None))]
    if missing:
        raise InvalidInput("executor", f"{broken} is no executor: it lacks {', '.join(missing)}")
    plug_in: Executor = executor
    return plug_in


def _package_of(entry_point: EntryPoint) -> str:
    return entry_point.dist.name if entry_point.dist is not None else "an unknown package"
