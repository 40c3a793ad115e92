"""`rota import`: take over schedules from elsewhere."""

import pwd
from pathlib import Path
from typing import TextIO

import click
from msgspec import structs

from rota.cli.show import Shape, answer, print_table, talk
from rota.cli.target import Target, takes_target
from rota.cli.time.crontab import DIFFERENCES, CronLine, Crontab, read_crontab
from rota.clock import SystemClock
from rota.engine.definitions.built_in import ensure_default_node_type
from rota.engine.definitions.definitions import DEFAULT_NODE_TYPE
from rota.engine.engine import Engine
from rota.errors import InvalidInput, NotFound
from rota.model.ids import new_id
from rota.model.job_type import JobType
from rota.model.limits import check_name
from rota.model.schedules.hints import request_hints
from rota.model.schedules.request import ScheduleRequest, read_trigger
from rota.model.triggers.trigger import Progress
from rota.model.triggers.words.words import trigger_words
from rota.model.triggers.zones.zones import parse_zone
from rota.settings.machine_zone import machine_zone


@click.group(name="import", short_help="Take over schedules from elsewhere: crontab.")
def imports() -> None:
    """Take over schedules from elsewhere."""


@imports.command()
@click.argument("file", type=click.File(encoding="utf-8"))
@click.option("--system/--user", "has_users", default=None, help="Lines name a user.  [default: for files in /etc]")
@click.option("--tz", metavar="ZONE", help="The zone of its times.  [default: this machine's]")
@click.option("--label", metavar="NAME", help="Begins the names.  [default: the file's name]")
@click.option("--node-type", default=DEFAULT_NODE_TYPE, show_default=True, help="The node type whose nodes run them.")
@click.option("--paused", is_flag=True, help="Let all rest until they are resumed.")
@click.option("--dry-run", is_flag=True, help="Say what would be made, and make nothing.")
@takes_target
def crontab(
    target: Target,
    *,
    file: TextIO,
    has_users: bool | None,
    tz: str | None,
    label: str | None,
    node_type: str,
    paused: bool,
    dry_run: bool,
) -> None:
    """Make a job type and a schedule of each line of a crontab; - reads standard input. Doing it again changes them.

    \b
    crontab -l | rota import crontab - --dry-run
    rota import crontab /etc/cron.d/certbot
    """
    zone = parse_zone("--tz", tz) if tz else machine_zone()
    path = Path("crontab" if file.name in ("-", "<stdin>") else file.name)
    users = _is_system(path) if has_users is None else has_users
    name = check_name("--label", label or path.stem)
    found = read_crontab(_text(file), name, has_users=users, tz=zone, home_of=_home_of)
    if not dry_run:
        with target.open(may_create=True) as rota:
            _make(rota, found, node_type, paused=paused)
    notes = [*found.notes, *(hint for line in found.lines for hint in _hints(line))]
    shape = {
        "lines": [_shape(line) for line in found.lines],
        "notes": notes,
        "differences": list(DIFFERENCES),
        "dry_run": dry_run,
    }
    answer(shape, as_json=target.as_json, show=lambda: _show(found, notes))


def _home_of(user: str | None) -> str | None:
    if user is None:
        return str(Path.home())
    try:
        return pwd.getpwnam(user).pw_dir
    except KeyError:
        return None


def _is_system(file: Path) -> bool:
    return file.resolve().is_relative_to("/etc") and "crontabs" not in file.parts


def _text(file: TextIO) -> str:
    try:
        return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput("FILE", f"{file.name} cannot be read: {error}") from None


def _make(rota: Engine, found: Crontab, node_type: str, *, paused: bool) -> None:
    """All job types first, then the schedules: a bad one changes nothing."""
    if node_type == DEFAULT_NODE_TYPE:
        ensure_default_node_type(rota.definitions, rota.clock.now())
    job_types = [_job_type(line, node_type, new_id(rota.clock.now())) for line in found.lines]
    rota.definitions.create_job_types(job_types, replace=True)
    for line in found.lines:
        request = _request(line, paused=paused)
        try:
            entry = rota.schedules.find(line.name)
        except NotFound:
            rota.schedules.create(request)
        else:
            rota.schedules.replace(line.name, structs.replace(request, paused=paused or entry.schedule.paused))


def _job_type(line: CronLine, node_type: str, uuid: str) -> JobType:
    metadata: dict[str, object] = {"command": line.script}
    if line.environment:
        metadata["environment"] = line.environment
    if line.home:
        metadata["cwd"] = line.home
    return JobType(uuid=uuid, name=line.name, executor="bash", metadata=metadata, node_type=node_type)


def _request(line: CronLine, *, paused: bool = False) -> ScheduleRequest:
    """As cron does it: jobs may overlap, and what was missed is missed."""
    return ScheduleRequest(
        name=line.name,
        job_type=line.name,
        cron=line.cron,
        dialect="unix",
        tz=line.tz,
        overlap="allow",
        catch_up="none",
        paused=paused,
    )


def _shape(line: CronLine) -> Shape:
    return {
        "line": line.number,
        "name": line.name,
        "cron": line.cron,
        "words": _words(line),
        "tz": line.tz,
        "command": line.script,
        "environment": line.environment,
        "user": line.user,
        "home": line.home,
    }


def _words(line: CronLine) -> str:
    return trigger_words(read_trigger(_request(line), None), Progress(schedule=line.name))


def _hints(line: CronLine) -> list[str]:
    return [f"line {line.number}: {hint}" for hint in request_hints(_request(line), SystemClock().now())]


def _show(found: Crontab, notes: list[str]) -> None:
    rows = [(line.number, line.name, _words(line), line.script.split("\n")[0]) for line in found.lines]
    print_table(("LINE", "NAME", "WHEN", "COMMAND"), rows, nothing="There is nothing to take over.")
    for note in notes:
        talk(note)
    if found.lines:
        talk(f"Different from cron: {'; '.join(DIFFERENCES)}.")
