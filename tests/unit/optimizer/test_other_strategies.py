"""The strategies other than the default, and those of other packages."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import EntryPoint, EntryPoints

import pytest
from snapshot_builder import SnapshotBuilder, figure_1
from solving_in_process import answer_to

from stowage_optimizer.errors import OptimizerError
from stowage_optimizer.model.packing import Packing
from stowage_optimizer.model.solution import Solution
from stowage_optimizer.strategies import registry
from stowage_optimizer.strategies.budget import Budget
from stowage_optimizer.strategies.strategy import Publish


def test_every_strategy_of_the_issue_is_there() -> None:
    """Users name them on the command line and in the chart."""
    assert set(registry.shipped_strategies()) >= {
        "paper",
        "cpsat-aggregated",
        "cpsat-items",
        "cpsat-items-symmetry",
        "milp",
        "z3",
        "z3-symmetry",
        "boreas",
        "first-fit-decreasing",
        "portfolio",
    }


def test_z3_is_missing_where_its_package_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is an optional dependency: without it everything else must work."""
    monkeypatch.setattr(registry, "find_spec", lambda _name: None)

    assert not {"z3", "z3-symmetry"} & registry.shipped_strategies().keys()


@pytest.mark.parametrize(
    "strategy", ["cpsat-aggregated", "cpsat-items", "milp", "z3", "portfolio"]
)
def test_figure_1_takes_one_move(strategy: str) -> None:
    """The paper's first example."""
    plan = answer_to(figure_1(), strategy=strategy).plan

    assert (len(plan.placements), len(plan.moves), len(plan.evictions)) == (1, 1, 0)


def test_a_floating_point_solver_says_that_it_proves_nothing() -> None:
    """Its answer may be the best; that it is has not been shown."""
    answer = answer_to(figure_1(), strategy="milp")

    assert not answer.plan.optimal
    assert "no proof" in answer.message


def test_first_fit_takes_large_pods_first() -> None:
    """Small ones first would leave no node for the large one."""
    builder = SnapshotBuilder().node("n1", cpu_milli=5).node("n2", cpu_milli=4)
    builder.pod("small", cpu_milli=2).pod("middle", cpu_milli=2)
    builder.pod("large", cpu_milli=5)

    plan = answer_to(builder.message, strategy="first-fit-decreasing").plan

    where = {one.pod_uid: one.node for one in plan.placements}
    assert where == {"large": "n1", "small": "n2", "middle": "n2"}


def test_first_fit_serves_high_priorities_before_large_pods() -> None:
    """Tiers come first, as everywhere."""
    builder = SnapshotBuilder().node("n1", cpu_milli=5)
    builder.pod("large", cpu_milli=5).pod("high", cpu_milli=1, priority=1)

    plan = answer_to(builder.message, strategy="first-fit-decreasing").plan

    assert [one.pod_uid for one in plan.placements] == ["high"]


def test_boreas_places_all_pods_of_a_batch_or_none() -> None:
    """A deployment that is half there is no deployment."""
    builder = SnapshotBuilder().node("n1", cpu_milli=4)
    builder.pod("a", cpu_milli=3).pod("b", cpu_milli=3)

    answer = answer_to(builder.message, strategy="boreas")

    assert answer.solution.empty


def test_boreas_finds_what_first_fit_misses() -> None:
    """The paper's minimal test: two backends, three frontends, two nodes, no slack."""
    builder = SnapshotBuilder()
    builder.node("n1", cpu_milli=12).node("n2", cpu_milli=12)
    for index, cpu_milli in enumerate([6, 4, 4, 4, 3, 3]):
        builder.pod(f"p{index}", cpu_milli=cpu_milli)

    assert len(answer_to(builder.message, strategy="boreas").plan.placements) == 6


def test_boreas_uses_as_few_nodes_as_possible() -> None:
    """Its metric is cost: the nodes that the batch is on."""
    builder = SnapshotBuilder()
    builder.node("small", cpu_milli=3).node("large", cpu_milli=6)
    builder.pod("a", cpu_milli=3).pod("b", cpu_milli=3)

    plan = answer_to(builder.message, strategy="boreas").plan

    assert {one.node for one in plan.placements} == {"large"}


def test_boreas_moves_nobody() -> None:
    """It places pending pods next to running ones."""
    assert answer_to(figure_1(), strategy="boreas").solution.empty


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A strategy of another package."""

    def solve(self, packing: Packing, budget: Budget, publish: Publish) -> Solution:
        """Find nothing."""
        del budget, publish
        return Solution(packing, packing.current)


def broken() -> None:
    raise ValueError("not today")


def something_else() -> str:
    return "no strategy"


def install(monkeypatch: pytest.MonkeyPatch, name: str, made_by: str) -> None:
    """Pretend that a package announces ``name``, made by a function of this file."""
    point = EntryPoint(name, f"{__name__}:{made_by}", registry.GROUP)
    monkeypatch.setattr(registry, "entry_points", lambda group: EntryPoints([point]))


def test_another_package_brings_a_strategy(monkeypatch: pytest.MonkeyPatch) -> None:
    """A researcher adds a solver without touching our code."""
    install(monkeypatch, "theirs", "Elsewhere")

    strategies = registry.load_strategies(registry.SHIPPED)

    assert isinstance(strategies["theirs"], Elsewhere)
    assert "paper" in strategies


def test_a_name_that_is_taken_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """No package replaces a strategy unnoticed."""
    install(monkeypatch, "paper", "Elsewhere")

    with pytest.raises(OptimizerError, match="'paper'"):
        registry.available_strategies()


@pytest.mark.parametrize("made_by", ["broken", "not_there", "something_else"])
def test_a_package_that_brings_no_strategy_is_named(
    monkeypatch: pytest.MonkeyPatch, made_by: str
) -> None:
    """The operator must learn which package to repair."""
    install(monkeypatch, "theirs", made_by)

    with pytest.raises(OptimizerError, match="'theirs'"):
        registry.available_strategies()
