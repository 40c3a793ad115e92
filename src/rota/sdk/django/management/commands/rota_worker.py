"""`manage.py rota_worker`: runs the tasks of a queue until a signal ends it."""

from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from functools import partial

from django.core.management.base import BaseCommand, CommandError
from django.db import Error
from django.tasks import DEFAULT_TASK_BACKEND_ALIAS, DEFAULT_TASK_QUEUE_NAME, task_backends

from rota.errors import RotaError
from rota.sdk.django.backend import RotaBackend
from rota.sdk.django.outbox import words_of
from rota.sdk.django.relaying import Relay, outbox_databases, relay_all


class Command(BaseCommand):  # type: ignore[misc]  # Django has no types
    help = "Run the tasks of one queue. Any number of workers may serve it; TERM lets running tasks end."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--backend", default=DEFAULT_TASK_BACKEND_ALIAS, help="Which entry of TASKS.")
        parser.add_argument("--queue", default=DEFAULT_TASK_QUEUE_NAME, help="The queue to serve.")
        parser.add_argument("--threads", type=int, help="Tasks at a time.")
        parser.add_argument("--burst", action="store_true", help="End as soon as nothing is left to run.")

    def handle(self, *, backend: str, queue: str, threads: int | None, burst: bool, **others: object) -> None:
        found = task_backends[backend]
        if not isinstance(found, RotaBackend):
            raise CommandError(f"TASKS[{backend!r}] is no backend of Rota's; --backend names another entry of TASKS")
        if found.queues and queue not in found.queues:
            raise CommandError(f"TASKS[{backend!r}] has no queue {queue!r}; its QUEUES are {sorted(found.queues)}")
        run = partial(found.app.rota.run_worker, burst=burst, queue=queue, threads=threads)
        try:
            _run_and_relay(run, outbox_databases(), burst=burst)
        except (RotaError, Error) as error:
            raise CommandError(words_of(error)) from error


def _run_and_relay(run: Callable[[], None], databases: Sequence[str], *, burst: bool) -> None:
    """Run a worker; what comes into the project's outboxes is relayed beside, or in a burst before and after it. What
    must wait there is told when the burst is over."""
    if not databases:
        run()
    elif not burst:
        with Relay(databases).beside():
            run()
    else:
        relay_all(databases)
        run()
        while (relayed := relay_all(databases)).count:
            run()
        if relayed.trouble:
            raise relayed.trouble
