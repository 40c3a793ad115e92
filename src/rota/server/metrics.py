"""Metrics in Prometheus's text format. They are few and read from the store when asked for: no library is needed."""

from collections.abc import Iterable, Mapping

from rota import __version__
from rota.engine.observation.counters import FIGURES, Counters
from rota.model.node import DEAD_AFTER_MS
from rota.server.api import Api

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_ENDS = ("succeeded", "failed", "cancelled")

Labels = Mapping[str, object]
Sample = tuple[Labels, int]


def text(api: Api) -> str:
    """All metrics of the installation, the requests of this server, and what its process did."""
    lines = _metric("rota_info", "gauge", "The version of this server.", [({"version": __version__}, 1)])
    lines += _job_metrics(api)
    lines += _queue_metrics(api)
    troubles: list[Sample] = [({}, len(api.engine.store.troubles()))]
    lines += _metric("rota_store_troubles", "gauge", "What is wrong with the store right now, as one number.", troubles)
    lines += _request_metrics(api)
    lines += _node_metrics(api.counters)
    return "\n".join(lines) + "\n"


def _job_metrics(api: Api) -> list[str]:
    """Where the jobs of each queue are, and how many there were."""
    node_types, store = api.engine.definitions.node_types(), api.engine.store
    now: list[Sample] = []
    enqueued: list[Sample] = []
    finished: list[Sample] = []
    for one in node_types:
        total = store.read_totals(one.uuid)
        now += [({"queue": one.name, "state": state.value}, n) for state, n in store.count_jobs(one.uuid).items()]
        enqueued.append(({"queue": one.name}, total.enqueued))
        finished += [({"queue": one.name, "state": state}, getattr(total, state)) for state in _ENDS]
    return [
        *_metric("rota_jobs", "gauge", "Jobs by queue and state.", now),
        *_metric("rota_jobs_enqueued_total", "counter", "Jobs accepted since the queue was made.", enqueued),
        *_metric("rota_jobs_finished_total", "counter", "Jobs ended since the queue was made.", finished),
    ]


def _queue_metrics(api: Api) -> list[str]:
    """Which queues are paused, and who serves them."""
    node_types, store = api.engine.definitions.node_types(), api.engine.store
    paused = store.paused_queues()
    living = store.list_nodes(since=api.engine.clock.now() - DEAD_AFTER_MS + 1)
    pauses: list[Sample] = [({"queue": one.name}, int(one.uuid in paused)) for one in node_types]
    nodes: list[Sample] = []
    slots: list[Sample] = []
    for one in node_types:
        of_type = [node.slots for node in living if node.node_type == one.uuid]
        nodes.append(({"queue": one.name}, len(of_type)))
        slots.append(({"queue": one.name}, sum(of_type)))
    return [
        *_metric("rota_queue_paused", "gauge", "1 while the queue gives out no jobs.", pauses),
        *_metric("rota_nodes", "gauge", "Nodes that are alive.", nodes),
        *_metric("rota_slots", "gauge", "Jobs that the living nodes can run at a time.", slots),
    ]


def _request_metrics(api: Api) -> list[str]:
    counts = sorted(api.requests.counts.items())
    samples: list[Sample] = [
        ({"method": method, "path": path, "status": status}, count) for (method, path, status), count in counts
    ]
    return _metric("rota_http_requests_total", "counter", "Requests that this server answered.", samples)


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
