"""The Python side of stowage-simulate --judge, against the real binary."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from verified_clusters import a_plan, asked_about, figure_1

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.base.errors import StowageError
from stowage_testbed.simulate import (
    NO_PROTECTION,
    PlanJudgement,
    Question,
    SchedulerVerifier,
    find_profile,
)


@pytest.fixture(scope="module")
def verifier() -> Iterator[SchedulerVerifier]:
    with SchedulerVerifier(find_profile("deterministic")) as running:
        yield running


def best(verifier: SchedulerVerifier) -> Question:
    plan = a_plan(placed={"three": "n1"}, moved={"one": ("n1", "n2")})
    return asked_about(verifier, figure_1(), plan)


def test_each_plan_gets_its_own_verdict_in_order(verifier: SchedulerVerifier) -> None:
    """The caller pairs them with the checker's."""
    good = best(verifier)
    stale = a_plan(placed={"three": "n1"})
    full = a_plan(placed={"three": "n2"})
    full.snapshot_id = good.plans[0].snapshot_id

    said = verifier.verify(replace(good, plans=(stale, *good.plans, full))).of_plans

    assert said[1] == PlanJudgement(accepted=True)
    assert [one.reason for one in said] == ["wrong-snapshot", "", "over-capacity"]


def test_the_snapshot_is_the_contract_s(verifier: SchedulerVerifier) -> None:
    """The optimiser solves it as it comes."""
    asked = Question(figure_1(), arguments=NO_PROTECTION)
    snapshot = verifier.verify(asked).snapshot

    assert isinstance(snapshot, pb.Snapshot)
    assert {pod.name: (pod.node, pod.movable) for pod in snapshot.pods} == {
        "one": ("n1", True),
        "two": ("n2", True),
        "three": ("", False),
    }


def test_a_forbidden_pair_is_kept_and_told(verifier: SchedulerVerifier) -> None:
    """What an earlier rehearsal refused is part of the question."""
    asked = replace(best(verifier), forbidden=(("default/three", "n1"),))

    said = verifier.verify(asked)

    assert [pair.node for pair in said.snapshot.forbidden_pairs] == ["n1"]
    assert said.of_plans[0].reason == "forbidden-pair"


def test_the_disruptable_pods_follow_the_plugin_s_arguments(
    verifier: SchedulerVerifier,
) -> None:
    """By default no pod without a controller is moved; an installation may differ."""
    careful = verifier.verify(Question(figure_1())).snapshot

    assert {pod.immovable_reason for pod in careful.pods if pod.node} == {"singleton"}
    with pytest.raises(StowageError, match="evictEverybody"):
        verifier.verify(Question(figure_1(), arguments={"evictEverybody": True}))


def test_a_quota_below_its_use_keeps_the_pods_of_its_namespace(
    verifier: SchedulerVerifier,
) -> None:
    """A question is answered by the rules of the scheduler, and so are these."""
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "pods", "namespace": "default"},
        "spec": {"hard": {"pods": "2"}},
        "status": {"hard": {"pods": "2"}, "used": {"pods": "3"}},
    }
    cluster = replace(figure_1(), objects=(*figure_1().objects, quota))

    said = verifier.verify(Question(cluster, arguments=NO_PROTECTION)).snapshot

    assert {pod.immovable_reason for pod in said.pods if pod.node} == {"resource-quota"}


def test_a_refused_question_does_not_stop_the_next(verifier: SchedulerVerifier) -> None:
    """Thousands of questions go through one process; one bad one is one error."""
    asked = replace(best(verifier), forbidden=(("default/nobody", "n1"),))

    with pytest.raises(StowageError, match="has no pod"):
        verifier.verify(asked)

    assert verifier.verify(best(verifier)).of_plans[0].accepted


def test_what_waits_goes_on_as_things_are_or_after_the_plan(
    verifier: SchedulerVerifier,
) -> None:
    """What fits now, and what keeps the others, in the scheduler's words."""
    asked = replace(best(verifier), continue_s=60.0)

    now = verifier.verify(replace(asked, plans=())).continued
    after = verifier.judge(asked).continued

    assert now is not None
    assert after is not None
    full = "0/2 nodes are available: 2 Insufficient cpu."
    assert (now.nodes, now.reasons) == ({}, {"default/three": full})
    assert (after.nodes, after.reasons, after.untried) == ({}, {}, 0)
