"""The strategies other than the default, and those of other packages."""

import threading
from importlib.metadata import EntryPoint, EntryPoints
from itertools import count

import pytest
from made_snapshots import crowded_cluster
from snapshot_builder import GB, SnapshotBuilder, figure_1
from solving_in_process import Answer, answer_to, decoded

from stowage_optimizer.assignments.solution_writer import SolutionWriter
from stowage_optimizer.bounds.phase import Phase
from stowage_optimizer.bounds.proofs import Proof, trivial_bounds
from stowage_optimizer.constraints.reduction import reduce_snapshot
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.errors import OptimizerError
from stowage_optimizer.model.certificate import ProofMethod
from stowage_optimizer.model.options import DEFAULT_STRATEGY, Policy
from stowage_optimizer.model.solution import EndReason, Solution
from stowage_optimizer.strategies import registry
from stowage_optimizer.strategies.first_fit_decreasing import FirstFitDecreasing
from stowage_optimizer.strategies.lexicographic.prover import Prover
from stowage_optimizer.strategies.lexicographic.shared_state import ANYTHING, ConditionalBound, SharedState
from stowage_optimizer.strategies.lexicographic.strategy import PROOF_INTERVAL_S, _Publisher
from stowage_optimizer.verify import verify_plan


@pytest.mark.parametrize("strategy", ["paper", "cpsat-aggregated", "cpsat-items", "milp", "z3"])
def test_figure_1_takes_one_move(strategy: str) -> None:
    """The paper's example; a floating-point solver says that it proves nothing."""
    answer = answer_to(figure_1(), strategy=strategy)

    plan = answer.plan
    assert (len(plan.placements), len(plan.moves), len(plan.evictions)) == (1, 1, 0)
    assert plan.optimal is (strategy != "milp")
    assert ("no proof" in answer.message) is (strategy == "milp")


@pytest.mark.parametrize(
    ("strategy", "nodes", "pods", "where"),
    [
        pytest.param(
            "first-fit-decreasing", [5, 4], {"small": 2, "middle": 2, "large": 5},
            {"large": "n0", "small": "n1", "middle": "n1"}, id="large pods first",
        ),
        pytest.param(
            "first-fit-decreasing", [5], {"large": 5, "high": 1}, {"high": "n0"},
            id="but high priorities before",
        ),
        pytest.param(
            "boreas", [12, 12], dict(zip("abcdef", (6, 4, 4, 4, 3, 3), strict=True)),
            {"a": "n0", "b": "n1", "c": "n1", "d": "n1", "e": "n0", "f": "n0"},
            id="what first fit misses: two backends, three frontends, and no slack",
        ),
    ],
)  # fmt: skip
def test_heuristics_place_pods_in_an_order_that_leaves_room(
    strategy: str, nodes: list[int], pods: dict[str, int], where: dict[str, str]
) -> None:
    """Small ones first would leave no node for the large one."""
    builder = SnapshotBuilder()
    for number, cpu_milli in enumerate(nodes):
        builder.node(f"n{number}", cpu_milli=cpu_milli)
    for name, cpu_milli in pods.items():
        builder.pod(name, cpu_milli=cpu_milli, priority=int(name == "high"))

    plan = answer_to(builder.message, strategy=strategy).plan

    assert {one.pod_uid: one.node for one in plan.placements} == where


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
    install(monkeypatch, "theirs", "FirstFitDecreasing")

    strategies = registry.load_strategies(registry.SHIPPED)

    assert strategies["theirs"] == FirstFitDecreasing()
    assert DEFAULT_STRATEGY in strategies


