"""What is made of the scheduler's and the optimiser's answers, in how much time."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.simulate.instance import (
    Continued,
    Judgement,
    PlanJudgement,
    Question,
    Remark,
    UnknownField,
    Verification,
)
from stowage_testbed.whatif import engine
from stowage_testbed.whatif.answer import findings_of
from stowage_testbed.whatif.engine import PLACING_SHARE, SMALL, SURE_SOLVES, UNRULED_SHARE, Allowance
from stowage_testbed.whatif.findings import Elsewhere, Findings, HourlyPrice, Move, NotJudged, Tier
from stowage_testbed.whatif.inventory import FURTHER, Inventory
from stowage_testbed.whatif.reading import NO_BUDGETS
from stowage_testbed.whatif.settings import PlanLimits, Release

NAMES = ("home", "small", "big")
PODS: tuple[dict[str, Any], ...] = tuple(
    {"metadata": {"name": name, "namespace": "ns", "uid": name}, "spec": {}} for name in NAMES
)
NOTHING, A_TAINT = Continued(), PlanJudgement(False, pods=("big",), detail="a taint")
INVENTORY = Inventory(({},), PODS, unread=("volumes",))


@dataclass
class World:
    """A scheduler that refuses the first plans, and an optimiser with one plan.

    What the scheduler makes of the pods that wait is ``now`` and ``after`` the plan.
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
    asked: list[Question] = field(default_factory=list)
    requests: list[pb.SolveRequest] = field(default_factory=list)

    def verify(self, question: Question) -> Verification:
        self.asked.append(question)
        return Verification(snapshot=self.snapshot, left_out=self.left_out, unknown_fields=self.unknown)

    def judge(self, question: Question) -> Judgement:
        if not question.plans:
            return Judgement((), self.now)
        self.asked.append(question)
        if self.refused and not question.consolidates:
            self.refused -= 1
            return Judgement((self.refusal,))
        return Judgement((PlanJudgement(True),), self.after)

    def last_answer(self, request: pb.SolveRequest) -> pb.SolveUpdate:
        self.requests.append(request)
        placing = request.options.objective == pb.OBJECTIVE_PLACE
        return pb.SolveUpdate(last=True, plan=self.plan if placing else self.emptying)


def _snapshot() -> pb.Snapshot:
    made = pb.Snapshot(
        nodes=[pb.Node(name=name, allocatable=pb.Resources(pods=9)) for name in ("n1", "n2")],
        pod_classes=[pb.PodClass(id="low", namespace="ns"), pb.PodClass(id="high", namespace="ns", priority=9)],
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
        gain_by_moves=[pb.GainPoint(moves=0, placed=2), pb.GainPoint(moves=1, placed=3)],
    )
    made = World(plan, _snapshot())

    @contextmanager
    def process(*_: Any, **__: Any) -> Iterator[World]:
        yield made

    monkeypatch.setattr(engine, "SchedulerVerifier", process)
    monkeypatch.setattr(engine, "running_service", lambda: nullcontext(made))
    return made


def found(world: World, inventory: Inventory = INVENTORY, limits: PlanLimits | None = None) -> Findings:
    return findings_of(inventory, limits or PlanLimits())


def nothing(world: World, *, optimal: bool = False) -> None:
    """Have the optimiser place no pod, since none more can be placed if optimal."""
    high, all_pods = (0, 1) if optimal else (1, 3)
    tiers = [
        pb.TierResult(priority=9, placed_before=0, placed=0, upper_bound=high),
        pb.TierResult(priority=0, placed_before=1, placed=1, upper_bound=all_pods),
    ]
    world.plan = pb.Plan(optimal=optimal, tiers=tiers)


def test_a_plan_is_told_by_what_its_moves_admit_and_gain(world: World) -> None:
    """The plan's own curve counts all pods with a node, which nobody gained."""
    told = found(world)
    assert told.moves == (Move("ns/home", "n1", "n2", 2, 9),)
    assert told.gain_by_moves == ((0, 1), (1, 2))
    assert told.tiers == (Tier(9, 0, 1, 1), Tier(0, 1, 3, 3))


def test_bounds_on_devices_are_not_told_as_bounds_on_pods(world: World) -> None:
    """A release that maximizes devices may leave pods without a node that there is room for."""
    nothing(world, optimal=True)
    world.snapshot.pod_classes[1].worth = 800

    told = found(world)

    assert told.tiers == (Tier(9, 0, 0, 1), Tier(0, 1, 1, 3))
    assert told.proof.about.endswith("devices are counted, not pods")


