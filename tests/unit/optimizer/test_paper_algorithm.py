"""Algorithm 1, the parts that an oracle of small instances cannot pin."""

from typing import Any

import pytest
from ortools.sat.python import cp_model
from snapshot_builder import GB, SnapshotBuilder, figure_1
from solving_in_process import answer_to

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.solution import EndReason, Solution
from stowage_optimizer.model.time_budget import TimeSplit
from stowage_optimizer.programs.solver import Outcome, SolverContradictionError
from stowage_strategies.paper import PaperModel


def two_tiers() -> pb.Snapshot:
    """Return a high tier that needs one move, and a low pod that would need another."""
    builder = SnapshotBuilder()
    for name in ("n1", "n2", "n3"):
        builder.node(name, memory_bytes=4 * GB)
        builder.pod(f"at-{name}", memory_bytes=2 * GB, priority=1, node=name)
    builder.pod("high", memory_bytes=3 * GB, priority=1)
    return builder.pod("low", memory_bytes=1 * GB).message


def test_line_18_reads_at_least_as_good(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the printed ``<=`` a lower tier may undo what phase 2 won above it.

    Phase 2 is made to look unproved, as after a time-out; then the model that is left
    is asked for the *worst* value of that phase's metric.
    """
    stability_of_high: list[cp_model.LinearExpr] = []
    models: list[cp_model.CpModel] = []
    solve = PaperModel.maximise

    def unproved(model: PaperModel, metric: cp_model.LinearExpr, phase: str, *how: Any) -> Outcome:
        if phase == "tier 1, disrupt":
            stability_of_high.append(metric)
            models.append(model.cp)
        return Outcome(None, solve(model, metric, phase, *how).spent)

    monkeypatch.setattr(PaperModel, "maximise", unproved)

    plan = answer_to(two_tiers()).plan

    assert not plan.tiers[0].optimal
    solver = cp_model.CpSolver()
    models[0].minimize(stability_of_high[0])
    assert solver.solve(models[0]) == cp_model.OPTIMAL
    # Three pods run: two stay (3 each) and one moves (1).
    assert solver.objective_value == 7


def test_no_time_at_all_keeps_the_current_placement() -> None:
    """The current placement is always there to fall back on."""
    published: list[Solution] = []

    answer = answer_to(figure_1(), time_limit_s=1e-9, published=published)

    assert answer.solution.empty
    assert not answer.plan.optimal
    assert answer.end_reason is EndReason.NO_IMPROVEMENT
    assert [plan.empty for plan in published] == [True]


def test_a_solver_that_denies_the_incumbent_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """CP-SAT has claimed infeasibility wrongly before; such an answer is no proof."""
    monkeypatch.setattr(cp_model.CpSolver, "solve", lambda *_, **__: cp_model.INFEASIBLE)
    monkeypatch.setattr(cp_model.CpSolver, "status_name", lambda *_, **__: "INFEASIBLE")

    with pytest.raises(SolverContradictionError, match="place"):
        answer_to(figure_1())


def test_tiers_are_the_distinct_priorities_present() -> None:
    """Priorities are 32-bit numbers: a range over them would never end."""
    builder = SnapshotBuilder().node("n")
    builder.pod("a", priority=2_000_000_000, node="n").pod("b", priority=-5)

    plan = answer_to(builder.message).plan

    assert [tier.priority for tier in plan.tiers] == [2_000_000_000, -5]


@pytest.mark.parametrize(
    ("spent", "next_phase"),
    [(None, 1 + 6), (0.25, 1 + 6 + 0.75), (1 + 6, 1)],
    ids=["at first", "what was saved", "after a greedy phase"],
)
def test_the_time_split_reserves_alpha_for_the_tiers_in_halves(spent: float | None, next_phase: float) -> None:
    """Alpha * T / tiers for a tier, half of it for a phase, plus the unused rest.

    So nothing of the limit is lost, and no tier may starve those after it.
    """
    split = TimeSplit(total=10, alpha=0.4, tiers=2)

    if spent is not None:
        split.spent(spent)

    assert split.phase() == pytest.approx(next_phase)


def test_all_phases_together_stay_within_the_limit() -> None:
    """Each takes all it may; the sum is the limit."""
    split, used = TimeSplit(total=10, alpha=0.4, tiers=3), 0.0

    for share in [0.25, 0.25, 0.5] * 3:
        limit = split.phase(share)
        used += limit
        split.spent(limit, share)

    assert used == pytest.approx(10)
