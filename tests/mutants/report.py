"""The verdict as Markdown: how many changes of each area were noticed, and all that is known of the others."""

from collections.abc import Iterable, Iterator, Sequence

from tests.mutants.campaign import Result
from tests.mutants.workshop import Verdict


def report(results: Sequence[Result]) -> str:
    parts = [_table(_HEAD, _rows(results)), *_details(results)]
    return "\n\n".join(parts) + "\n"


_HEAD = ("area", "changes", "noticed", "survived with a reason", "survived without a reason", "errors")


def _rows(results: Sequence[Result]) -> Iterator[Sequence[object]]:
    areas = sorted({result.mutant.area for result in results})
    for area in areas:
        yield area, *_counts([result for result in results if result.mutant.area == area])
    if len(areas) > 1:
        yield "all", *_counts(results)


def _counts(results: Sequence[Result]) -> Sequence[object]:
    noticed = sum(result.verdict is Verdict.NOTICED for result in results)
    survived = [result for result in results if result.verdict is Verdict.SURVIVED]
    errors = sum(result.verdict is Verdict.ERROR for result in results)
    excused = sum(not result.is_bad for result in survived)
    return len(results), noticed, excused, _loud(len(survived) - excused), _loud(errors)


def _loud(count: int) -> object:
    return f"**{count}**" if count else 0


def _details(results: Iterable[Result]) -> Iterator[str]:
    for result in sorted(results, key=lambda result: not result.is_bad):
        mutant = result.mutant
        said = [f"- {mutant.what}", f"  in {mutant.file}; tests: `{mutant.tests}`"]
        match result.verdict, mutant.survives:
            case Verdict.ERROR, _:
                fault = result.fault.replace("\n", "\n  > ")
                yield "\n".join([f"Error ({mutant.area}):", "", *said, f"  > {fault}"])
            case Verdict.SURVIVED, "":
                yield "\n".join([f"**Survived** ({mutant.area}):", "", *said])
            case Verdict.SURVIVED, reason:
                yield "\n".join([f"Survived with a reason ({mutant.area}):", "", *said, f"  Reason: {reason}"])
            case Verdict.NOTICED, reason if reason:
                yield "\n".join([f"Noticed, although its table says that it survives ({mutant.area}):", "", *said])


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)