def test_what_nodes_cost_is_told_and_which_have_no_price(world: World) -> None:
    """A label may be missing or misspelt: who pays must know."""
    world.snapshot.nodes[0].hourly_price_micros = 384_000
    in_use = world.emptying.nodes_in_use
    in_use.before = in_use.after = 1
    in_use.price_before_micros = in_use.price_after_micros = 384_000
    in_use.price_lower_bound_micros = 192_000

    told = found(world)

    assert told.hourly_price == HourlyPrice(384_000, 384_000, 192_000)
    unpriced = [one for one in told.not_judged if "price" in one.reason]
    assert unpriced == [NotJudged("a node without a readable price", "n2")]


def test_a_refused_plan_is_made_again_and_lowers_the_claim(world: World) -> None:
    """What a plugin refuses within one plan may be right in another."""
    world.plan.optimal, world.refused = True, 1

    told = found(world)

    assert (told.fits_after, told.proved) == (2, False)
    assert world.asked[2].forbidden == (("ns/big", "n1"),)
    assert all(question.instance.observed for question in world.asked)
    (pair,) = world.requests[1].snapshot.forbidden_pairs
    assert (pair.class_id, pair.node) == ("high", "n1")
    refusal = NotJudged("a plan that the scheduler's plugins refused", "", "a taint")
    assert told.not_judged == (NotJudged("volumes"), refusal)
    assert told.proof.not_about == ("1 placement that a plugin refused in one plan",)


def test_the_scheduler_s_own_placement_is_a_plan_too(world: World) -> None:
    """An optimiser that finds nothing in time must not make 1,317 pods none."""
    best = world.plan
    nothing(world)
    world.now = Continued({"ns/big": "n2"}, {"ns/small": "0/2 nodes are available"})
    told = found(world)
    assert (told.fits_now, told.fits_after, told.moves) == (1, 1, ())
    (left,) = told.left
    assert (left.workload, left.now) == ("ns/low", "0/2 nodes are available")

    # Moves are measured by what fits without them.
    world.plan = best
    world.now = Continued({"ns/big": "n2", "ns/small": "n2"})
    told = found(world)
    assert (told.fits_after, told.moves, told.proved) == (2, (), True)
    best.gain_by_moves[0].placed = 1
    world.now = Continued({"ns/big": "n1"})
    assert found(world).gain_by_moves == ((0, 1), (1, 2))

    # A pod that no plan may contain fits as things are, and after the plan too.
    world.snapshot.pod_classes[1].unsupported.append("volumes")
    del best.placements[1]
    best.optimal = True
    world.now = world.after = Continued({"ns/big": "n2"})
    told = found(world)
    assert (told.fits_now, told.fits_after, told.proved) == (1, 2, True)


def test_a_running_pod_that_no_plan_describes_narrows_every_claim(world: World) -> None:
    """A rule keeps a pod whatever plans can describe; who leaves makes room soon."""
    nothing(world, optimal=True)
    world.snapshot.pod_classes.add(id="needy", namespace="ns", unsupported=["claims"])
    in_use = world.emptying.nodes_in_use
    in_use.before = in_use.after = in_use.lower_bound = 1
    home = world.snapshot.pods[0]
    home.class_id, home.movable = "needy", False
    for rule in ("daemonset", "opted-out", "disruption-budget"):
        home.immovable_reason = rule
        assert found(world).proved

    home.immovable_reason = "terminating"
    told = found(world)
    assert not told.proved
    assert "1 pod that is leaving, whose room comes free" in told.proof.not_about

    home.immovable_reason = "unsupported"
    told = found(world)
    assert not told.proved
    assert told.proof.not_about == ("1 running pod that no plan could move: it needs claims",)
    assert {one.verdict for one in told.left} == {"open"}
    assert told.tiers == (Tier(9, 0, 0, 1), Tier(0, 1, 1, 3))
    assert (told.used_nodes, told.needed_nodes, told.fewest_nodes) == (1, 1, 0)


def test_a_plan_that_may_break_a_budget_is_not_proved(world: World) -> None:
    """Who may not list budgets sees a cluster without any."""
    world.plan.optimal = True
    assert found(world).proved
    unread = replace(INVENTORY, unread=(FURTHER["PodDisruptionBudget"],))
    assert not found(world, unread).proved
    listed = found(world, replace(INVENTORY, unread=(NO_BUDGETS,)))
    assert listed.proved
    assert "list no disruption budgets" in listed.proof.about


