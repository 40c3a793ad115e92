"""One SQLite file: its connections, transactions and errors.

One connection writes, one reads, each behind a lock: SQLite has one writer at a time anyway, and in WAL mode readers do
not wait for it. An in-memory database has a single connection for both.
"""

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Self
from urllib.parse import parse_qs, urlsplit

from rota.clock import SystemClock
from rota.errors import InvalidInput, StoreError, StoreFull, StoreRefused, StoreUnavailable
from rota.store.sqlite.database.checkpoints import Checkpoints
from rota.store.sqlite.database.migrations import migrate

MEMORY = ":memory:"
DURABLE = "FULL"
"""Every commit is synced before it is acknowledged, so that a power cut costs nothing. It is the default: a batch of
jobs hardly notices, a single job waits for the disk (`benchmarks/STORES.md`)."""
_OLDEST_SQLITE = (3, 35, 0)  # RETURNING, and the UPSERT forms used here
_BUSY_TIMEOUT_MS = 10_000
_GIVE_WAY_S = 0.005
_KEPT_LOG_BYTES = 64 * 1024 * 1024
"""A log that once was longer gives back the rest of its room when it begins anew."""


class Database:
    """A database file. It is used once it is open."""

    _writer: sqlite3.Connection
    _reader: sqlite3.Connection

    def __init__(self, path: str, *, synchronous: str = DURABLE) -> None:
        self.path = path
        self._synchronous = synchronous
        self._checkpoints = Checkpoints(path, self.connect, syncs=synchronous != DURABLE and not self.in_memory)
        self._failed_write: str | None = None
        self._long_bytes = 0
        """Written and forgotten so far, of long rows."""
        self._write_lock = threading.RLock()
        self._read_lock = self._write_lock if self.in_memory else threading.RLock()

    def open(self) -> Self:
        """Connect, and bring an older file up to date."""
        if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
            raise StoreRefused(f"SQLite {sqlite3.sqlite_version} is too old; Rota needs 3.35 or later")
        if not self.in_memory:
            _make_private_file(self.path)
        with translated_errors(self.path), ExitStack() as undoing:
            self._writer = self.connect()
            undoing.callback(self._writer.close)
            migrate(self._writer, self.path)
            self._reader = self._writer if self.in_memory else self.connect()
            undoing.pop_all()
        return self

    def reopen(self) -> "Database":
        """The same file by other connections."""
        return Database(self.path, synchronous=self._synchronous).open()

    @property
    def in_memory(self) -> bool:
        return self.path == MEMORY

    def connect(self) -> sqlite3.Connection:
        """A further connection with the settings that all of them share."""
        connection = sqlite3.connect(
            self.path,
            timeout=_BUSY_TIMEOUT_MS / 1000,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
        )
        with ExitStack() as undoing:
            undoing.callback(connection.close)
            connection.row_factory = sqlite3.Row
            _use_write_ahead_log(connection)
            connection.execute(f"PRAGMA synchronous = {self._synchronous}")
            connection.execute("PRAGMA fullfsync = ON")  # on macOS a plain sync ends in the drive's cache
            connection.execute("PRAGMA cache_size = -16000")
            connection.execute("PRAGMA wal_autocheckpoint = 20000")
            connection.execute(f"PRAGMA journal_size_limit = {_KEPT_LOG_BYTES}")
            undoing.pop_all()
        return connection

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """A transaction that holds the write lock from its start: all of it is committed, or nothing."""
        with self._write_lock, translated_errors(self.path), self._remembered_failure():
            if refusal := self._checkpoints.refusal:
                raise StoreUnavailable(refusal)
            with _transaction(self._writer):
                yield self._writer
            self._failed_write = None
            if not self.in_memory:
                self._checkpoints.after_commit(self._writer.total_changes, self._long_bytes)

    def count_bytes(self, size: int) -> None:
        """Within `write`: rows of so many bytes are written, or forgotten, which overwrites them."""
        self._long_bytes += size

    @contextmanager
    def _remembered_failure(self) -> Iterator[None]:
        """A write that SQLite refused is known until one succeeds."""
        try:
            yield
        except sqlite3.IntegrityError:
            raise
        except sqlite3.OperationalError as error:
            self._failed_write = f"{self.path}: the last write failed: {error}"
            raise

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """One consistent view of the data."""
        with self._read_lock, translated_errors(self.path):
            if self.in_memory:
                yield self._reader
                return
            self._reader.execute("BEGIN")
            try:
                yield self._reader
            finally:
                self._reader.execute("ROLLBACK")

    def private_writer(self, timeout_s: float) -> "PrivateWriter":
        """A connection for short writes that wait for nobody in this process, and not long for others."""
        if self.in_memory:
            return PrivateWriter(self, None)
        connection = self.connect()
        connection.execute(f"PRAGMA busy_timeout = {round(timeout_s * 1000)}")
        return PrivateWriter(self, connection)

    def give_way(self) -> None:
        """Let others write before the next of many transactions: the lock goes to whoever is quickest, and other
        processes ask for it every few milliseconds."""
        time.sleep(_GIVE_WAY_S)

    def troubles(self) -> list[str]:
        """What is wrong right now: refused writes, failed syncs, a log that only grows."""
        if self.in_memory:
            return []
        failed_write = self._failed_write
        return self._checkpoints.troubles() + ([failed_write] if failed_write else [])

    def notice_commits(self) -> None:
        """Others have committed. Where commits are not synced themselves, that is seen to here too."""
        if self._checkpoints.syncs:
            self._checkpoints.after_commit_of_another()

    def close(self) -> None:
        """See `rota.store.contract.store.Store.close`."""
        self._checkpoints.close()
        with self._write_lock, self._read_lock:
            self._reader.close()
            self._writer.close()
        if loss := self._checkpoints.loss:
            raise StoreUnavailable(loss)


