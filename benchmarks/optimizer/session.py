"""One run of the benchmark: every case by every arm, resumed from the journal."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field

from benchmarks.optimizer.library import Library
from benchmarks.optimizer.measurement import measure
from benchmarks.optimizer.record import Record
from benchmarks.optimizer.scope import EVERY_PART, Arm, OptimizerScope, Part
from stowage_testbed.base.journal import Journal
from stowage_testbed.instances.case import Case
from stowage_testbed.optimizer_service.service import RunningService

RIVAL = "paper"
"""Name of the strategy that the one under test is compared with."""

SEARCHERS = ("cpsat-aggregated", "milp")
"""Strategies that know nothing of the proofs of the one under test, in turn."""


@dataclass(slots=True)
class Session:
    """Measures what the journal does not hold yet.

    Parameters
    ----------
    scope
        What is to be covered.
    strategy
        Name of the strategy under test.
    library, journal
        Instances and results.
    service
        Returns the service; it is started only where something is missing.
    say
        Receives a line for each step.
    """

    scope: OptimizerScope
    strategy: str
    library: Library
    journal: Journal[Record]
    service: Callable[[], RunningService]
    say: Callable[[str], None]
    left_out: list[str] = field(default_factory=list)
    known: dict[tuple[str, str], Record] = field(init=False)

    def __post_init__(self) -> None:
        records = self.journal.records()
        self.known = {(one.case, one.arm): one for one in records}

    def record(self, case: Case, arm: Arm) -> Record | None:
        """Return what ``arm`` gave on ``case``, None if it was not measured yet."""
        return self.known.get((case.id, arm.name))

    @property
    def quick(self) -> Arm:
        """Return the arm under test with its short limit."""
        return Arm("ours", self.strategy, self.scope.quick_s)

    @property
    def long(self) -> Arm:
        """Return the arm under test with its long limit."""
        return Arm("ours", self.strategy, self.scope.long_s)

    @property
    def rival(self) -> Arm:
        """Return the paper's strategy."""
        return Arm("rival", RIVAL, self.scope.rival_s)

    def search(self, case: Case) -> Arm:
        """Return the search that tries to refute what was proved of ``case``.

        It is another strategy: the one under test would stop at its own proof.
        """
        others = [name for name in SEARCHERS if name != self.strategy]
        chosen = others[case.seed(0) % len(others)]
        return Arm("search", chosen, self.scope.search_s)

    def run(self, parts: Collection[Part] = EVERY_PART) -> None:
        """Measure everything of ``parts`` that is missing.

        Raises
        ------
        StowageError
            A call failed, or an instance could not be made.
        """
        if Part.GRID in parts:
            self._run_grids()
        if Part.SEARCH in parts:
            for case in self.to_search():
                self._measured(case, self.search(case))
        if Part.LARGE in parts:
            for case in self.scope.large_cases():
                self._measured(case, self.long)

    def to_search(self) -> list[Case]:
        """Return the proved cases that took longest to prove, the longest first."""
        took: dict[Case, float] = {}
        for case in self.scope.grid_cases():
            for arm in (self.quick, self.long):
                record = self.record(case, arm)
                if record is not None and record.optimal:
                    took[case] = record.wall_s
        hardest = sorted(took, key=lambda case: (-took[case], case.id))
        return hardest[: self.scope.searched]

    def _run_grids(self) -> None:
        for number, case in enumerate(self.scope.grid_cases()):
            for arm in self._in_turn(number, (self.quick, self.rival)):
                self._measured(case, arm)
            quick = self.record(case, self.quick)
            if quick is not None and not quick.optimal:
                self._measured(case, self.long)

    @staticmethod
    def _in_turn(number: int, arms: tuple[Arm, Arm]) -> Iterator[Arm]:
        """Yield the arms A B for one case and B A for the next."""
        yield from arms if number % 2 == 0 else reversed(arms)

    def _measured(self, case: Case, arm: Arm) -> Record | None:
        known = self.record(case, arm)
        if known is not None:
            return known
        snapshot = self.library.snapshot(case)
        if snapshot is None:
            if case.id not in self.left_out:
                self.left_out.append(case.id)
                self.say(f"{case.id}: left out, the scheduler always places all pods")
            return None
        record = measure(self.service(), arm.call(case, snapshot))
        self.journal.add(record)
        self.known[record.case, record.arm] = record
        proof = "proved" if record.optimal else "not proved"
        self.say(f"{case.id}: {arm.name}: {proof} in {record.wall_s:.3f} s")
        return record
