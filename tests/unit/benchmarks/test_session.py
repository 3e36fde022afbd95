"""A run of the benchmark: what it covers, and that it goes on after a kill."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest
from bench_records import a_record

from benchmarks.optimizer.library import Library
from benchmarks.optimizer.record import Record
from benchmarks.optimizer.scope import OptimizerScope, Part
from benchmarks.optimizer.session import SEARCHERS, Session
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.contract import optimizer_pb2_grpc as pb_grpc
from stowage_testbed.base.journal import Journal
from stowage_testbed.instances.case import Case, Family
from stowage_testbed.instances.cell import Cell
from stowage_testbed.optimizer_service.service import RunningService

SCOPE = OptimizerScope(
    name="tiny",
    cells=(Cell(4, 4, 1, 95), Cell(4, 4, 2, 105)),
    large_cells=(Cell(50, 8, 1, 95),),
    instances={Family.PAPER: 1, Family.MIX: 1, Family.LARGE: 1},
    searched=2,
)
CALLS = 4 * 2 + 2 + 1
"""Four cases by two arms, two searches, a large case; nothing is unproved."""


class OneSnapshot:
    """Stands for the library: every case is the same small snapshot."""

    def snapshot(self, case: Case) -> pb.Snapshot:
        """Return a node and a pod that waits."""
        return pb.Snapshot(
            id=case.id,
            pod_classes=[pb.PodClass(id="c")],
            pods=[pb.Pod(uid="p", class_id="c")],
        )


@dataclass(slots=True)
class Stub:
    """Stands for the service: proves everything at once, until it is killed."""

    calls_left: int = 1000
    asked: list[str] = field(default_factory=list)

    def Solve(  # noqa: N802 - the contract's name
        self, request: pb.SolveRequest, timeout: float
    ) -> Iterator[pb.SolveUpdate]:
        """Answer, or die as one does by a signal in the middle."""
        del timeout
        if not self.calls_left:
            raise KeyboardInterrupt
        self.calls_left -= 1
        self.asked.append(f"{request.snapshot.id} {request.options.strategy}")
        tier = pb.TierResult(placed=1, upper_bound=1, optimal=True)
        yield pb.SolveUpdate(
            plan=pb.Plan(tiers=[tier], optimal=True),
            end_reason=pb.END_REASON_OPTIMAL,
            last=True,
        )


def _session(path: Path, stub: Stub, strategy: str = "lexicographic") -> Session:
    service = RunningService(
        1, cast("pb_grpc.OptimizerStub", stub), 0.1, Path("o.sock")
    )
    library = cast("Library", OneSnapshot())
    journal = Journal(path, Record)
    return Session(SCOPE, strategy, library, journal, lambda: service, lambda _: None)


@pytest.mark.parametrize("calls", range(0, CALLS, 3))
def test_a_run_that_was_killed_goes_on_where_it_stopped(
    tmp_path: Path, calls: int
) -> None:
    """A run of hours must not start again, nor measure anything twice."""
    path, killed, again = tmp_path / "records", Stub(calls), Stub()
    with pytest.raises(KeyboardInterrupt):
        _session(path, killed).run()

    _session(path, again).run()

    assert len(killed.asked) == calls
    assert len(again.asked) == CALLS - calls
    assert len(Journal(path, Record).records()) == CALLS


@pytest.mark.parametrize(
    ("part", "calls"),
    [(Part.GRID, 8), (Part.LARGE, 1), (Part.SEARCH, 0), (Part.SERVICE, 0)],
)
def test_a_part_is_run_alone(tmp_path: Path, part: Part, calls: int) -> None:
    """Whoever works on one thing need not wait for the rest."""
    stub = Stub()
    session = _session(tmp_path / "records", stub)

    session.run([part])

    assert len(stub.asked) == calls
    session.run()
    assert len(stub.asked) == CALLS


@pytest.mark.parametrize("strategy", ["lexicographic", *SEARCHERS])
def test_nobody_searches_for_what_refutes_their_own_proofs(
    tmp_path: Path, strategy: str
) -> None:
    """The strategy under test would stop at its own proof, right or wrong."""
    session = _session(tmp_path / "records", Stub(), strategy)

    searchers = {session.search(case).strategy for case in SCOPE.grid_cases()}

    assert searchers
    assert searchers <= set(SEARCHERS) - {strategy}


def test_what_took_longest_to_prove_is_searched(tmp_path: Path) -> None:
    """There a wrong step is likeliest; what is not proved claims least."""
    session = _session(tmp_path / "records", Stub())
    cases = list(SCOPE.grid_cases())
    for case, wall_s, optimal in zip(
        cases, (0.2, 0.4, 0.9, 0.3), (True, True, False, True), strict=True
    ):
        arm = session.quick.name
        session.known[case.id, arm] = a_record(
            arm=arm, case=case.id, wall_s=wall_s, optimal=optimal
        )

    assert session.to_search() == [cases[1], cases[3]]
