"""`rota doctor`: looks for problems and says how to fix them."""

import sys
from collections import Counter
from collections.abc import Iterator, Sequence

import click
import msgspec

from rota.cli.show import print_json, talk
from rota.cli.target import Target, takes_target
from rota.engine.doctor.examine import examine
from rota.engine.doctor.finding import Finding, Level, problem, warning
from rota.engine.doctor.machine_checks import check_machine
from rota.engine.engine import store_file
from rota.errors import StoreError
from rota.host.kafka_checks import check_kafka
from rota.host.terminal import coloured, visible
from rota.model.access.masking import mask_url

FOUND_PROBLEMS = 7


@click.command(short_help="Look for problems and say how to fix them.")
@click.option(
    "--forget-unreadable", is_flag=True, help="Delete jobs, schedules, configurations and events that cannot be read."
)
@click.option("--set-back", is_flag=True, help="Let schedules that a wrong clock sent into the future go on from now.")
@takes_target
def doctor(target: Target, *, forget_unreadable: bool, set_back: bool) -> int:
    """Check this machine, the store and what is in it. Exit code 7 if something is wrong.

    With --server it is the machine of the server."""
    findings: list[Finding] = []
    for finding in _examine(target, forgets=forget_unreadable, sets_back=set_back):
        findings.append(finding)
        if not target.as_json:
            _show(finding)
    problems = [one for one in findings if one.level is Level.PROBLEM]
    if target.as_json:
        print_json({"healthy": not problems, "findings": msgspec.to_builtins(findings)})
    else:
        talk(_summary(findings))
    return FOUND_PROBLEMS if problems else 0


def _summary(findings: Sequence[Finding]) -> str:
    counts = Counter(one.level for one in findings)
    warnings = f"Warnings: {counts[Level.WARNING]}." if counts[Level.WARNING] else ""
    if counts[Level.PROBLEM]:
        return f"Problems: {counts[Level.PROBLEM]}. {warnings}".rstrip()
    return warnings or "No problems."


def _examine(target: Target, *, forgets: bool, sets_back: bool) -> Iterator[Finding]:
    if target.is_remote:
        yield from _examine_remote(target, forgets=forgets, sets_back=sets_back)
        return
    settings = target.settings()
    yield from check_machine(settings)
    yield from check_kafka(settings)
    if settings.kafka and settings.source_of("store") == "default":
        return  # jobs and schedules are in memory then
    path = store_file(settings.store)
    if path is not None and not path.exists():
        yield warning("store", f"there is no store at {path} yet", "rota up makes one; --store names another")
        return
    try:
        with target.open() as rota:
            yield from examine(rota, settings, forgets=forgets, sets_back=sets_back)
    except StoreError as error:
        yield problem("store", str(error), f"see that {mask_url(settings.store)} is right and running, or use --store")


def _examine_remote(target: Target, *, forgets: bool, sets_back: bool) -> Iterator[Finding]:
    from rota.cli.remote.doctor import examine_remote

    try:
        with target.open() as rota:
            yield from examine_remote(rota, forgets=forgets, sets_back=sets_back)
    except StoreError as error:
        yield problem("server", str(error), "see that the address is right, and that a server and its store run there")


def _show(finding: Finding) -> None:
    colour = {Level.OK: "green", Level.WARNING: "yellow", Level.PROBLEM: "red"}[finding.level]
    level = coloured(f"{finding.level.value:<8}", colour, sys.stdout)
    click.echo(f"{level} {finding.check}: {visible(finding.message)}")
    if finding.fix:
        click.echo(f"{'':<8} fix: {visible(finding.fix)}")
