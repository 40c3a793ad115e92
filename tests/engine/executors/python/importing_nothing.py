"""A module that needs another one, which is not there."""

import no_such_module_anywhere  # type: ignore[import-not-found]  # noqa: F401
