"""`rota backup`, `rota restore` and `rota migrate`: copies of an installation. A backup is a SQLite store in a file."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import click

from rota.cli.progress import progress_bar
from rota.cli.show import answer, talk
from rota.cli.target import Target, takes_target
from rota.engine.access.audit.actor import acting_here
from rota.engine.access.audit.record import Change, recorded
from rota.engine.engine import require_store_file, store_url
from rota.engine.housekeeping.copies.copying import Copied, Copying, count_all_jobs
from rota.engine.housekeeping.copies.unfinished import is_empty, refuse_unfinished
from rota.errors import Conflict, InvalidInput, NotFound
from rota.model.access.masking import mask_url
from rota.store import Store, open_store


@click.command(short_help="Copy everything into a file, also while nodes run.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--replace", is_flag=True, help="Take the place of a file that is there, once the new one is whole.")
@takes_target
def backup(target: Target, *, file: Path, replace: bool) -> None:
    """Copy everything into FILE, each queue as of one moment, also while nodes run.

    FILE is a SQLite store, which can be looked at with --store sqlite:///FILE. What runs at the moment waits there to
    be run again.
    """
    target.refuse_server("a copy reads a whole store")
    _check_name(file)
    if file.exists() and not replace:
        raise Conflict(f"{file} is there already; name another, or give --replace")
    part = file.with_name(f"{file.name}.part")
    part.unlink(missing_ok=True)
    with target.open() as rota:
        with closing(open_store(_file_url(part))) as copy:
            copied = _copy(rota.store, copy, "Backup", is_live=True)
        for left in ("-wal", "-shm"):  # of whoever looked into the old file: they would be taken for the new one's
            file.with_name(f"{file.name}{left}").unlink(missing_ok=True)
        part.replace(file)
    _answer(target.as_json, copied, f"{file}")


@click.command(short_help="Bring a backup into an empty store.")
@click.argument("file", type=click.Path(path_type=Path))
@takes_target
def restore(target: Target, *, file: Path) -> None:
    """Bring everything of the backup FILE into the store, which must be empty. What ran when the backup was made is run
    again as soon as nodes are started."""
    _check_name(file)
    url = store_url(target.settings(because="a copy writes a whole store"))
    with _opened_backup(file) as source, closing(open_store(url)) as store:
        copied = _copy(source, store, "Restore", f"backup {file.absolute()}")
    _answer(target.as_json, copied, mask_url(url.partition("?")[0]))


@click.command(short_help="Bring everything to another store.")
@click.argument("source", metavar="FROM")
@click.argument("goal", metavar="TO")
@click.option("--json", "as_json", is_flag=True, help="Answer with one JSON document.")
def migrate(*, source: str, goal: str, as_json: bool) -> None:
    """Bring everything from the store FROM to the store TO, which must be empty. FROM stays as it is.

    \b
    rota migrate sqlite:///rota.db redis://127.0.0.1:6379/0

    Stop all nodes of FROM first: it is refused while one lives. If it breaks off, do it again, and it goes on.
    """
    require_store_file(source)
    with closing(open_store(source)) as old, closing(open_store(goal)) as new:
        refuse_unfinished(old)
        copied = _copy(old, new, "Migrate", mask_url(source))
    _answer(as_json, copied, mask_url(goal))


def _copy(source: Store, target: Store, title: str, name: str = "", *, is_live: bool = False) -> Copied:
    """Copy with a bar. From a live store it is a backup, which has no entry in its audit log: nobody acts on it."""
    if is_empty(source):
        raise InvalidInput(mask_url(source.url), "there is nothing in it to copy")
    with progress_bar(title, count_all_jobs(source)) as tell, acting_here("command line"):
        copied = Copying(source, target, tell=tell).run(name or source.url, is_live=is_live)
        if not is_live:
            # Only now: a copy goes into an empty store, and one that was cut short says so itself.
            with recorded(target, Change(action="restore", kind="store", name=name)):
                pass
    return copied


@contextmanager
def _opened_backup(file: Path) -> Iterator[Store]:
    """A copy of the backup, because opening a store of an older version changes it."""
    if not file.is_file():
        raise NotFound("backup", str(file))
    with tempfile.TemporaryDirectory(prefix="rota-restore-") as folder:
        path = shutil.copy(file, Path(folder) / "backup.db")
        with closing(open_store(_file_url(Path(path)))) as store:
            refuse_unfinished(store)
            yield store


def _check_name(file: Path) -> None:
    if any(sign in str(file) for sign in "?#"):
        raise InvalidInput("FILE", f"{file} has a character that the address of a store cannot have: ? or #")


def _file_url(path: Path) -> str:
    return f"sqlite:///{path.absolute()}?synchronous=NORMAL"


def _answer(as_json: bool, copied: Copied, place: str) -> None:
    answer({"copied_to": place, **_counts(copied)}, as_json=as_json, show=lambda: _show(copied, place))
    for one in copied.unreadable:
        talk(f"warning: {one.kind} {one.id} cannot be read and is not in the copy: {one.reason}")


def _counts(copied: Copied) -> dict[str, int]:
    return {
        "jobs": copied.jobs,
        "schedules": copied.schedules,
        "configurations": copied.configurations,
        "given_back": copied.given_back,
        "unreadable": len(copied.unreadable),
    }


def _show(copied: Copied, place: str) -> None:
    counts = f"{copied.jobs} jobs, {copied.schedules} schedules, {copied.configurations} configurations"
    talk(f"Copied {counts} to {place}.")
    if copied.given_back:
        talk(f"{copied.given_back} of the jobs ran; in the copy they wait to be run again.")
