"""`manage.py rota_relay`: makes jobs of the tasks in the outboxes, until a signal ends it."""

import signal
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager

from django.core.management.base import BaseCommand, CommandError
from django.db import Error

from rota.errors import RotaError
from rota.sdk.django.outbox import words_of
from rota.sdk.django.relaying import PAUSE_S, Relay, outbox_databases, relay


class Command(BaseCommand):  # type: ignore[misc]  # Django has no types
    help = "Make jobs of the tasks whose transactions are committed. Any number of relays and workers may do so."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--database", help="Only the outbox of this one, not those of all that TASKS names.")
        parser.add_argument("--every", type=float, default=PAUSE_S, help=f"Seconds between two looks; {PAUSE_S}.")
        parser.add_argument("--burst", action="store_true", help="End as soon as nothing is left to relay.")

    def handle(self, *, database: str | None, every: float, burst: bool, **others: object) -> None:
        databases = _databases(database)
        if not 0.01 <= every <= 3600:
            raise CommandError(f"--every must be from 0.01 to 3600 seconds, got {every}")
        if burst:
            self._relay_once(databases)
            return
        found = Relay(databases, every)
        with _stopped_by_signals(found):
            found.run()

    def _relay_once(self, databases: list[str]) -> None:
        waiting: list[str] = []
        for name in databases:
            try:
                relayed = relay(name)
            except (Error, RotaError) as error:
                raise CommandError(f"the outbox of the database {name!r}: {words_of(error)}") from error
            self.stdout.write(f"relayed {relayed.count} tasks from the database {name!r}")
            if relayed.trouble:
                waiting.append(f"tasks wait in the outbox of the database {name!r}: {words_of(relayed.trouble)}")
        if waiting:
            raise CommandError("; ".join(waiting))


def _databases(wanted: str | None) -> list[str]:
    known = outbox_databases()
    if not known:
        raise CommandError('no entry of TASKS has an outbox; name a database: "OPTIONS": {"outbox": "default"}')
    if wanted is not None and wanted not in known:
        raise CommandError(f"no entry of TASKS has its outbox in the database {wanted!r}; there are {known}")
    return known if wanted is None else [wanted]


@contextmanager
def _stopped_by_signals(found: Relay) -> Iterator[None]:
    before = {one: signal.signal(one, lambda *_: found.stop()) for one in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for one, action in before.items():
            signal.signal(one, action)
