"""Definitions as a file has them: compared with what is there, or brought in, all or none."""

from functools import partial
from typing import Annotated

from msgspec import Meta, Struct

from rota.engine.access.keys.access import Scope
from rota.engine.definitions.file import Difference, Wanted, schedule_hints
from rota.server.api import Api
from rota.server.operations import Call, Routes
from rota.settings.values import MAX_OWNER
from rota.shapes.differences import DifferenceShape, difference_shape

routes = Routes("definitions")
_MAX_FILE_BYTES = 16 * 1024 * 1024


class FileOfDefinitions(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a file defines, and the name by which it owns that."""

    owner: Annotated[str, Meta(min_length=1, max_length=MAX_OWNER, pattern="^(?!app:)")]
    file: dict[str, object]
    """`node_types`, `job_types`, `schedules` and `configurations`, as in `rota.yaml`."""
    prune: bool = False
    """Remove also what other files own and this one does not have."""


class Differences(Struct, frozen=True):
    """What differs, and what looks like a slip in it."""

    changes: list[DifferenceShape]
    hints: list[str]


_post = partial(
    routes.post,
    needs=Scope.TYPES_WRITE,
    body=FileOfDefinitions,
    answer=Differences,
    errors=(409,),
    body_limit=_MAX_FILE_BYTES,
)
"""An operation that takes a file of definitions."""


@_post("/api/definitions/diff")
def diff_definitions(api: Api, call: Call[FileOfDefinitions, None]) -> Differences:
    """Say what applying a file would change, field by field. Nothing is changed.

    It tells all of a definition, also what may be secret, so it needs the same rights as applying it."""
    wanted = _wanted(api, call.body)
    return _told(api, wanted, api.engine.file.diff(wanted, by=call.caller))


@_post("/api/definitions/apply")
def apply_definitions(api: Api, call: Call[FileOfDefinitions, None]) -> Differences:
    """Make what the file defines, change it, and remove what this owner's file no longer has.

    Needs the rights to define job types, schedules and configurations, and to have all of them make jobs and events."""
    wanted = _wanted(api, call.body)
    return _told(api, wanted, api.engine.file.apply(wanted, by=call.caller))


def _wanted(api: Api, body: FileOfDefinitions) -> Wanted:
    from rota.settings.content import read_definitions  # YAML takes time to load, and few servers are sent a file

    found = read_definitions(body.file, api.engine.event_types, api.sections, name="file")
    return Wanted(
        found.node_types,
        found.job_types,
        found.schedules,
        found.configurations,
        owner=body.owner,
        prunes=body.prune,
        places=found.places,
    )


def _told(api: Api, wanted: Wanted, changes: list[Difference]) -> Differences:
    hints = schedule_hints(wanted, changes, api.engine.clock.now())
    return Differences([difference_shape(one) for one in changes], hints)
