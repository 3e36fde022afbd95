"""Plans keep within limits, say what moves gain, and are finished in time."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest
from packing_oracle import items_of
from snapshot_builder import SnapshotBuilder, figure_1
from solving_in_process import decoded, empty, finished_answer_to

from stowage_optimizer.constraints.reduction import reduce_snapshot
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.budget import Budget
from stowage_optimizer.model.decode.issues import Issues
from stowage_optimizer.model.decode.options import decode_options
from stowage_optimizer.model.errors import InvalidInputError
from stowage_optimizer.model.options import Limits, Policy, SolveOptions
from stowage_optimizer.model.packing import Packing
from stowage_optimizer.model.solution import (
    EndReason,
    GainPoint,
    NodesInUse,
    Publish,
    Solution,
)
from stowage_optimizer.stages.finish.curve import DrawCurve
from stowage_optimizer.stages.finish.limits import Trimming
from stowage_optimizer.stages.finish.trimming import search_within_limits
from stowage_optimizer.stages.stage import run_stages
from stowage_optimizer.strategies.strategy import Strategy
from stowage_optimizer.verify import verify_plan

STRATEGY = "cpsat-aggregated"


def two_moves() -> pb.Snapshot:
    """Return two pairs of nodes; in each a move lets a waiting pod in."""
    builder = SnapshotBuilder()
    for pair in ("a", "b"):
        for name in (f"{pair}1", f"{pair}2"):
            builder.node(name, cpu_milli=4)
            builder.pod(f"at-{name}", cpu_milli=2, node=name)
        builder.pod(f"wants-{pair}", cpu_milli=3)
    return builder.message


def asking(**limits: float) -> pb.SolveOptions:
    return pb.SolveOptions(strategy=STRATEGY, **limits)  # type: ignore[arg-type]


@pytest.mark.parametrize("moves", [0, 1, 2])
def test_max_moves_leaves_the_part_of_the_plan_that_it_pays_for(moves: int) -> None:
    """Half the moves place half of the pods; a limit that does not bind proves as much.

    Unset means no limit, zero means none at all.
    """
    plan = finished_answer_to(two_moves(), asking(max_moves=moves)).plan

    assert (len(plan.placements), len(plan.moves)) == (moves, moves)
    assert plan.optimal is (moves == 2)


def test_an_owner_has_no_more_than_its_share_disrupted() -> None:
    """Both pairs' pods belong to one owner, who gives one."""
    snapshot = two_moves()
    for one in snapshot.pod_classes:
        one.owner.uid = "web"

    plan = finished_answer_to(snapshot, asking(max_disruptions_per_owner=1)).plan

    assert len(plan.moves) == 1


def test_nobody_is_evicted_where_no_eviction_is_allowed() -> None:
    """The pod of high priority waits then."""
    builder = SnapshotBuilder().node("n", cpu_milli=4)
    builder.pod("low", cpu_milli=4, node="n").pod("high", cpu_milli=4, priority=1)

    free = finished_answer_to(builder.message, asking()).plan
    limited = finished_answer_to(builder.message, asking(max_evictions=0)).plan

    assert len(free.evictions) == 1
    assert empty(limited)


def test_moves_that_gain_too_little_are_not_made() -> None:
    """One pod for two moves is less than one for each."""
    builder = SnapshotBuilder()
    for name in ("n1", "n2", "n3"):
        builder.node(name, cpu_milli=4).pod(f"at-{name}", cpu_milli=2, node=name)
    builder.node("n4", cpu_milli=1)
    builder.pod("one", cpu_milli=1, node="n4").pod("wants", cpu_milli=4)

    assert len(finished_answer_to(builder.message, asking()).plan.moves) == 1
    limited = finished_answer_to(builder.message, asking(min_gain_per_move=1.5)).plan
    assert empty(limited)


def test_the_curve_tells_what_each_move_gains() -> None:
    """At the start no pod more; then a pod a move."""
    solution = finished_answer_to(two_moves(), asking()).solution

    assert solution.gain_by_moves == (GainPoint(0, 4), GainPoint(1, 5), GainPoint(2, 6))


