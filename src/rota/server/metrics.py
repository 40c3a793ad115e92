"""Metrics in Prometheus's text format. They are few and read from the store when asked for: no library is needed."""

from collections.abc import Iterable, Mapping

from rota import __version__
from rota.engine.observation.counters import FIGURES, Counters
from rota.model.node import DEAD_AFTER_MS
from rota.server.api import Api

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Labels = Mapping[str, object]
Sample = tuple[Labels, int]


def text(api: Api) -> str:
    """All metrics of the installation, the requests of this server, and what its process did."""
    node_types = api.engine.definitions.node_types()
    counts = {one: api.engine.store.count_jobs(one.uuid) for one in node_types}
    totals = {one: api.engine.store.read_totals(one.uuid) for one in node_types}
    paused = api.engine.store.paused_queues()
    nodes = api.engine.store.list_nodes(since=api.engine.clock.now() - DEAD_AFTER_MS + 1)
    lines: list[str] = []
    lines += _metric("rota_info", "gauge", "The version of this server.", [({"version": __version__}, 1)])
    lines += _metric(
        "rota_jobs",
        "gauge",
        "Jobs by queue and state.",
        [({"queue": one.name, "state": state.value}, n) for one, some in counts.items() for state, n in some.items()],
    )
    lines += _metric(
        "rota_jobs_enqueued_total",
        "counter",
        "Jobs accepted since the queue was made.",
        [({"queue": one.name}, total.enqueued) for one, total in totals.items()],
    )
    lines += _metric(
        "rota_jobs_finished_total",
        "counter",
        "Jobs ended since the queue was made.",
        [
            ({"queue": one.name, "state": state}, getattr(total, state))
            for one, total in totals.items()
            for state in ("succeeded", "failed", "cancelled")
        ],
    )
    lines += _metric(
        "rota_queue_paused",
        "gauge",
        "1 while the queue gives out no jobs.",
        [({"queue": one.name}, int(one.uuid in paused)) for one in node_types],
    )
    for name, help_text, field in (
        ("rota_nodes", "Nodes that are alive.", None),
        ("rota_slots", "Jobs that the living nodes can run at a time.", "slots"),
    ):
        samples = [
            (
                {"queue": one.name},
                sum(getattr(node, field) if field else 1 for node in nodes if node.node_type == one.uuid),
            )
            for one in node_types
        ]
        lines += _metric(name, "gauge", help_text, samples)
    troubles: list[Sample] = [({}, len(api.engine.store.troubles()))]
    lines += _metric("rota_store_troubles", "gauge", "What is wrong with the store right now, as one number.", troubles)
    lines += _metric(
        "rota_http_requests_total",
        "counter",
        "Requests that this server answered.",
        [
            ({"method": method, "path": path, "status": status}, count)
            for (method, path, status), count in sorted(api.requests.counts.items())
        ],
    )
    lines += _node_metrics(api.counters)
    return "\n".join(lines) + "\n"


def _node_metrics(counters: Counters) -> list[str]:
    """What the node in this process did since it began."""
    lines: list[str] = []
    for figure in FIGURES:
        counts = counters.read(figure).items()
        samples: list[Sample] = [({figure.label: value} if figure.label else {}, count) for value, count in counts]
        lines += _metric(f"rota_node_{figure.name}_total", "counter", figure.help_text, samples)
    return lines


def _metric(name: str, kind: str, help_text: str, samples: Iterable[Sample]) -> list[str]:
    return [f"# HELP {name} {help_text}", f"# TYPE {name} {kind}", *(_line(name, *sample) for sample in samples)]


def _line(name: str, labels: Labels, value: int) -> str:
    inner = ",".join(f'{label}="{_escaped(str(text))}"' for label, text in labels.items())
    return f"{name}{{{inner}}} {value}" if inner else f"{name} {value}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
