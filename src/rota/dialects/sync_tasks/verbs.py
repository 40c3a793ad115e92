"""`rota sources`, `rota sync` and `rota tasks`."""

import click

from rota.cli.jobs.logs import print_entry
from rota.cli.parameters import duration, instant
from rota.cli.show import answer, print_facts, print_foreign, print_json, print_table, talk
from rota.cli.target import Target, takes_target
from rota.dialects.sync_tasks.redis.opening import open_shown
from rota.dialects.sync_tasks.sources import CollectionShape, Sources
from rota.dialects.sync_tasks.task import STATUSES, SUCCESS, Task, task_id, task_of
from rota.dialects.sync_tasks.task_log import read_log
from rota.dialects.sync_tasks.tasks import TaskQuery, Tasks
from rota.engine.engine import Engine
from rota.engine.jobs.watch import WaitedTooLong, Watch
from rota.errors import InvalidInput
from rota.model.job import Job
from rota.model.runs.log import LogEntry
from rota.store import Store

JOB_FAILED, TIMED_OUT = 1, 124
_DAY_MS = 24 * 3600 * 1000


@click.command(short_help="List sources and their collections.")
@takes_target
def sources(target: Target) -> None:
    """List sources and their collections, each with its schedule and its latest task."""
    with target.open() as rota:
        found = [_collection_facts(one) for one in Sources(rota).shown(sorted(Tasks(rota).collections()), last=1)]
    rows = [list(one.values()) for one in found]
    headers = ("source", "collection", "schedule", "status", "latest task")
    nothing = "No sources yet: `sources:` in rota.yaml names them."
    answer(found, as_json=target.as_json, show=lambda: print_table(headers, rows, nothing=nothing))


def _collection_facts(shown: CollectionShape) -> dict[str, object]:
    latest = shown.tasks[0] if shown.tasks else None
    return {
        "source": shown.source,
        "collection": shown.collection,
        "schedule": shown.schedule.words if shown.schedule else None,
        "status": latest.status if latest else None,
        "task": latest.id if latest else None,
    }


@click.command(short_help="Synchronise a collection now; wait for it or follow its log.")
@click.argument("source")
@click.argument("collection")
@click.option("-w", "--wait", is_flag=True, help="Wait until it has ended.")
@click.option("-f", "--follow", is_flag=True, help="Show its log until it has ended.")
@click.option("--timeout-wait", callback=duration, metavar="DURATION", help="Wait no longer than this.")
@takes_target
def sync(target: Target, *, source: str, collection: str, wait: bool, follow: bool, timeout_wait: int | None) -> int:
    """Synchronise COLLECTION of SOURCE now. While a task of it waits or runs, that is the one."""
    settings = target.settings()
    with target.open() as rota:
        job, is_new = Tasks(rota).create(source, collection)
        open_shown(settings, rota.store).show([job])
        if not target.as_json:
            click.echo(task_id(job))
        if not is_new:
            talk("Not made anew: this task waits or runs already.")
        if not wait and not follow:
            if target.as_json:
                print_json({"task_id": task_id(job), "is_new": is_new})
            return 0
        return _await_end(target, rota, job, follow=follow, timeout_ms=timeout_wait)


def _await_end(target: Target, rota: Engine, job: Job, *, follow: bool, timeout_ms: int | None) -> int:
    watch = Watch(rota.store, job.id, rota.clock, None if timeout_ms is None else timeout_ms / 1000)

    def to_stderr(entry: LogEntry) -> None:
        print_foreign(entry.message, err=True)

    try:
        ended = watch.until_ended((to_stderr if target.as_json else print_entry) if follow else None)
    except WaitedTooLong:
        talk(f"error: still waiting for {task_id(job)}; it goes on without us")
        return TIMED_OUT
    task = task_of(ended)
    if target.as_json:
        print_json(task)
    else:
        talk(task.status)
    return 0 if task.status == SUCCESS else JOB_FAILED


@click.command(short_help="List the tasks of a source; show one.")
@click.argument("id", metavar="[ID]", required=False)
@click.option("--source", help="Whose tasks to list.")
@click.option("--collection", help="Only those of one collection.")
@click.option("--status", type=click.Choice(STATUSES, case_sensitive=False), help="Only those with this status.")
@click.option("--since", callback=instant, metavar="TIME", help="Created then or later.  [default: a day ago]")
@click.option("--limit", type=click.IntRange(min=0), default=100, help="The latest so many; 0 for all.")
@click.option("--logs", is_flag=True, help="With an ID: its log.")
@takes_target
def tasks(
    target: Target,
    *,
    id: str | None,
    source: str | None,
    collection: str | None,
    status: str | None,
    since: int | None,
    limit: int,
    logs: bool,
) -> None:
    """List the tasks of a source, oldest first; or show the task of this ID, or its log."""
    with target.open() as rota:
        found = Tasks(rota)
        if id is not None and logs:
            _show_log(target, rota.store, found.find(id))
        elif id is not None:
            _show_one(target, found.find(id))
        elif source is None:
            raise InvalidInput("--source", "is needed to list tasks; `rota sources` lists sources")
        else:
            now = rota.clock.now()
            query = TaskQuery(
                source=source,
                collection=collection,
                status=status.upper() if status else None,
                since=(now - _DAY_MS if since is None else since) // 1000,
                until=now // 1000 + 1,
                limit=limit,
            )
            _show_list(target, found, query)


def _show_list(target: Target, tasks: Tasks, query: TaskQuery) -> None:
    found = [task_of(job) for job in tasks.list(query)]
    headers = ("id", "collection", "status", "created", "finished")
    rows = [(one.id, one.collection, one.status, one.created_at, one.finished_at) for one in found]
    answer(found, as_json=target.as_json, show=lambda: print_table(headers, rows, nothing="No tasks."))


def _show_one(target: Target, job: Job) -> None:
    task = task_of(job)
    answer(task, as_json=target.as_json, show=lambda: print_facts(_facts(task)))


def _show_log(target: Target, store: Store, job: Job) -> None:
    pages = read_log(store, job, store.count_logs(job.id))
    if target.as_json:
        print_json([line for page in pages for line in page])
        return
    for page in pages:
        for line in page:
            print_foreign(line.message)


def _facts(task: Task) -> list[tuple[str, object]]:
    return [(name, getattr(task, name)) for name in task.__struct_fields__]