@pytest.mark.parametrize(
    ("costs", "ages", "goes"),
    [
        ([5, -1, 5], [9, 9, 9], "r1"),
        ([0, 0, 0], [9, 9, 1], "r2"),
        ([1, 2, 3], [9, 2, 1], "r0"),
    ],
)
def test_the_replica_goes_whose_loss_costs_least(
    costs: list[int], ages: list[int], goes: str
) -> None:
    """The lowest deletion cost first, then the youngest."""
    builder = SnapshotBuilder().node("n1", cpu_milli=6, labels={"disk": "ssd"})
    builder.node("n2", cpu_milli=2).pod_class("web", cpu_milli=2)
    for index in range(3):
        builder.pod(f"r{index}", of="web", node="n1")
    builder.pod("wants", cpu_milli=2).message.pods[-1].class_id = "big"
    builder.pod_class("big", cpu_milli=2).node_selector["disk"] = "ssd"
    for pod, cost, age in zip(builder.message.pods, costs, ages, strict=False):
        pod.deletion_cost, pod.age_s = cost, age

    plan = finished_answer_to(builder.message, asking()).plan

    assert [one.pod_uid for one in plan.moves] == [goes]


def test_consolidation_empties_a_node() -> None:
    """Two half-empty nodes make one full one."""
    builder = SnapshotBuilder().node("n1", cpu_milli=4).node("n2", cpu_milli=4)
    builder.pod("a", cpu_milli=2, node="n1").pod("b", cpu_milli=2, node="n2")

    asked = pb.SolveOptions(objective=pb.OBJECTIVE_CONSOLIDATE)
    answer = finished_answer_to(builder.message, asked)

    assert len(answer.plan.moves) == 1
    assert answer.message.startswith("1 nodes in use, 2 before: proved fewest")


@pytest.mark.parametrize("reason", ["daemonset", "mirror", "static"])
def test_what_is_there_for_its_node_does_not_keep_it_in_use(reason: str) -> None:
    """It would go with the node; every other pod that may not move keeps it."""
    builder = SnapshotBuilder().node("n1", cpu_milli=4).node("n2", cpu_milli=4)
    builder.pod("a", cpu_milli=2, node="n1").pod("b", cpu_milli=1, node="n2")
    for name in ("n1", "n2"):
        builder.pod(f"daemon-{name}", node=name, movable=False)
        builder.message.pods[-1].immovable_reason = reason
    asked = pb.SolveOptions(objective=pb.OBJECTIVE_CONSOLIDATE)

    with_its_own = finished_answer_to(builder.message, asked).plan
    builder.message.pods[-1].immovable_reason = "singleton"
    builder.message.pods[-2].immovable_reason = "singleton"
    with_singletons = finished_answer_to(builder.message, asked).plan

    assert len(with_its_own.moves) == 1
    assert empty(with_singletons)


def test_an_owner_is_spared_by_consolidation_too() -> None:
    """What is proved of the nodes in use is proved within the limits."""
    builder = SnapshotBuilder().node("n1", cpu_milli=4).node("n2", cpu_milli=4)
    builder.pod("a", cpu_milli=2, node="n1").pod("b", cpu_milli=2, node="n2")
    for one in builder.message.pod_classes:
        one.owner.uid = "web"
    asked = pb.SolveOptions(objective=pb.OBJECTIVE_CONSOLIDATE)
    asked.max_disruptions_per_owner = 0

    answer = finished_answer_to(builder.message, asked)

    assert answer.solution.empty
    assert answer.solution.nodes_in_use == NodesInUse(2, 2, 2, 0)
    assert answer.message.endswith(": proved fewest, with fewest moves")


def test_counting_alone_may_prove_that_no_fewer_nodes_are_possible() -> None:
    """Where no search may be made, totals of room and of pods still say something."""
    builder = SnapshotBuilder()
    for name in ("n1", "n2", "n3"):
        builder.node(name, cpu_milli=4)
        builder.pod(f"pod-{name}", cpu_milli=2, node=name)
        builder.message.pod_classes[-1].owner.uid = "web"
    asked = pb.SolveOptions(objective=pb.OBJECTIVE_CONSOLIDATE)
    asked.max_disruptions_per_owner = 1

    answer = finished_answer_to(builder.message, asked)

    assert answer.solution.nodes_in_use == NodesInUse(3, 2, 2, 1)
    assert answer.solution.end_reason is EndReason.OPTIMAL
    assert answer.message.endswith(": proved fewest, with fewest moves")


def test_limits_out_of_range_are_told_all_at_once() -> None:
    """Every issue of a request in one answer."""
    issues = Issues()
    message = asking(
        max_moves=-1,
        max_evictions=-1,
        max_disruptions_per_owner=-1,
        min_gain_per_move=-0.5,
    )
    message.objective = 7  # type: ignore[assignment]

    decode_options(message, issues, strategies=[STRATEGY], default_time_limit_s=1)

    with pytest.raises(InvalidInputError) as caught:
        issues.raise_if_any()
    assert len(caught.value.issues) == 5


