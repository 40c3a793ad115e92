"""Finds the app that a command names, as in `rota worker tasks:app`."""

import importlib
from collections.abc import Callable

from rota.errors import InvalidInput, RotaError
from rota.sdk.tasks.app import Rota

APP = "__rota_app__"
"""The attribute in which something that stands in the place of an app has it."""
RECOGNISERS: list[Callable[[object], Rota | None]] = []
"""Asked about what has no such attribute, because it is a plain part of a program."""


def load_app(name: str) -> Rota:
    """Import an app: `module:name`, or only the module if the app's name there is `app`."""
    module_name, _, attribute = name.partition(":")
    attribute = attribute or "app"
    try:
        module = importlib.import_module(module_name)
    except RotaError:
        raise
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and f"{module_name}.".startswith(f"{error.name}."):
            raise InvalidInput("app", f"{name!r}: there is no module {module_name!r} here; write module:app") from None
        # It is about something in the module itself, or that it imports.
        told = f"importing {module_name!r} failed: {type(error).__name__}: {error}; ROTA_DEBUG=1 shows where"
        raise InvalidInput("app", f"{name!r}: {told}") from error
    found = app_of(getattr(module, attribute, None))
    if found is None:
        apps = sorted(key for key, value in vars(module).items() if app_of(value) is not None)
        hint = f"it has {', '.join(apps)}" if apps else "it has none; make one with app = Rota(url)"
        raise InvalidInput("app", f"{name!r}: the module {module_name!r} has no app {attribute!r}; {hint}")
    return found


def app_of(value: object) -> Rota | None:
    """The app that something is, or that is behind it: what another library's programs have in its place says so."""
    found = value if isinstance(value, Rota) else getattr(value, APP, None)
    if isinstance(found, Rota):
        return found
    return next((app for recognise in RECOGNISERS if (app := recognise(value)) is not None), None)
