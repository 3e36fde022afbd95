"""The strategies other than the default, and those of other packages."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import EntryPoint, EntryPoints

import pytest
from snapshot_builder import GB, SnapshotBuilder, figure_1
from solving_in_process import answer_to, decoded

from stowage_optimizer.constraints.reduction import reduce_snapshot
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.errors import OptimizerError
from stowage_optimizer.model.budget import Budget
from stowage_optimizer.model.decode.issues import Issues
from stowage_optimizer.model.decode.snapshot import decode_snapshot
from stowage_optimizer.model.options import SolveOptions
from stowage_optimizer.model.packing import Packing
from stowage_optimizer.model.solution import Publish, Solution
from stowage_optimizer.strategies import registry
from stowage_optimizer.strategies.portfolio import Portfolio
from stowage_optimizer.strategies.thesis import SymmetryFormulation


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
    "strategy", ["paper", "cpsat-aggregated", "cpsat-items", "milp", "z3", "portfolio"]
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


@dataclass(frozen=True)
class _ShowsThenTakesAnother:
    """Publishes a pod on node a, then answers with the equally good node b."""

    publishes: bool

    def solve(self, packing: Packing, budget: Budget, publish: Publish) -> Solution:
        """Answer alike whether or not there was time to publish."""
        del budget
        if self.publishes:
            publish(Solution(packing, (0,)))
        return Solution(packing, (1,))


def test_what_a_portfolios_member_publishes_decides_about_nothing() -> None:
    """It depends on time, and counted work must end in the same answer each time."""
    builder = SnapshotBuilder().node("a").node("b").pod("waits")
    packing = reduce_snapshot(decode_snapshot(builder.message, Issues()))
    budget = Budget.begin(SolveOptions(time_limit_s=1.0), lambda: 0.0)

    answers = {
        Portfolio((_ShowsThenTakesAnother(publishes),))
        .solve(packing, budget, lambda _found: None)
        .assignment
        for publishes in (True, False)
    }

    assert answers == {(1,)}


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


def test_boreas_finds_what_first_fit_misses() -> None:
    """The paper's minimal test: two backends, three frontends, two nodes, no slack."""
    builder = SnapshotBuilder()
    builder.node("n1", cpu_milli=12).node("n2", cpu_milli=12)
    for index, cpu_milli in enumerate([6, 4, 4, 4, 3, 3]):
        builder.pod(f"p{index}", cpu_milli=cpu_milli)

    assert len(answer_to(builder.message, strategy="boreas").plan.placements) == 6


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


SYMMETRIC = ["cpsat-items-symmetry", "z3-symmetry"]


def meets(snapshot: pb.Snapshot, nodes: tuple[int | None, ...]) -> bool:
    """Tell whether an assignment meets every row of the program."""
    packing = reduce_snapshot(decoded(snapshot))
    formulation = SymmetryFormulation(packing, len(packing.tiers))
    values = formulation.values(nodes)
    return all(
        sum(factor * values[variable] for variable, factor in row.terms) <= row.upper
        for row in formulation.program.rows
    )


def two_alike(*, home: str = "") -> pb.Snapshot:
    """Return two equal pods, the first at ``home``, and three equal nodes."""
    builder = SnapshotBuilder()
    for name in ("a", "b", "c"):
        builder.node(name, memory_bytes=4 * GB)
    builder.pod_class("web", memory_bytes=2 * GB)
    builder.pod("first", of="web", node=home).pod("second", of="web")
    return builder.message


def test_the_later_of_two_equal_nodes_has_the_more_memory_in_use() -> None:
    """So the last node is filled first."""
    assert meets(two_alike(), (2, 2))
    assert meets(two_alike(), (None, 2))
    assert not meets(two_alike(), (None, 0))


def test_a_pod_that_runs_on_the_first_node_may_not_stay() -> None:
    """What is there is cut off: its like would have to be on every node behind."""
    assert not meets(two_alike(home="a"), (0, None))
    assert not meets(two_alike(home="a"), (0, 1))


