"""What is made of the scheduler's and the optimiser's answers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.simulate import (
    Continued,
    Judgement,
    PlanJudgement,
    Question,
    Remark,
    UnknownField,
    Verification,
)
from stowage_testbed.whatif import asking
from stowage_testbed.whatif.asking import PlanLimits, findings_of
from stowage_testbed.whatif.findings import (
    NOT_FOUND,
    OPEN,
    Elsewhere,
    Findings,
    HourlyPrice,
    Move,
    NotJudged,
    Tier,
)
from stowage_testbed.whatif.inventory import FURTHER, Inventory
from stowage_testbed.whatif.reading import NO_BUDGETS
from stowage_testbed.whatif.release import Release

NAMES = ("home", "small", "big")
PODS: tuple[dict[str, Any], ...] = tuple(
    {"metadata": {"name": name, "namespace": "ns", "uid": name}, "spec": {}}
    for name in NAMES
)
NOTHING, A_TAINT = Continued(), PlanJudgement(False, pods=("big",), detail="a taint")
INVENTORY = Inventory(({},), PODS, unread=("volumes",))


@dataclass
class World:
    """A scheduler that refuses the first plans, and an optimiser with one plan.

    Attributes
    ----------
    now, after
        What the scheduler makes of the pods that wait.
    refusal
        Its judgement of the first plans.
    emptying
        The plan that empties nodes.
    """

    plan: pb.Plan
    snapshot: pb.Snapshot
    now: Continued = NOTHING
    after: Continued = NOTHING
    refused: int = 0
    refusal: PlanJudgement = A_TAINT
    left_out: tuple[Remark, ...] = ()
    unknown: tuple[UnknownField, ...] = ()
    emptying: pb.Plan = field(default_factory=pb.Plan)
    processes: int = 0
    solved_beside: list[int] = field(default_factory=list)
    asked: list[Question] = field(default_factory=list)
    requests: list[pb.SolveRequest] = field(default_factory=list)

    def verify(self, question: Question) -> Verification:
        self.asked.append(question)
        return Verification(self.snapshot, (), None, self.left_out, self.unknown)

    def judge(self, question: Question) -> Judgement:
        if not question.plans:
            return Judgement((), self.now)
        self.asked.append(question)
        if self.refused and not question.consolidates:
            self.refused -= 1
            return Judgement((self.refusal,))
        return Judgement((PlanJudgement(True),), self.after)

    def last_answer(self, request: pb.SolveRequest) -> pb.SolveUpdate:
        self.solved_beside.append(self.processes)
        self.requests.append(request)
        placing = request.options.objective == pb.OBJECTIVE_PLACE
        return pb.SolveUpdate(last=True, plan=self.plan if placing else self.emptying)


def _snapshot() -> pb.Snapshot:
    made = pb.Snapshot(
        nodes=[
            pb.Node(name=name, allocatable=pb.Resources(pods=9))
            for name in ("n1", "n2")
        ],
        pod_classes=[
            pb.PodClass(id="low", namespace="ns"),
            pb.PodClass(id="high", namespace="ns", priority=9),
        ],
    )
    made.pods.add(uid="home", namespace="ns", name="home", class_id="low", node="n1")
    made.pods.add(uid="small", namespace="ns", name="small", class_id="low")
    made.pods.add(uid="big", namespace="ns", name="big", class_id="high")
    return made


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    plan = pb.Plan(
        placements=[pb.Placement(pod_uid=uid, node="n1") for uid in ("small", "big")],
        moves=[pb.Move(pod_uid="home", from_node="n1", to_node="n2")],
        tiers=[
            pb.TierResult(priority=9, placed_before=0, placed=1, upper_bound=1),
            pb.TierResult(priority=0, placed_before=1, placed=3, upper_bound=3),
        ],
        gain_by_moves=[
            pb.GainPoint(moves=0, placed=2),
            pb.GainPoint(moves=1, placed=3),
        ],
    )
    made = World(plan, _snapshot())

    @contextmanager
    def process(*_: Any, **__: Any) -> Iterator[World]:
        made.processes += 1
        yield made
        made.processes -= 1

    monkeypatch.setattr(asking, "SchedulerVerifier", process)
    monkeypatch.setattr(asking, "running_service", lambda: nullcontext(made))
    return made


def found(
    world: World,
    inventory: Inventory = INVENTORY,
    limits: PlanLimits | None = None,
) -> Findings:
    return findings_of(inventory, Path("profile"), limits or PlanLimits())


def nothing(world: World, *, optimal: bool = False) -> None:
    """Have the optimiser place no pod, since none more can be placed if optimal."""
    tiers = [
        pb.TierResult(
            priority=9, placed_before=0, placed=0, upper_bound=0 if optimal else 1
        ),
        pb.TierResult(
            priority=0, placed_before=1, placed=1, upper_bound=1 if optimal else 3
        ),
    ]
    world.plan = pb.Plan(optimal=optimal, tiers=tiers)


def test_a_move_says_how_many_pods_of_which_priority_it_admits(world: World) -> None:
    """A move alone says nothing of what it is good for."""
    assert found(world).moves == (Move("ns/home", "n1", "n2", 2, 9),)


def test_gains_are_counted_from_what_is_there(world: World) -> None:
    """The plan's curve counts all pods with a node, which nobody gained."""
    assert found(world).gain_by_moves == ((0, 1), (1, 2))
    assert found(world).tiers == (Tier(9, 0, 1, 1), Tier(0, 1, 3, 3))


