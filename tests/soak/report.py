"""The verdict as Markdown: what was counted, what each count means, and what was done."""

from collections.abc import Iterable, Iterator, Sequence
from statistics import median

from msgspec import Struct

from tests.soak.judge import Excuse
from tests.soak.recovery import SOON_MS
from tests.soak.soak import Evidence

_MOST_EXAMPLES = 8


class Count(Struct, frozen=True):
    """Something that must not be."""

    name: str
    found: int
    meaning: str
    examples: Sequence[str] = ()


def counts_of(evidence: Evidence) -> list[Count]:
    """Everything that must be 0."""
    wrong = evidence.overlaps.wrong

    def listed(name: str, found: Sequence[str], meaning: str) -> Count:
        return Count(name, len(found), meaning, found)

    return [
        listed("lost", evidence.lost, "jobs that were acknowledged and that the store does not know"),
        listed("stuck", evidence.stuck, "jobs that had not ended long after the last fault"),
        listed("ended twice", evidence.ended_twice, "queues that counted more, or fewer, ends than jobs that ended"),
        listed("succeeded without a run", evidence.without_run, "jobs that succeeded, and no run wrote its end"),
        listed(
            "ended wrongly",
            evidence.wrong_ends,
            "jobs that failed, were cancelled or used up attempts for no reason of their own",
        ),
        listed(
            "healthy jobs as poison",
            evidence.poisoned,
            "jobs that were quarantined for the deaths of their nodes; none of them kills",
        ),
        listed(
            "runs beyond the faults",
            evidence.repeats.beyond,
            "second starts although the node before was neither killed, stopped nor silent for 15 s under watch",
        ),
        listed(
            "late after a kill",
            [one.text for one in evidence.recoveries if one.could_ms > SOON_MS],
            "jobs of killed nodes that could have begun for 25 s: store, node and lock were to be had, and did not",
        ),
        listed(
            "overlap under a lock",
            wrong.get("lock", []),
            "runs of `unique: while_running` that wrote to the ledger after the next had begun; suspended nodes apart",
        ),
        listed("overlap under a unique key", wrong.get("key", []), "the same for jobs with the same unique key"),
        listed(
            "overlap of a schedule", wrong.get("schedule", []), "the same for schedules that skip, buffer or cancel"
        ),
        Count("ticks twice", evidence.doubled_ticks, "nominal instants in more than one row"),
        Count("ticks lost", evidence.lost_ticks, "nominal instants in no row: neither fired, skipped nor missed"),
        Count("events lost", evidence.lost_events, "acknowledged events that made no job"),
        Count("events twice", evidence.doubled_events, "events that made more than one job"),
        listed("orphaned processes", evidence.orphans, "processes that lived 3 s after their node had ended"),
        listed("leftovers", evidence.leftovers, "rows, keys, claims, locks and nodes that were left when all was over"),
        listed("nodes that gave up", evidence.deserters, "processes that ended although nobody asked them to"),
        listed("nodes that did not stop", evidence.stragglers, "processes that had not ended 90 s after TERM"),
        listed(
            "faults of the soak",
            evidence.soak_failures,
            "producers and faults that could not do their work, so that the rest proves less",
        ),
    ]


def is_good(evidence: Evidence) -> bool:
    return not any(count.found for count in counts_of(evidence))


def report(kind: str, evidence: Evidence, *, minutes: float, seed: int) -> str:
    """One section for one store."""
    verdict = "nothing wrong" if is_good(evidence) else "**not good**"
    parts = [
        f"## {kind}: {minutes:g} minutes, seed {seed}: {verdict}",
        _table(("must be 0", "found", "what it counts"), _wrong_rows(evidence)),
        _table(("what happened", "times", "remarks"), _work_rows(evidence)),
        _table(("fault", "times"), sorted(evidence.faults.items())),
    ]
    examples = [line for count in counts_of(evidence) for line in _examples(count)]
    if examples:
        parts.append("\n".join(["Examples:", "", *examples]))
    return "\n\n".join(parts) + "\n"


def _wrong_rows(evidence: Evidence) -> Iterator[tuple[object, ...]]:
    for count in counts_of(evidence):
        yield count.name, f"**{count.found}**" if count.found else 0, count.meaning


def _work_rows(evidence: Evidence) -> Iterator[tuple[object, ...]]:
    yield (
        "jobs",
        sum(evidence.jobs.values()),
        ", ".join(f"{name} {count}" for name, count in sorted(evidence.jobs.items())),
    )
    yield (
        "jobs acknowledged to producers",
        evidence.accepted,
        f"after {evidence.refusals} refused or unanswered requests",
    )
    yield "runs", evidence.runs, "in the ledger"
    yield "ticks", evidence.ticks, "of seven schedules"
    yield "events", evidence.events, "acknowledged"
    yield (
        "starts of nodes while the store was away",
        evidence.turned_away,
        "they say so and end; they are started again",
    )
    excused = evidence.repeats.excused
    for excuse in Excuse:
        yield f"second starts: {excuse}", excused[excuse], "allowed"
    yield (
        "overlaps after a suspension",
        evidence.overlaps.excused,
        "allowed: no node can stop its runs while it is suspended",
    )
    recoveries = evidence.recoveries
    if recoveries:
        yield "from a kill to the next start", len(recoveries), _times([one.waited_ms for one in recoveries])
        yield (
            "of it, at a stretch",
            len(recoveries),
            f"{_times([one.could_ms for one in recoveries])} in which the job could have begun",
        )


def _times(times_ms: Sequence[int]) -> str:
    return f"median {median(times_ms) / 1000:.1f} s, longest {max(times_ms) / 1000:.1f} s"


def _examples(count: Count) -> Iterator[str]:
    for example in count.examples[:_MOST_EXAMPLES]:
        yield f"- {count.name}: {example}"
    if len(count.examples) > _MOST_EXAMPLES:
        yield f"- {count.name}: and {len(count.examples) - _MOST_EXAMPLES} more"


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)