class PrivateWriter:
    """Writes beside the writer of a database, over a connection of its own. In memory there is only the one."""

    def __init__(self, database: Database, connection: sqlite3.Connection | None) -> None:
        self._database = database
        self._connection = connection
        self._version = 0 if connection is None else _data_version(connection)

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """See `Database.write`. What it writes itself is not synced, but what others did meanwhile: a node beats all
        its life, and a disk need not wake for that."""
        if self._connection is None:
            with self._database.write() as db:
                yield db
            return
        with translated_errors(self._database.path):
            with _transaction(self._connection):
                yield self._connection
            version, self._version = self._version, _data_version(self._connection)
        if version != self._version:
            self._database.notice_commits()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()


def _use_write_ahead_log(connection: sqlite3.Connection) -> None:
    """Give a new file a write-ahead log. SQLite refuses that at once, whatever the busy timeout, while someone does the
    same or writes; so processes that start together try again."""
    clock = SystemClock()
    deadline = clock.monotonic() + _BUSY_TIMEOUT_MS / 1000
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or clock.monotonic() > deadline:
                raise
            time.sleep(_GIVE_WAY_S)
        else:
            return


def _data_version(connection: sqlite3.Connection) -> int:
    """Another one when another connection has committed, of this process or any."""
    return int(connection.execute("PRAGMA data_version").fetchone()[0])


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _make_private_file(path: str) -> None:
    """A new file is for its owner alone: whoever can read it has hashes of keys, and who can write it runs commands.
    SQLite gives its other files the same rights. A file that is there keeps what its owner gave it."""
    with suppress(OSError):  # it is there; or else SQLite says what is wrong
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))


def parse_url(url: str) -> tuple[str, str]:
    """The path and the `synchronous` setting of `sqlite:///path?synchronous=NORMAL`."""
    parts = urlsplit(url)
    path = MEMORY if parts.netloc == MEMORY or parts.path == "/" + MEMORY else parts.path[1:]
    if (parts.netloc and parts.netloc != MEMORY) or not path:
        raise InvalidInput("store", f"{url!r} names no file; write sqlite:///rota.db or sqlite:////absolute/rota.db")
    options = parse_qs(parts.query)
    synchronous = options.pop("synchronous", [DURABLE])[-1].upper()
    if options:
        raise InvalidInput("store", f"{url!r} has the unknown option {next(iter(options))!r}; known is synchronous")
    if synchronous not in ("NORMAL", DURABLE):
        raise InvalidInput("store", f"synchronous must be NORMAL or FULL, got {synchronous!r}")
    return path, synchronous


@contextmanager
def translated_errors(path: str) -> Iterator[None]:
    """Every error of SQLite that an operator can do something about, as one of ours."""
    try:
        yield
    except sqlite3.IntegrityError:
        raise
    except sqlite3.ProgrammingError as error:
        raise StoreUnavailable(f"{path}: {error}") from error
    except sqlite3.DatabaseError as error:
        raise _translate(path, str(error)) from error


def _translate(path: str, text: str) -> StoreError:
    if "full" in text:
        return StoreFull(f"{path}: {text}; nothing was written, free some space and try again")
    if "not a database" in text or "malformed" in text:
        return StoreRefused(f"{path} is not a usable SQLite database: {text}")
    return StoreUnavailable(f"{path}: {text}")
