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
    Instance,
    Placements,
    Question,
    Remark,
    UnknownField,
    Verdict,
    Verification,
)
from stowage_testbed.whatif import asking
from stowage_testbed.whatif.asking import PlanLimits, findings_of
from stowage_testbed.whatif.findings import Findings, Move, NotJudged, Tier
from stowage_testbed.whatif.inventory import Inventory

NAMES = ("home", "small", "big")
PODS = tuple({"metadata": {"name": name, "uid": name}} for name in NAMES)
INVENTORY = Inventory(({},), PODS, unread=("volumes",))


@dataclass
class World:
    """A scheduler that refuses the first plans, and an optimiser with one plan.

    The scheduler places whatever pod it is asked about.
    """

    plan: pb.Plan
    snapshot: pb.Snapshot
    refused: int = 0
    processes: int = 0
    asked: list[str] = field(default_factory=list)
    solved_beside: list[int] = field(default_factory=list)
    forbidden: list[tuple[tuple[str, str], ...]] = field(default_factory=list)
    instances: list[Instance] = field(default_factory=list)
    read: Verification | None = None
    failed: tuple[Remark, ...] = ()
    awaiting: tuple[Remark, ...] = ()

    def verify(self, question: Question) -> Verification:
        self.forbidden.append(question.forbidden)
        self.instances.append(question.instance)
        return self.read or Verification(self.snapshot, ())

    def place(self, instance: Instance) -> Placements:
        self.instances.append(instance)
        self.asked = [str(pod["metadata"]["name"]) for pod in instance.pods]
        nodes = {f"ns/{name}": "n1" for name in self.asked}
        return Placements("whatif", nodes, awaiting=self.awaiting, left_out=self.failed)

    def verdicts(self, question: Question) -> tuple[Verdict, ...]:
        self.instances.append(question.instance)
        if self.refused and not question.consolidates:
            self.refused -= 1
            return (Verdict(False, pods=("big",), detail="a taint"),)
        return (Verdict(True),)

    def last_answer(self, request: pb.SolveRequest) -> pb.SolveUpdate:
        self.solved_beside.append(self.processes)
        placing = request.options.objective == pb.OBJECTIVE_PLACE
        return pb.SolveUpdate(last=True, plan=self.plan if placing else pb.Plan())


def _snapshot() -> pb.Snapshot:
    made = pb.Snapshot(
        nodes=[
            pb.Node(name=name, allocatable=pb.Resources(pods=9))
            for name in ("n1", "n2")
        ],
        pod_classes=[pb.PodClass(id="low"), pb.PodClass(id="high", priority=9)],
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
    monkeypatch.setattr(asking, "Simulator", process)
    monkeypatch.setattr(asking, "running_service", lambda: nullcontext(made))
    return made


def found(world: World) -> Findings:
    return findings_of(INVENTORY, Path("profile"), PlanLimits())


def test_only_pods_that_waited_count_as_fitting_now(world: World) -> None:
    """The scheduler's answer holds the running pods too."""
    assert found(world).fits_now == 2


def test_the_scheduler_is_not_asked_about_pods_that_no_node_has_room_for(
    world: World,
) -> None:
    """It would try each on every node, which takes minutes on a large full cluster."""
    world.snapshot.pod_classes[1].requests.extended["nvidia.com/gpu"] = 1

    assert found(world).fits_now == 1
    assert world.asked == ["home", "small"]


def test_a_move_says_how_many_pods_of_which_priority_it_admits(world: World) -> None:
    """A move alone says nothing of what it is good for."""
    assert found(world).moves == (Move("ns/home", "n1", "n2", 2, 9),)


def test_gains_are_counted_from_what_is_there(world: World) -> None:
    """The plan's curve counts all pods with a node, which nobody gained."""
    assert found(world).gain_by_moves == ((0, 1), (1, 2))
    assert found(world).tiers == (Tier(9, 0, 1, 1), Tier(0, 1, 3, 3))


def test_a_refused_plan_is_made_again_and_told(world: World) -> None:
    """What a plugin of the scheduler refuses is no answer, but worth a line."""
    world.refused = 1

    told = found(world)

    assert told.fits_after == 2
    assert world.forbidden[1] == (("ns/big", "n1"),)
    refusal = NotJudged("a plan that the scheduler's plugins refused", "", "a taint")
    assert told.not_judged == (NotJudged("volumes"), refusal)


def test_no_process_of_the_scheduler_is_kept_while_the_optimiser_works(
    world: World,
) -> None:
    """Each holds the whole cluster, and the solver wants the memory too."""
    found(world)

    assert world.solved_beside == [0, 0]


def test_what_takes_no_part_is_told_by_name(world: World) -> None:
    """The answer is about all the rest, and whoever reads it must know."""
    nameless, gone = Remark("a Pod", "no name"), Remark("Pod ns/a", "no node")
    failed = Remark("Pod ns/b", "the attempt failed")
    world.read = Verification(
        world.snapshot, (), (gone,), (UnknownField("Pod spec.new", 2),)
    )
    world.failed = (gone, failed)
    world.awaiting = (Remark("Pod ns/c", "its claim has no volume yet"),)

    told = findings_of(
        replace(INVENTORY, left_out=(nameless,)), Path("profile"), PlanLimits()
    ).not_judged

    left_out = [one for one in told if one.reason == "left out"]
    assert [one.subject for one in left_out] == ["a Pod", "Pod ns/a", "Pod ns/b"]
    assert any(one.subject == "Pod ns/c" and "volume" in one.reason for one in told)
    assert any(one.subject == "Pod spec.new" and "2" in one.detail for one in told)


def test_objects_of_a_cluster_are_said_to_be_observed(world: World) -> None:
    """Otherwise one that makes no sense costs the whole answer."""
    found(world)
    assert all(instance.observed for instance in world.instances)
