"""How a collection of a source is known among job types. Its names may have letters that Rota's names have not, so the
labels of its job type say what it is, and nothing is ever read out of a name or an id."""

import re
from hashlib import blake2b

from msgspec import Struct

from rota.errors import InvalidInput
from rota.model.job_type import JobType

NODE_TYPE = "sync_tasks"
"""The node type, and with it the queue, of all sync tasks."""
SOURCE, COLLECTION = "source", "collection"
NOTIFY = "notify"
"""The label that names the job type which posts notices of a collection."""
MAX_LENGTH = 128
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9._-]+")
_KEPT = 48
"""Letters of a name that stay when it has to be made plain."""


class Collection(Struct, frozen=True, order=True):
    """One collection of one source."""

    source: str
    name: str

    @property
    def labels(self) -> dict[str, str]:
        return {SOURCE: self.source, COLLECTION: self.name}

    @property
    def arguments(self) -> dict[str, object]:
        """Of each of its tasks; the same for all of them, so that only one is live at a time."""
        return {SOURCE: self.source, COLLECTION: self.name}

    @property
    def series(self) -> tuple[str, str]:
        """Where its tasks are found, by their creation: with those of the whole source, and by themselves."""
        return source_series(self.source), f"sync/{self.source}/{self.name}"

    @property
    def job_type_name(self) -> str:
        """Readable, and another one for each collection."""
        return f"sync:{_plain(self.source)}/{_plain(self.name)}"


def notice_job_type_name(url: str) -> str:
    """Of the job type that posts notices to a URL."""
    return f"sync:notify-{blake2b(url.encode(), digest_size=6).hexdigest()}"


def source_series(source: str) -> str:
    """The series of all tasks of a source."""
    return f"sync/{source}"


def check_part(where: str, name: object) -> str:
    """The name of a source or a collection. Spaces and most signs are fine; `/` would end it within a path."""
    if not isinstance(name, str) or not name.strip() or len(name) > MAX_LENGTH:
        raise InvalidInput(where, f"must be text of 1 to {MAX_LENGTH} characters, got {name!r:.200}")
    if "/" in name or not name.isprintable():
        raise InvalidInput(where, f"{name!r} must not have '/' or control characters")
    return name


def collection_of(job_type: JobType) -> Collection | None:
    """The collection that a job type synchronises, if it does."""
    labels = job_type.labels
    return Collection(labels[SOURCE], labels[COLLECTION]) if {SOURCE, COLLECTION} <= labels.keys() else None


def _plain(name: str) -> str:
    if _PLAIN.fullmatch(name) and len(name) <= _KEPT:
        return name
    digest = blake2b(name.encode(), digest_size=4).hexdigest()
    return f"{_NOT_PLAIN.sub('-', name)[:_KEPT].lstrip('.-')}-{digest}".lstrip("-")
