"""All changes, one after the other, in as many copies of the project as there are workers."""

import shlex
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from queue import SimpleQueue

from msgspec import Struct

from tests.mutants.table import Mutant, together
from tests.mutants.workshop import LIMIT_S, Trial, Verdict, Workshop


class Result(Struct, frozen=True):
    """What became of one change."""

    mutant: Mutant
    verdict: Verdict
    fault: str = ""
    """Why there is no verdict; empty if there is one."""

    @property
    def is_bad(self) -> bool:
        """Nobody noticed it and nobody said why, or it could not be tried."""
        return self.verdict is Verdict.ERROR or (self.verdict is Verdict.SURVIVED and not self.mutant.survives)


def try_all(
    mutants: Sequence[Mutant],
    root: Path,
    *,
    jobs: int,
    say: Callable[[str], None] = lambda line: None,
    is_unchanged_first: bool = True,
) -> list[Result]:
    """Try all changes in copies of `root`; `say` is told how far it is.

    A test that fails without any change notices nothing. Where many changes share tests, these are run unchanged first;
    where the tests of each are many, only the one that failed is, afterwards.
    """
    with ExitStack() as stack:
        workshops: SimpleQueue[Workshop] = SimpleQueue()
        pool = stack.enter_context(ThreadPoolExecutor(jobs))
        for _ in range(jobs):
            workshop = Workshop(root)
            stack.callback(workshop.close)  # an interrupted campaign ends the tests that run
            if not workshop.is_what_processes_see():
                raise RuntimeError("tests in the copy would use the package of another tree")
            workshops.put(workshop)
        campaign = _Campaign(mutants, workshops, pool, say)
        return campaign.run() if is_unchanged_first else campaign.run_changes(campaign.try_and_confirm)


class _Campaign:
    def __init__(
        self,
        mutants: Sequence[Mutant],
        workshops: SimpleQueue[Workshop],
        pool: ThreadPoolExecutor,
        say: Callable[[str], None],
    ) -> None:
        self._mutants, self._workshops, self._pool, self._say = mutants, workshops, pool, say
        self._unchanged: dict[str, Trial] = {}

    def run(self) -> list[Result]:
        """First the tests without any change."""
        groups = together([mutant.tests for mutant in self._mutants])
        self._say(f"{len(groups)} runs of tests without a change, then {len(self._mutants)} changes.")
        try:
            for tried in self._pool.map(self._try_unchanged, groups.items()):
                self._unchanged |= tried
        except BaseException:
            self._pool.shutdown(wait=False, cancel_futures=True)
            raise
        return self.run_changes(self._try_change)

    def run_changes(self, try_one: Callable[[int, Mutant], Result]) -> list[Result]:
        try:
            numbered = enumerate(self._mutants, start=1)
            return list(self._pool.map(try_one, *zip(*numbered, strict=True)))
        finally:
            self._pool.shutdown(wait=False, cancel_futures=True)

    def _try_unchanged(self, group: tuple[str, Sequence[str]]) -> dict[str, Trial]:
        """What becomes of each of some tests that run together; should one fail, each runs alone."""
        tests, members = group
        with self._workshop() as workshop:
            trial = workshop.try_unchanged(tests)
        self._say(f"{'passes' if trial.is_passed else 'FAILS'} unchanged, {trial.spent}: {tests}")
        if trial.is_passed or len(members) == 1:
            return dict.fromkeys(members, trial)
        return {test: tried for one in members for test, tried in self._try_unchanged((one, [one])).items()}

    def _try_change(self, number: int, mutant: Mutant) -> Result:
        unchanged = self._unchanged[mutant.tests]
        if not unchanged.is_passed:
            return Result(mutant, Verdict.ERROR, f"its tests fail without it, {unchanged.fault}")
        with self._workshop() as workshop:
            trial = workshop.try_change(mutant, unchanged_took_s=unchanged.took_s)
        return self._judged(number, mutant, trial)

    def try_and_confirm(self, number: int, mutant: Mutant) -> Result:
        """Try a change; of the tests without it, run only what failed with it."""
        with self._workshop() as workshop:
            trial = workshop.try_change(mutant, unchanged_took_s=LIMIT_S)
            failed = trial.failed_test
            unchanged = workshop.try_unchanged(shlex.quote(failed)) if failed else None
        if unchanged and not unchanged.is_passed:
            self._say(f"{number}/{len(self._mutants)} fails anyway: {failed}")
            return Result(mutant, Verdict.ERROR, f"{failed} fails without it, {unchanged.fault}")
        return self._judged(number, mutant, trial)

    def _judged(self, number: int, mutant: Mutant, trial: Trial) -> Result:
        verdict = trial.verdict(mutant)
        by = f" by {trial.failed_test}" if trial.failed_test else ""
        self._say(f"{number}/{len(self._mutants)} {verdict}, {trial.spent}: {mutant.area}: {mutant.what}{by}")
        return Result(mutant, verdict, trial.fault if verdict is Verdict.ERROR else "")

    @contextmanager
    def _workshop(self) -> Iterator[Workshop]:
        workshop = self._workshops.get()
        try:
            yield workshop
        finally:
            self._workshops.put(workshop)
