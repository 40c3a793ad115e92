"""Queues: what waits, who works on it, and how it went in the last hour."""

from rota.server.pages.asking import Asking
from rota.server.pages.drawing.spark import spark_points
from rota.server.pages.finding.search import as_word
from rota.server.pages.page import Context, Visit
from rota.server.pages.screens.overview import throughput

PARTS = ("list",)
_TONES = {"paused": "off", "at_capacity": "run"}


def gather(asking: Asking, visit: Visit) -> Context:
    queues = asking.ask("list_queues")["queues"]
    stats = asking.ask("read_stats")
    series = {one["uuid"]: throughput({"queues": [one]}, asking.now) for one in stats["queues"]}
    for queue in queues:
        _, succeeded, failed = series.get(queue["uuid"], ([], [], []))
        queue["capacity"] = queue["workers"] * queue["thread_count"]
        queue["use"] = min(100, queue["jobs"]["running"] * 100 // max(queue["capacity"], 1))
        ended = [good + bad for good, bad in zip(succeeded, failed, strict=True)]
        most = max([*ended, 1])
        queue["ended"] = spark_points(ended, most)
        queue["failed"] = spark_points(failed, most) if any(failed) else ""
        queue["search"] = f"queue:{as_word(queue['name'])}"
        queue["ended_count"] = sum(ended)
        queue["why"] = asking.ask("why_queue", {"queue": queue["uuid"]})
        queue["tone"] = _TONES.get(queue["why"]["code"], "wait" if queue["jobs"]["queued"] else "off")
    return {"queues": queues}