@pytest.mark.parametrize(
    ("name", "made_by"),
    [("boreas", "FirstFitDecreasing"), ("theirs", "broken"), ("theirs", "not_there"), ("theirs", "something_else")],
)
def test_a_package_that_brings_no_strategy_or_a_name_that_is_taken_is_named(
    name: str, made_by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The operator must learn which package to repair; none replaces ours unnoticed."""
    install(monkeypatch, name, made_by)

    with pytest.raises(OptimizerError, match=f"'{name}'"):
        registry.available_strategies()


def two_alike(*, home: str = "") -> pb.Snapshot:
    """Return two equal pods, the first at ``home``, and three equal nodes."""
    builder = SnapshotBuilder()
    for name in ("a", "b", "c"):
        builder.node(name, memory_bytes=4 * GB)
    builder.pod_class("web", memory_bytes=2 * GB)
    builder.pod("first", of="web", node=home).pod("second", of="web")
    return builder.message


@pytest.mark.parametrize("strategy", ["cpsat-items-symmetry", "z3-symmetry"])
def test_nothing_is_called_optimal_that_was_sought_with_the_rows(strategy: str) -> None:
    """A limit of the smaller problem is none of the real one: one move is needed.

    A pod that the rows leave out stays where it is, if there is room.
    """
    answer = answer_to(figure_1(), strategy=strategy)
    plan = answer_to(two_alike(home="a"), strategy=strategy).plan

    assert not answer.plan.optimal
    assert "cut off answers" in answer.message
    assert [one.pod_uid for one in plan.placements] == ["second"]
    assert not plan.moves


GPU, FPGA = "example.com/gpu", "example.com/fpga"
LARGE, SMALL = (646, 6160744598), (323, 3080372299)
NODES = (LARGE, LARGE, SMALL, SMALL)

PODS = (
    # priority, cpu, memory, extended, and for each: nodes it may be on, one it runs on
    (2, 79, 586327902, "", [((0,), 0), ((1, 2, 3), 1), ((0,), 0)]),
    (2, 22, 829652163, "", [((1,), 1), ((0, 1), 1), ((0, 1), 1)]),
    (2, 88, 529108700, "", [((0, 1), 0), ((1,), 1), ((0,), 0)]),
    (1, 72, 223261764, "", [((3,), 3)]),
    (2, 34, 148444235, "", [((1,), 1), ((1,), 1)]),
    (2, 11, 779858031, "", [((0, 2), 2)]),
    (1, 84, 974823849, "", [((3,), 3)]),
    (2, 66, 289241023, "", [((1,), 1), ((0, 3), 0)]),
    (1, 94, 805802184, "", [((1,), 1)]),
    (2, 92, 345343668, "", [((0, 1), 1), ((0,), 0)]),
    (2, 62, 291907471, "", [((2,), 2), ((1, 2, 3), 2)]),
    (2, 67, 738290130, GPU, [((0, 2), 2), ((3,), 3), ((0, 1, 2), 1)]),
    (2, 58, 986088141, FPGA, [((0,), 0), ((2, 3), None), ((1, 2, 3), None)]),
)


def _snapshot() -> pb.Snapshot:
    """Return what is left of an instance of the benchmark, made as small as can be."""
    builder = SnapshotBuilder()
    for number, (cpu, memory) in enumerate(NODES):
        builder.node(
            f"n{number}", cpu_milli=cpu, memory_bytes=memory,
            labels={"at": str(number)}, extended={GPU: 1, FPGA: 1},
        )  # fmt: skip
    for priority, cpu, memory, extended, pods in PODS:
        for eligible, home in pods:
            name = f"p{len(builder.message.pods)}"
            one = builder.pod_class(
                name, cpu_milli=cpu, memory_bytes=memory, priority=priority,
                extended={extended: 1} if extended else None,
            )  # fmt: skip
            term = one.required_node_affinity.add()
            at = [str(node) for node in eligible]
            term.match_expressions.add(key="at", operator="In", values=at)
            builder.pod(name, of=name, node="" if home is None else f"n{home}")
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
    assert [(one.priority, one.placed, one.disruption) for one in plan.tiers] == [(2, 24, 2), (1, 27, 2)]


def solved(snapshot: pb.Snapshot, time_limit_s: float) -> Answer:
    return answer_to(snapshot, strategy="lexicographic", time_limit_s=time_limit_s)


@pytest.mark.parametrize("policy", [pb.POLICY_STRICT, pb.POLICY_PAPER])
def test_a_crowded_cluster_gains_pods(policy: pb.Policy) -> None:
    """The search has to find moves that no single insertion would."""
    snapshot = crowded_cluster(1)

    plan = answer_to(snapshot, strategy="lexicographic", policy=policy, time_limit_s=2.0, deterministic=True).plan

    assert plan.tiers[-1].placed > plan.tiers[-1].placed_before
    assert verify_plan(snapshot, plan, policy) == []


def test_a_stage_that_hangs_does_not_hold_up_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """No library's own limit is to be trusted: the caller's thread keeps the time."""
    hanging = threading.Event()
    monkeypatch.setattr(Prover, "prove", lambda *_: hanging.wait())

    try:
        answer = solved(crowded_cluster(3), 0.2)
    finally:
        hanging.set()

    assert answer.end_reason in {EndReason.TIME_LIMIT, EndReason.OPTIMAL}
    assert not answer.solution.empty


def test_a_stage_that_fails_fails_the_solve(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bug in a thread must not pass for a result."""

    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(Prover, "prove", fail)

    with pytest.raises(ZeroDivisionError):
        solved(crowded_cluster(3), 5.0)


def test_bounds_that_move_are_told_while_the_plan_stays() -> None:
    """A long proof is seen to go on."""
    packing = reduce_snapshot(decoded(figure_1()))
    bounds = trivial_bounds(packing)
    bounds[-1].placed += 2
    shared = SharedState(packing.problem, strict=True, bounds=bounds)
    published: list[Solution] = []
    moments = count(0.0, PROOF_INTERVAL_S / 10)
    publisher = _Publisher(shared, SolutionWriter(packing, Policy.STRICT), published.append, lambda: next(moments))
    publisher.publish()
    loose = published[0].tiers[-1].upper_bound

    anything = (ANYTHING,) * len(bounds)
    proof = Proof(ProofMethod.KNAPSACK)
    shared.add_bound(ConditionalBound(0, Phase.PLACE, anything, loose - 1, proof))
    publisher.publish_until(deadline=4 * PROOF_INTERVAL_S, latest=0.0)

    assert [plan.tiers[-1].upper_bound for plan in published] == [loose, loose - 1]