def test_who_could_stay_once_others_are_dropped_is_not_evicted() -> None:
    """The whole plan fills the node that ``low`` could go to; its part does not."""
    builder = SnapshotBuilder()
    builder.node("n1", cpu_milli=2).node("n2", cpu_milli=4).node("n3", cpu_milli=2)
    builder.pod("low", cpu_milli=2, node="n1")
    builder.pod("mover", cpu_milli=2, priority=1, node="n2")
    builder.pod("small", cpu_milli=2, priority=1).pod("big", cpu_milli=4, priority=1)
    builder.message.forbidden_pairs.add(class_id="class-low", node="n3")
    for node in ("n2", "n3"):
        builder.message.forbidden_pairs.add(class_id="class-small", node=node)

    free = finished_answer_to(builder.message, asking()).plan
    asked = asking(max_moves=0)
    limited = finished_answer_to(builder.message, asked).plan

    assert len(free.evictions) == 1
    assert verify_plan(builder.message, limited, pb.POLICY_STRICT, asked) == []
    assert not limited.evictions


LIMIT_S = 10.0
NO_LIMITS = Limits()


@dataclass(slots=True)
class Asked:
    """Finds nothing, and notes how much time it was given."""

    limit_s: list[float] = field(default_factory=list)

    def solve(self, packing: Packing, budget: Budget, publish: Publish) -> Solution:
        """Note the limit."""
        del publish
        self.limit_s.append(budget.limit_s)
        return Solution(packing, packing.current)


def run(strategy: Strategy, packing: Packing, options: SolveOptions) -> Solution:
    """Return what the stages make of it that search, trim and draw the curve."""
    stages = (
        *search_within_limits(strategy, packing, options),
        DrawCurve(len(packing.snapshot.pods)),
    )
    known = Solution(packing, packing.current)
    return run_stages(stages, known, Budget.begin(options, lambda: 0.0), lambda _: None)


def given_s(
    pods: int, limits: Limits = NO_LIMITS, *, deterministic: bool = False
) -> float:
    """Return the time left for finding plans of so many pods."""
    builder = SnapshotBuilder().node("n")
    for number in range(pods):
        builder.pod(f"p{number}", of="web")
    builder.pod_class("web")
    options = SolveOptions(
        time_limit_s=LIMIT_S, limits=limits, deterministic=deterministic
    )
    strategy = Asked()
    packing = reduce_snapshot(decoded(builder.message))
    run(strategy, packing, options)
    (given,) = strategy.limit_s
    return given


def test_large_plans_leave_time_to_be_finished() -> None:
    """Else they come too late, each by as much as it is large."""
    small, large = given_s(10), given_s(20_000)

    assert 0.99 * LIMIT_S < small < LIMIT_S
    assert 0.8 * LIMIT_S < large < small


def test_plans_that_may_be_trimmed_leave_more_time() -> None:
    """Telling steps apart takes longer than writing them down."""
    assert given_s(10, Limits(max_moves=3)) < 0.95 * LIMIT_S


def test_counted_work_is_given_the_same_whatever_the_size() -> None:
    """Same snapshot, same plan: time must not tell."""
    assert given_s(20_000, deterministic=True) == LIMIT_S


@dataclass(slots=True)
class Telling:
    """Finds nothing in the end, but publishes a plan on the way, if there is time."""

    early: bool

    def solve(self, packing: Packing, budget: Budget, publish: Publish) -> Solution:
        """Publish that the first pod moves, and the third comes in its place."""
        del budget
        if self.early:
            publish(Solution(packing, (1, 1, 0)))
        return Solution(packing, packing.current)


def test_counted_work_ends_alike_whatever_was_published_on_the_way() -> None:
    """Machines differ in what they have time to trim before the last plan."""
    packing = reduce_snapshot(decoded(figure_1()))
    options = SolveOptions(
        time_limit_s=LIMIT_S, limits=Limits(max_moves=1), deterministic=True
    )

    ends = [run(Telling(early), packing, options) for early in (False, True)]

    assert ends[0].assignment == ends[1].assignment


@pytest.mark.parametrize("policy", Policy)
def test_a_plan_that_there_is_no_time_to_trim_disrupts_no_pod(policy: Policy) -> None:
    """Who waits and fits still gets a node: that needs no steps."""
    message = figure_1()
    message.pods.add(uid="small", name="small", namespace="default", class_id="small")
    message.pod_classes.add(
        id="small", namespace="default", requests=pb.Resources(memory_bytes=1)
    )
    packing = reduce_snapshot(decoded(message))
    trimming = Trimming(
        packing,
        policy,
        replace(Limits(), max_moves=0),
        owners=("",) * len(packing.current),
        stop=lambda: True,
    )

    trimmed = trimming.trim((1, 1, 0, None))

    homes = [item.home for item in items_of(packing)]
    assert list(trimmed[:3]) == homes[:3]
    assert trimmed[3] is not None
