"""A gang of which a pod cannot be planned is left alone whole, and so are gangs where nobody keeps them."""

import hashlib

import pytest
from brute_force import outcome, plan_to, value_of
from gang_recordings import RECORDINGS, GangRecording
from snapshot_builder import SnapshotBuilder, figure_1
from solving_in_process import decoded, finished_answer_to

from stowage_optimizer.constraints.reduction import reduce_snapshot
from stowage_optimizer.constraints.refusals import Gangs
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.verify import verify_plan


def two_classes() -> SnapshotBuilder:
    """Return a gang of two classes, of which a pod runs, and a pod that is of none."""
    builder = SnapshotBuilder().node("a", cpu_milli=9)
    builder.pod_class("driver", cpu_milli=1)
    builder.pod_class("worker", cpu_milli=1)
    builder.pod("d", of="driver", node="a").pod("w", of="worker").pod("x", cpu_milli=1)
    return builder.gang("job", "driver", "worker", least=2)


def refusals(builder: SnapshotBuilder, *, gangs: Gangs = Gangs.WHOLE) -> dict[str, str]:
    """Return the reason for each subject that is refused."""
    packing = reduce_snapshot(decoded(builder.message), gangs=gangs)
    assert {*packing.class_ids} == {"driver", "worker", "class-x"} - {
        one.subject.removeprefix("class ") for one in packing.refusals
    }
    return {one.subject: one.reason for one in packing.refusals}


def test_nothing_of_a_sound_gang_is_refused() -> None:
    assert refusals(two_classes()) == {}


def test_a_class_that_cannot_be_planned_leaves_its_whole_gang_alone() -> None:
    """The other class alone would be half a gang."""
    builder = two_classes()
    builder.message.pod_classes[0].unsupported.append("volumes")

    assert refusals(builder) == {"class driver": "unsupported", "class worker": "gang-with-others"}


def test_a_class_without_pods_refuses_no_gang() -> None:
    builder = two_classes()
    builder.pod_class("gone").unsupported.append("volumes")
    builder.message.pod_classes[-1].gang = "default/job"

    assert refusals(builder) == {}


def test_a_gang_of_several_priorities_is_left_alone() -> None:
    """The scheduler schedules no such group."""
    builder = two_classes()
    builder.message.pod_classes[0].priority = 7

    assert refusals(builder) == {"class driver": "gang-priorities", "class worker": "gang-priorities"}


def test_gangs_are_refused_by_name_where_nobody_keeps_them() -> None:
    assert refusals(two_classes(), gangs=Gangs.LEFT_ALONE) == {"class driver": "gang", "class worker": "gang"}


@pytest.mark.parametrize(
    "asked",
    [pb.SolveOptions(strategy="boreas"), pb.SolveOptions(objective=pb.OBJECTIVE_CONSOLIDATE)],
    ids=["boreas", "consolidate"],
)
def test_plans_that_may_leave_half_a_gang_leave_gangs_alone(asked: pb.SolveOptions) -> None:
    """A strategy that fills batches, and the emptying of nodes."""
    builder = two_classes().node("b", cpu_milli=9).pod("y", cpu_milli=1, node="b")
    builder.message.gangs[0].leaves_whole = True
    asked.time_limit_s = 2
    asked.deterministic = True

    answer = finished_answer_to(builder.message, asked)

    assert {"driver", "worker"} == {
        one.subject.removeprefix("class ") for one in answer.refusals if one.reason == "gang"
    }
    where = outcome(builder.message, answer.plan)
    assert (where["d"], where["w"]) == ("a", "")
    assert verify_plan(builder.message, answer.plan, pb.POLICY_STRICT, asked) == []


@pytest.mark.parametrize("together", ["whole", "domain", "short", ""])
def test_nodes_are_emptied_of_gangs_whose_pods_may_move_one_by_one(together: str) -> None:
    """Not of one that leaves whole, shares a domain, or is short of pods: no plan of this kind completes it."""
    builder = SnapshotBuilder().node("a", cpu_milli=9).node("b", cpu_milli=9)
    builder.pod_class("worker", cpu_milli=1)
    builder.pod("w", of="worker", node="a").pod("v", of="worker", node="b").pod("x", cpu_milli=1, node="b")
    builder.gang("job", "worker", least=3 if together == "short" else 2, whole=together == "whole")
    if together == "domain":
        builder.message.gangs[0].topology_key = "rack"
    asked = pb.SolveOptions(objective=pb.OBJECTIVE_CONSOLIDATE, time_limit_s=2, deterministic=True)

    answer = finished_answer_to(builder.message, asked)

    where = outcome(builder.message, answer.plan)
    assert [one.reason for one in answer.refusals] == (["gang"] if together else [])
    assert len(set(where.values())) == (2 if together else 1)
    assert verify_plan(builder.message, answer.plan, pb.POLICY_STRICT, asked) == []


def test_a_snapshot_without_gangs_is_the_same_message_as_before_there_were_any() -> None:
    """Old schedulers and optimisers understand each other's messages, and these grow by nothing."""
    written = figure_1().SerializeToString(deterministic=True)

    assert hashlib.sha256(written).hexdigest() == FIGURE_1


FIGURE_1 = "c05523b01e6d43ead565b0d93345b8ed2dc263e399951f06adfbdae8528bbb7c"
"""Of the message as it was written before the contract had gangs."""


@pytest.mark.parametrize("one", RECORDINGS, ids=lambda one: one.name)
def test_recordings_say_of_their_plans_what_they_are_worth(one: GangRecording) -> None:
    """Counted pod by pod; and the broken ones break nothing but gangs, so that only who knows of these rejects them."""
    plan = plan_to(one.snapshot, one.plan)
    value = value_of(one.snapshot, outcome(one.snapshot, plan), pb.POLICY_STRICT)

    priorities = sorted({each.priority for each in one.snapshot.pod_classes}, reverse=True)
    found = [(tier, placed, -stability) for tier, (_, placed, stability) in zip(priorities, value, strict=True)]
    assert found == list(one.tiers)
    for broken in (one.plan, *one.broken):
        assert {each.rule for each in verify_plan(one.snapshot, plan_to(one.snapshot, broken), pb.POLICY_PAPER)} <= {
            "tiers",
            "bounds",
            "not-better",
            "gang",
            "policy",
        }
    assert len(RECORDINGS) == 10