def test_what_nodes_cost_is_told_and_which_have_no_price(world: World) -> None:
    """A label may be missing or misspelt: who pays must know."""
    world.snapshot.nodes[0].hourly_price_micros = 384_000
    world.emptying.nodes_in_use.CopyFrom(
        pb.NodesInUse(
            before=1,
            after=1,
            price_before_micros=384_000,
            price_after_micros=384_000,
            price_lower_bound_micros=192_000,
        )
    )

    told = found(world)

    assert told.hourly_price == HourlyPrice(384_000, 384_000, 192_000)
    unknown = "a node without a readable price"
    assert NotJudged(unknown, "n2") in told.not_judged
    assert NotJudged(unknown, "n1") not in told.not_judged


def test_a_refused_plan_is_made_again_and_told(world: World) -> None:
    """What a plugin of the scheduler refuses is no answer, but worth a line."""
    world.refused = 1

    told = found(world)

    assert told.fits_after == 2
    assert world.asked[2].forbidden == (("ns/big", "n1"),)
    (pair,) = world.requests[1].snapshot.forbidden_pairs
    assert (pair.class_id, pair.node) == ("high", "n1")
    refusal = NotJudged("a plan that the scheduler's plugins refused", "", "a taint")
    assert told.not_judged == (NotJudged("volumes"), refusal)


def test_one_process_of_the_scheduler_at_most_works_beside_the_optimiser(
    world: World,
) -> None:
    """Each holds the whole cluster, and the solver wants the memory too."""
    found(world)

    assert world.solved_beside[0] == 1
    assert set(world.solved_beside[1:]) == {0}


def test_the_scheduler_s_own_placement_is_a_plan_too(world: World) -> None:
    """An optimiser that finds nothing in time must not make 1,317 pods none."""
    nothing(world)
    world.now = Continued({"ns/big": "n2"}, {"ns/small": "0/2 nodes are available"})

    told = found(world)

    assert (told.fits_now, told.fits_after, told.moves) == (1, 1, ())
    (left,) = told.left
    assert (left.workload, left.now) == ("ns/low", "0/2 nodes are available")


def test_what_the_scheduler_places_after_the_plan_counts(world: World) -> None:
    """A pod that no plan may contain fits as things are, and after the plan too."""
    world.snapshot.pod_classes[1].unsupported.append("volumes")
    del world.plan.placements[1]
    world.plan.optimal = True
    world.now = world.after = Continued({"ns/big": "n2"})

    told = found(world)

    assert (told.fits_now, told.fits_after) == (1, 2)
    assert told.proved


def test_moves_that_gain_nothing_over_things_as_they_are_are_not_told(
    world: World,
) -> None:
    """Who pays for moves wants to know what they buy."""
    world.now = Continued({"ns/big": "n2", "ns/small": "n2"})

    told = found(world)

    assert (told.fits_after, told.moves, told.proved) == (2, (), True)