def test_limits_bound_the_plans_and_are_named(world: World) -> None:
    """Those who set --max-moves are not helped by more time."""
    release = Release(arguments={"limits": {"maxMoves": 3, "maxPerWorkload": 2}})
    found(world, limits=PlanLimits(max_moves=9, release=release))
    options = world.requests[0].options
    assert (options.max_moves, options.max_disruptions_per_owner) == (3, 2)
    assert not options.HasField("max_evictions")

    nothing(world)
    told = found(world, limits=PlanLimits(max_moves=1))
    assert {one.verdict for one in told.left} == {"not found"}
    assert told.left[0].reason == "no plan with at most 1 move was found in time"
    assert told.left[0].changes[-1] == "the time limit"
    assert told.proof.limits == ("with at most 1 move",)


def test_a_pod_whose_disruption_is_one_too_many_stays_next_time(world: World) -> None:
    """Limits by node and namespace are not in the contract; the scheduler looks."""
    world.refused = 1
    world.refusal = PlanJudgement(False, "limit", pods=("home",), detail="limit-per-node")

    found(world)

    kept = [one.immovable_reason for one in world.requests[1].snapshot.pods if one.node]
    assert kept == ["limit-per-node"]
    assert not world.snapshot.pods[0].immovable_reason


def test_what_takes_no_part_is_told_by_name_and_lowers_the_claim(world: World) -> None:
    """The answer is about all the rest, and whoever reads it must know."""
    other = {"name": "x", "namespace": "ns"}
    theirs = {"metadata": other, "spec": {"schedulerName": "volcano"}}
    nameless = Remark("a Pod", "no name")
    world.left_out = (Remark("Pod ns/a", "no node"),)
    world.unknown = (UnknownField("Pod spec.new", 2),)
    waits = (Remark("Pod ns/c", "its claim has no volume yet"),)
    world.now = world.after = Continued(awaiting=waits)
    world.plan.optimal = True

    told = found(world, replace(INVENTORY, pods=(*PODS, theirs), left_out=(nameless,)))

    assert told.elsewhere == (Elsewhere("volcano", 1),)
    assert not told.proved
    subjects = [one.subject for one in told.not_judged if one.reason == "left out"]
    assert subjects == ["a Pod", "Pod ns/a"]
    assert any("volume" in one.reason for one in told.not_judged)
    assert any("2" in one.detail for one in told.not_judged)
    assert told.proof.not_about == ("2 objects that could not be taken in", "1 field that the scheduler does not know")


def _never(world: World) -> Inventory:
    """Have the scheduler refuse an eviction for a pod that never preempts."""
    world.refused = 1
    world.refusal = PlanJudgement(False, "unjust-eviction", detail="evicts")
    never = {**PODS[2], "spec": {"preemptionPolicy": "Never"}}
    return replace(INVENTORY, pods=(*PODS[:2], never))


def test_a_pod_that_never_preempts_leaves_the_answer_for_others(world: World) -> None:
    """The plugin drops it and goes on.

    Where nobody may preempt it stays: so it can be proved that no plan without evictions places it.
    """
    world.plan.optimal = True
    told = found(world, _never(world))
    assert [pod.uid for pod in world.requests[1].snapshot.pods] == ["home", "small"]
    assert not told.proved
    assert any("preemptionPolicy Never" in one for one in told.proof.not_about)

    del world.snapshot.pods[1], world.plan.placements[0]
    found(world, _never(world))
    again = world.requests[-2].snapshot
    assert [one.priority for one in again.pod_classes] == [9, 9]
    assert {pod.uid for pod in again.pods} == {"home", "big"}


def test_all_parts_together_take_the_time_that_was_given() -> None:
    """Each had the whole limit: ten seconds became a minute."""
    now = [2.0]
    allowance = Allowance(12.0, SMALL + 1, lambda: now[0])
    for share, later in ((PLACING_SHARE, 4.0), (UNRULED_SHARE, 2.0), (1.0, 2.0)):
        solves = 0
        # Of a part's time each solve gets a share of what is left.
        for time_s in allowance.solves_s(share, later):
            now[0] += time_s
            solves += 1
        assert solves > 1
        now[0] += later / 2
    assert now[0] <= 14.0


def test_a_small_cluster_s_answer_is_whole_on_a_busy_machine_too() -> None:
    """There the processes take all the time to start, and a refusal takes a solve."""
    now = [0.0]
    small, large = (Allowance(2.0, size, lambda: now[0]) for size in (SMALL, SMALL + 1))
    now[0] = 1.9

    assert [*small.solves_s(PLACING_SHARE, 0.2)] == [0.2] * SURE_SOLVES
    now[0] = 22.0
    assert len([*small.solves_s(1.0, 5.0)]) == SURE_SOLVES
    assert [*large.solves_s(1.0, 5.0)] == []
    assert len([*large.solves_s(PLACING_SHARE, 5.0)]) == 1
