"""What a node says about itself when it starts."""

import logging
import os
import sys

import click

from rota import __version__
from rota.cli.show import print_facts, print_json
from rota.engine.access.keys.dev_key import has_ended
from rota.host.host import Host
from rota.host.terminal import coloured
from rota.model.access.masking import mask_url

_logger = logging.getLogger("rota.node")
_LATER = "kept as a hash and not shown again; `rota key create` makes a new one"


def announce(host: Host, *, demo: bool, as_json: bool) -> None:
    """Address, key, store, and what to try next."""
    if as_json:
        print_json(_document(host))
    else:
        click.echo(coloured(f"Rota {__version__}: {', '.join(sorted(host.roles))}", "green", sys.stdout))
        print_facts(_facts(host))
        if demo or host.listener is not None:
            click.echo("\n".join(["", "Try in another terminal:", *_hints(host, demo=demo)]))
        click.echo("")
    sys.stdout.flush()
    warn(host)


def _document(host: Host) -> dict[str, object]:
    return {
        "version": __version__,
        "pid": os.getpid(),
        "node": host.node.uuid,
        "node_type": host.settings.node_type,
        "node_types": host.node_types,
        "roles": sorted(host.roles),
        "store": mask_url(host.settings.store),
        "address": host.address,
        "api_key": host.key_plan.made if host.key_plan else None,
    }


def _facts(host: Host) -> list[tuple[str, object]]:
    return [
        ("address", host.address and f"{host.address}   (open it in a browser)"),
        ("API key", _key(host)),
        ("store", mask_url(host.settings.store)),
        ("node", f"{host.node.uuid}, type {host.settings.node_type}"),
        ("also serves", ", ".join(host.node_types[1:]) or None),
    ]


def _key(host: Host) -> str | None:
    plan = host.key_plan
    if plan is None:
        return None
    if plan.made is not None:
        return f"{plan.made}   (shown this once; only its hash is kept)"
    return f"the one from {host.settings.source_of('api_key')}" if host.settings.api_key is not None else _LATER


def _hints(host: Host, *, demo: bool) -> list[str]:
    hints = []
    if host.settings.source_of("store") == "--store":
        hints.append(f"  export ROTA_STORE={mask_url(host.settings.store)}")
    if demo:
        hints.append("  rota enqueue demo.hello name=you --follow")
    hints += ["  rota jobs", "  rota doctor"]
    if host.key_plan is not None:
        hints.append(f'  curl -H "Authorization: Bearer {host.key_plan.made or "KEY"}" {host.address}/api')
    return hints


def warn(host: Host) -> None:
    plan = host.key_plan
    if plan is not None and plan.allows_dev_key and not has_ended(host.engine.store):
        _logger.warning("the well-known key dev_key is accepted from this user's programs, until a person makes a key")
    for problem in host.engine.store.problems():
        _logger.warning("the store's set-up: %s", problem)