def test_the_curve_begins_with_what_fits_as_things_are(world: World) -> None:
    """One of two pods needs no move, so the move buys one pod, not two."""
    world.plan.gain_by_moves[0].placed = 1
    world.now = Continued({"ns/big": "n1"})

    assert found(world).gain_by_moves == ((0, 1), (1, 2))


def test_a_plan_that_is_best_of_a_part_is_not_proved_of_the_whole(
    world: World,
) -> None:
    """Each thing left aside lowers the claim, and the claim names it."""
    nothing(world, optimal=True)
    assert found(world).proved

    world.snapshot.pod_classes[0].unsupported.append("volumes")
    told = found(world)

    assert not told.proved
    assert told.proof.holds
    assert told.proof.not_about == ("1 pod that waits and was not judged",)
    assert [(one.workload, one.verdict) for one in told.left] == [
        ("ns/high", OPEN),
        ("ns/low", "not judged"),
    ]


@pytest.mark.parametrize("need", ["ephemeral-volumes", "resource-claims", "pod-group"])
def test_a_running_pod_that_no_plan_can_describe_narrows_every_claim(
    world: World, need: str
) -> None:
    """No rule of the cluster keeps it: a plan that moves it was never judged."""
    nothing(world, optimal=True)
    world.snapshot.pod_classes.add(id="needy", namespace="ns", unsupported=[need])
    home = world.snapshot.pods[0]
    home.class_id, home.movable, home.immovable_reason = "needy", False, "unsupported"
    world.emptying.nodes_in_use.before = world.emptying.nodes_in_use.after = 1
    world.emptying.nodes_in_use.lower_bound = 1

    told = found(world)

    assert not told.proved
    assert told.proof.not_about == (
        f"1 running pod that no plan could move: it needs {need}",
    )
    assert {one.verdict for one in told.left} == {OPEN}
    assert told.tiers == (Tier(9, 0, 0, 1), Tier(0, 1, 1, 3))
    assert (told.used_nodes, told.needed_nodes, told.fewest_nodes) == (1, 1, 0)


@pytest.mark.parametrize("rule", ["daemonset", "opted-out", "disruption-budget"])
def test_a_running_pod_that_a_rule_keeps_narrows_no_claim(
    world: World, rule: str
) -> None:
    """It would stay whatever plans could describe."""
    nothing(world, optimal=True)
    world.snapshot.pod_classes.add(id="needy", namespace="ns", unsupported=["volumes"])
    home = world.snapshot.pods[0]
    home.class_id, home.movable, home.immovable_reason = "needy", False, rule

    assert found(world).proved


def test_room_that_pods_are_about_to_leave_is_no_proof_against_others(
    world: World,
) -> None:
    """A pod whose victims are leaving waits for seconds, not for ever."""
    nothing(world, optimal=True)
    world.snapshot.pods[0].immovable_reason = "terminating"

    told = found(world)

    assert not told.proved
    assert "1 pod that is leaving, whose room comes free" in told.proof.not_about


def test_a_plan_that_may_break_a_budget_is_not_proved(world: World) -> None:
    """Who may not list budgets sees a cluster without any."""
    world.plan.optimal = True
    assert found(world).proved

    unread = replace(INVENTORY, unread=(FURTHER["PodDisruptionBudget"],))
    assert not found(world, unread).proved

    listed = found(world, replace(INVENTORY, unread=(NO_BUDGETS,)))
    assert listed.proved
    assert "list no disruption budgets" in listed.proof.about


def test_a_placement_that_a_plugin_refused_lowers_the_claim(world: World) -> None:
    """It was refused within one plan; in another it may be right."""
    world.plan.optimal, world.refused = True, 1

    told = found(world)

    assert not told.proved
    assert told.proof.not_about == ("1 placement that a plugin refused in one plan",)


def test_a_limit_is_named_where_the_time_is_not_to_blame(world: World) -> None:
    """Those who set --max-moves are not helped by more time."""
    nothing(world)

    told = found(world, limits=PlanLimits(max_moves=1))

    assert {one.verdict for one in told.left} == {NOT_FOUND}
    assert told.left[0].reason == "no plan with at most 1 move was found in time"
    assert told.proof.limits == ("with at most 1 move",)


