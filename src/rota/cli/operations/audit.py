"""`rota audit`: who changed what."""

import click

from rota.cli import parameters
from rota.cli.show import answer, moment, print_table
from rota.cli.target import Target, takes_target
from rota.engine.access.audit.reading import AuditQuery, read_audit
from rota.engine.engine import Engine
from rota.model.access.audit import AuditEntry
from rota.shapes.audit import audit_shape


@click.command(short_help="Show who changed what.")
@click.option("--who", metavar="NAME", help="Changes by this key, or this user.")
@click.option("--action", metavar="WORD", help="Only: create, change, delete, pause, cancel ...")
@click.option("--kind", metavar="KIND", help="Of: 'job type', schedule, configuration, job, queue, node, key ...")
@click.option("--name", metavar="NAME", help="Of the thing with this name or uuid.")
@click.option("--since", metavar="TIME", callback=parameters.instant, help="At this time or later.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=100, show_default=True, help="How many.")
@takes_target
def audit(
    target: Target,
    *,
    who: str | None,
    action: str | None,
    kind: str | None,
    name: str | None,
    since: int | None,
    limit: int,
) -> None:
    """Show who changed what, the latest first: definitions, keys, queues, nodes, and jobs that were cancelled, retried
    or deleted. With --json, also what each thing was before and is after. `(perhaps)` is behind a change in the middle
    of which a process died or lost the store.

    \b
    rota audit --kind schedule --since 2026-10-01
    rota audit --who shop --json
    """
    with target.open() as rota:
        entries = _read(rota, AuditQuery(who, action, kind, name, since), limit)
    answer([audit_shape(one) for one in entries], as_json=target.as_json, show=lambda: _show(entries))


def _read(rota: Engine, query: AuditQuery, limit: int) -> list[AuditEntry]:
    """The latest so many. One call looks at so many entries and no more, and then says where to go on."""
    page = read_audit(rota.store, query, limit=limit)
    found = page.entries
    while page.cursor is not None and len(found) < limit:
        page = read_audit(rota.store, query, limit=limit - len(found), cursor=page.cursor)
        found += page.entries
    return found


def _show(entries: list[AuditEntry]) -> None:
    rows = [(moment(one.time), one.who, one.origin, _what(one), one.name, _changed(one)) for one in entries]
    print_table(("TIME", "WHO", "FROM", "WHAT", "NAME", "CHANGED"), rows, nothing="Nothing was changed.")


def _what(entry: AuditEntry) -> str:
    return f"{entry.action} {entry.kind}" + ("" if entry.is_done else " (perhaps)")


def _changed(entry: AuditEntry) -> str:
    """The fields that a change changed."""
    before, after = entry.before, entry.after
    if not isinstance(before, dict) or not isinstance(after, dict):
        return ""
    return ", ".join(sorted(key for key in {*before, *after} if before.get(key) != after.get(key)))