@pytest.mark.parametrize("strategy", SYMMETRIC)
def test_nothing_is_called_optimal_that_was_sought_with_the_rows(strategy: str) -> None:
    """A limit of the smaller problem is none of the real one: one move is needed."""
    answer = answer_to(figure_1(), strategy=strategy)

    assert not answer.plan.optimal
    assert "cut off answers" in answer.message


@pytest.mark.parametrize("strategy", SYMMETRIC)
def test_a_start_that_the_rows_deny_is_no_error(strategy: str) -> None:
    """A pod that the rows leave out stays where it is, if there is room."""
    plan = answer_to(two_alike(home="a"), strategy=strategy).plan

    assert [one.pod_uid for one in plan.placements] == ["second"]
    assert not plan.moves


GPU, FPGA = "example.com/gpu", "example.com/fpga"
LARGE, SMALL = (646, 6160744598), (323, 3080372299)
NODES = (LARGE, LARGE, SMALL, SMALL)

PODS = (
    # priority, cpu, memory, extended, nodes it may be on, node it runs on
    (2, 79, 586327902, "", (0,), 0),
    (2, 79, 586327902, "", (1, 2, 3), 1),
    (2, 79, 586327902, "", (0,), 0),
    (2, 22, 829652163, "", (1,), 1),
    (2, 22, 829652163, "", (0, 1), 1),
    (2, 22, 829652163, "", (0, 1), 1),
    (2, 88, 529108700, "", (0, 1), 0),
    (2, 88, 529108700, "", (1,), 1),
    (2, 88, 529108700, "", (0,), 0),
    (1, 72, 223261764, "", (3,), 3),
    (2, 34, 148444235, "", (1,), 1),
    (2, 34, 148444235, "", (1,), 1),
    (2, 11, 779858031, "", (0, 2), 2),
    (1, 84, 974823849, "", (3,), 3),
    (2, 66, 289241023, "", (1,), 1),
    (2, 66, 289241023, "", (0, 3), 0),
    (1, 94, 805802184, "", (1,), 1),
    (2, 92, 345343668, "", (0, 1), 1),
    (2, 92, 345343668, "", (0,), 0),
    (2, 62, 291907471, "", (2,), 2),
    (2, 62, 291907471, "", (1, 2, 3), 2),
    (2, 67, 738290130, GPU, (0, 2), 2),
    (2, 67, 738290130, GPU, (3,), 3),
    (2, 67, 738290130, GPU, (0, 1, 2), 1),
    (2, 58, 986088141, FPGA, (0,), 0),
    (2, 58, 986088141, FPGA, (2, 3), None),
    (2, 58, 986088141, FPGA, (1, 2, 3), None),
)


def _snapshot() -> pb.Snapshot:
    """Return what is left of an instance of the benchmark, made as small as can be."""
    builder = SnapshotBuilder()
    for number, (cpu, memory) in enumerate(NODES):
        builder.node(
            f"n{number}",
            cpu_milli=cpu,
            memory_bytes=memory,
            labels={"at": str(number)},
            extended={GPU: 1, FPGA: 1},
        )
    for number, (priority, cpu, memory, extended, eligible, home) in enumerate(PODS):
        one = builder.pod_class(
            f"c{number}",
            cpu_milli=cpu,
            memory_bytes=memory,
            priority=priority,
            extended={extended: 1} if extended else None,
        )
        term = one.required_node_affinity.add()
        term.match_expressions.add(
            key="at", operator="In", values=[str(node) for node in eligible]
        )
        builder.pod(
            f"p{number}", of=f"c{number}", node="" if home is None else f"n{home}"
        )
    return builder.message


@pytest.mark.parametrize("strategy", ["paper", "cpsat-aggregated", "lexicographic"])
def test_presolve_does_not_remove_the_best_plan(strategy: str) -> None:
    """Version 9.15 proved that a pod must be evicted which can stay.

    It loses solutions where at-most-one rows lie within linear ones
    (google/or-tools issue 5293), and then calls what is left optimal.
    """
    plan = answer_to(_snapshot(), strategy=strategy, time_limit_s=120).plan

    assert plan.optimal
    assert not plan.evictions
    assert [(one.priority, one.placed, one.disruption) for one in plan.tiers] == [
        (2, 24, 2),
        (1, 27, 2),
    ]