def test_the_limits_of_the_release_bound_the_plans(world: World) -> None:
    """A plan that the release would never carry out is no answer."""
    release = Release(arguments={"limits": {"maxMoves": 3, "maxPerWorkload": 2}})

    found(world, limits=PlanLimits(max_moves=9, release=release))

    options = world.requests[0].options
    assert (options.max_moves, options.max_disruptions_per_owner) == (3, 2)
    assert not options.HasField("max_evictions")


def test_a_pod_whose_disruption_is_one_too_many_stays_in_the_next_plan(
    world: World,
) -> None:
    """Limits by node and namespace are not in the contract; the scheduler looks."""
    world.refused = 1
    world.refusal = PlanJudgement(
        False, "limit", pods=("home",), detail="limit-per-node"
    )

    found(world)

    kept = [one.immovable_reason for one in world.requests[1].snapshot.pods if one.node]
    assert kept == ["limit-per-node"]
    assert not world.snapshot.pods[0].immovable_reason


def test_pods_of_other_schedulers_are_counted_apart(world: World) -> None:
    """They vanished without a word."""
    theirs = {
        "metadata": {"name": "x", "namespace": "ns"},
        "spec": {"schedulerName": "volcano"},
    }
    told = found(world, replace(INVENTORY, pods=(*PODS, theirs)))

    assert told.elsewhere == (Elsewhere("volcano", 1),)


def test_what_takes_no_part_is_told_by_name_and_lowers_the_claim(world: World) -> None:
    """The answer is about all the rest, and whoever reads it must know."""
    nameless = Remark("a Pod", "no name")
    world.left_out = (Remark("Pod ns/a", "no node"),)
    world.unknown = (UnknownField("Pod spec.new", 2),)
    waits = (Remark("Pod ns/c", "its claim has no volume yet"),)
    world.now = world.after = replace(NOTHING, awaiting=waits)
    world.plan.optimal = True

    told = found(world, replace(INVENTORY, left_out=(nameless,)))

    assert not told.proved
    subjects = [one.subject for one in told.not_judged if one.reason == "left out"]
    assert subjects == ["a Pod", "Pod ns/a"]
    assert any("volume" in one.reason for one in told.not_judged)
    assert any("2" in one.detail for one in told.not_judged)
    assert told.proof.not_about == (
        "2 objects that could not be taken in",
        "1 field that the scheduler does not know",
    )


def test_objects_of_a_cluster_are_said_to_be_observed(world: World) -> None:
    """Otherwise one that makes no sense costs the whole answer."""
    found(world)
    assert all(question.instance.observed for question in world.asked)


def _never(name: str) -> Inventory:
    pods = [
        {**pod, "spec": {"preemptionPolicy": "Never"}}
        if pod["metadata"]["name"] == name
        else pod
        for pod in PODS
    ]
    return replace(INVENTORY, pods=tuple(pods))


def test_a_pod_that_never_preempts_does_not_empty_the_answer_for_others(
    world: World,
) -> None:
    """The plugin drops it and goes on."""
    world.refused, world.refusal = (
        1,
        PlanJudgement(False, "unjust-eviction", detail="evicts"),
    )
    world.plan.optimal = True

    told = found(world, _never("big"))

    assert [pod.uid for pod in world.requests[1].snapshot.pods] == ["home", "small"]
    assert not told.proved
    assert any("preemptionPolicy Never" in one for one in told.proof.not_about)


def test_where_nobody_may_preempt_pods_that_run_count_as_no_less_important(
    world: World,
) -> None:
    """So it can be proved that no plan without evictions places the pod."""
    del world.snapshot.pods[1]
    del world.plan.placements[0]
    world.refused, world.refusal = (
        1,
        PlanJudgement(False, "unjust-eviction", detail="evicts"),
    )

    found(world, _never("big"))

    again = world.requests[1].snapshot
    assert [one.priority for one in again.pod_classes] == [9, 9]
    assert {pod.uid for pod in again.pods} == {"home", "big"}
