"""The Python function of a job: found by name, called, and its value or exception turned into an outcome."""

import importlib
import inspect
import traceback
from collections.abc import Callable

import msgspec

from rota.engine.executors.metadata import did_you_mean
from rota.engine.executors.shortage import raise_if_import_ran_short
from rota.errors import GiveUp, InvalidInput, TryAgain
from rota.model.limits import MAX_RESULT_BYTES, encode_json
from rota.model.runs.outcome import Outcome, OutcomeKind, failed, refused, succeeded

MAX_MESSAGE = 16 * 1024
MAX_TRACEBACK = 64 * 1024
_MAX_FRAMES = 100
_ROTA = __name__.partition(".")[0]
SUCCEEDED = succeeded()
TASK_FUNCTION = "__rota_function__"
"""The attribute in which a task, which stands in the place of its function, has that function."""


class Function:
    """A function that jobs call, with what is asked about it once instead of at each call."""

    __slots__ = ("call", "is_async", "name")

    def __init__(self, name: str, call: Callable[..., object]) -> None:
        self.name = name
        self.call = call
        self.is_async = inspect.iscoroutinefunction(call) or inspect.iscoroutinefunction(type(call).__call__)


def check_function_name(field: str, name: object) -> str:
    """`package.module:name`, where the name may have dots; the module is not imported."""
    if not isinstance(name, str):
        raise InvalidInput(field, f"must be a string like 'package.module:function', got {name!r}")
    module, colon, qualname = name.partition(":")
    if not colon or not _is_dotted(module) or not _is_dotted(qualname):
        raise InvalidInput(field, f"{name!r} is not a function: write 'package.module:function'")
    return name


def find_function(name: str) -> Function | Outcome:
    """Import a function; when it cannot be had, the outcome that says why. Without a descriptor for its module's files,
    or memory for what an import takes, it raises `NodeStrained`. Call it in a thread: imports take long."""
    module_name, _, qualname = name.partition(":")
    try:
        target: object = importlib.import_module(module_name)
    except BaseException as error:
        outcome = outcome_of_error(error)
        raise_if_import_ran_short(error)
        if isinstance(error, ImportError):
            return refused("function", f"{name}: cannot import {module_name!r}: {error}")
        return outcome
    where = f"module {module_name!r}"
    for part in qualname.split("."):
        if not hasattr(target, part):
            return refused("function", f"{name}: {where} has no {part!r}{did_you_mean(part, dir(target))}")
        target = getattr(target, part)
        where = repr(part)
    target = getattr(target, TASK_FUNCTION, target)
    if not callable(target):
        return refused("function", f"{name}: is {type(target).__name__!r}, which cannot be called")
    return Function(name, target)


def outcome_of_value(value: object) -> Outcome:
    """A function's return value as a result; one that JSON cannot carry fails the job."""
    if value is None:
        return SUCCEEDED
    try:
        result = msgspec.to_builtins(value, str_keys=True)
        encode_json("result", result, MAX_RESULT_BYTES)
    except (InvalidInput, TypeError, ValueError, OverflowError, RecursionError) as error:
        return failed({"type": "result", "message": _text(f"the function's return value cannot be kept: {error}")})
    return succeeded(result)


def outcome_of_error(
    error: BaseException, function: Function | None = None, arguments: dict[str, object] | None = None
) -> Outcome:
    """An exception as a failure; arguments that the function cannot take will never do, so that job is refused."""
    if isinstance(error, TypeError) and function is not None and not _has_reached_the_job(error):
        reason = _why_arguments_do_not_fit(function, arguments or {})
        if reason:
            return refused("arguments", f"{function.name}: {reason}")
    facts = _facts_of(error)
    if isinstance(error, GiveUp):
        return Outcome(OutcomeKind.REFUSED, None, facts)
    return Outcome(OutcomeKind.FAILED, None, facts, error.delay_ms if isinstance(error, TryAgain) else None)


def _facts_of(error: BaseException) -> dict[str, object]:
    cause = error.__cause__ if isinstance(error, TryAgain | GiveUp) else None
    told = error if cause is None else cause
    traced = error if told.__traceback__ is None else told  # what was never raised has no traceback of its own
    kind = type(told)
    return {
        "type": kind.__name__,
        "class": f"{kind.__module__}.{kind.__qualname__}",
        "message": _message_of(told),
        "traceback": _traceback_of(traced),
    }


def _has_reached_the_job(error: BaseException) -> bool:
    """Whether code of the job had begun. A decorator that adds an argument has the signature of what it wraps, so that
    signature says nothing of an error from within."""
    frames = traceback.walk_tb(error.__traceback__)
    return any(str(frame.f_globals.get("__package__")).partition(".")[0] != _ROTA for frame, _ in frames)


def _why_arguments_do_not_fit(function: Function, arguments: dict[str, object]) -> str | None:
    try:
        inspect.signature(function.call).bind(**arguments)
    except TypeError as error:
        return str(error)
    except ValueError:  # a built-in function without a signature
        return None
    return None


def _message_of(error: BaseException) -> str:
    try:
        return _text(str(error))
    except BaseException as second:  # an exception whose own __str__ fails must not hide that the job failed
        return f"<no message: its __str__ raised {type(second).__name__}>"


def _traceback_of(error: BaseException) -> str:
    """The traceback from the job's own code on; of a long one the end, where the cause is."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_globals.get("__package__") == __package__:
        trace = trace.tb_next
    try:
        lines = traceback.format_exception(type(error), error, trace, limit=-_MAX_FRAMES)
    except Exception as second:
        return f"<no traceback: {type(second).__name__}>"
    text = "".join(lines)
    if len(text) > MAX_TRACEBACK:
        text = f"[... {len(text) - MAX_TRACEBACK} characters cut ...]\n{text[-MAX_TRACEBACK:]}"
    return _valid(text)


def _text(text: str) -> str:
    if len(text) > MAX_MESSAGE:
        text = f"{text[:MAX_MESSAGE]} [... {len(text) - MAX_MESSAGE} characters cut ...]"
    return _valid(text)


def _valid(text: str) -> str:
    """Without lone surrogates and without a class of its own, which no store can carry."""
    return str.__str__(text) if text.isascii() else text.encode("utf-8", "replace").decode()


def _is_dotted(name: str) -> bool:
    return all(part.isidentifier() for part in name.split("."))
