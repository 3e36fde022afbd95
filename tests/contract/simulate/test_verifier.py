"""The Python side of stowage-simulate --judge, against the real binary."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.verify.index import Index
from stowage_testbed.base.errors import StowageError
from stowage_testbed.simulate.instance import NO_PROTECTION, Instance, PlanJudgement, Question
from stowage_testbed.simulate.process import SchedulerVerifier, find_profile
from tests.differential.clusters import own
from tests.differential.plans import recount_tiers


@pytest.fixture(scope="module")
def verifier() -> Iterator[SchedulerVerifier]:
    with SchedulerVerifier(find_profile("deterministic")) as running:
        yield running


def a_pod(name: str, cpu: int, node: str = "") -> dict[str, Any]:
    resources = {"requests": {"cpu": f"{cpu}"}}
    pod: dict[str, Any] = {
        "metadata": {"namespace": "default", "name": name},
        "spec": {"containers": [{"name": "c", "image": "i", "resources": resources}]},
        "status": {"phase": "Running" if node else "Pending"},
    }
    own(pod, name)
    if node:
        pod["spec"]["nodeName"] = node
    return pod


CAPACITY = {"capacity": {"cpu": "4", "memory": "1Gi", "pods": "10"}}
FIGURE_1 = Instance(
    "figure-1",
    tuple({"metadata": {"name": name}, "status": CAPACITY} for name in ("n1", "n2")),
    (a_pod("one", 2, "n1"), a_pod("two", 2, "n2"), a_pod("three", 3)),
)


def placing(node: str) -> pb.Plan:
    """Return a plan that sends the third pod to a node and does nothing else."""
    return pb.Plan(placements=[pb.Placement(pod_uid="default/three", node=node)])


def best(verifier: SchedulerVerifier) -> Question:
    asked = Question(FIGURE_1, arguments=NO_PROTECTION)
    snapshot = verifier.verify(asked).snapshot
    plan = placing("n1")
    plan.snapshot_id = snapshot.id
    plan.moves.add(pod_uid="default/one", from_node="n1", to_node="n2")
    recount_tiers(plan, snapshot, Index(snapshot))
    return replace(asked, plans=(plan,), policy=pb.POLICY_STRICT)


def test_each_plan_gets_its_own_verdict_in_order(verifier: SchedulerVerifier) -> None:
    """The caller pairs them with the checker's; one bad question is one error."""
    good = best(verifier)
    nobody = replace(good, forbidden=(("default/nobody", "n1"),))
    with pytest.raises(StowageError, match="has no pod"):
        verifier.verify(nobody)
    stale, full = placing("n1"), placing("n2")
    full.snapshot_id = good.plans[0].snapshot_id

    said = verifier.verify(replace(good, plans=(stale, *good.plans, full))).of_plans

    assert said[1] == PlanJudgement(accepted=True)
    assert [one.reason for one in said] == ["wrong-snapshot", "", "over-capacity"]


def test_a_forbidden_pair_is_kept_and_told(verifier: SchedulerVerifier) -> None:
    """What an earlier rehearsal refused is part of the question."""
    asked = replace(best(verifier), forbidden=(("default/three", "n1"),))
    said = verifier.verify(asked)
    assert [pair.node for pair in said.snapshot.forbidden_pairs] == ["n1"]
    assert said.of_plans[0].reason == "forbidden-pair"


def test_arguments_and_quotas_decide_who_is_movable(verifier: SchedulerVerifier) -> None:
    """By default no pod without a controller is moved; an installation may differ."""

    def rules(asked: Question) -> dict[str, tuple[str, bool, str]]:
        pods = verifier.verify(asked).snapshot.pods
        return {pod.name: (pod.node, pod.movable, pod.immovable_reason) for pod in pods}

    hard = {"hard": {"pods": "2"}}
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "pods", "namespace": "default"},
        "spec": hard,
        "status": {**hard, "used": {"pods": "3"}},
    }
    limited = replace(FIGURE_1, objects=(*FIGURE_1.objects, quota))

    free = rules(Question(FIGURE_1, arguments=NO_PROTECTION))
    assert (free["one"], free["two"]) == (("n1", True, ""), ("n2", True, ""))
    assert free["three"][:2] == ("", False)
    careful = rules(Question(FIGURE_1))
    assert {careful[name][2] for name in ("one", "two")} == {"singleton"}
    full = rules(Question(limited, arguments=NO_PROTECTION))
    assert {full[name][2] for name in ("one", "two")} == {"resource-quota"}
    with pytest.raises(StowageError, match="evictEverybody"):
        verifier.verify(Question(FIGURE_1, arguments={"evictEverybody": True}))


def test_what_waits_goes_on_now_or_after_the_plan(verifier: SchedulerVerifier) -> None:
    """What fits now, and what keeps the others, in the scheduler's words."""
    asked = replace(best(verifier), continue_s=60.0)

    now = verifier.verify(replace(asked, plans=())).continued
    after = verifier.judge(asked).continued

    assert now is not None
    assert after is not None
    full = "0/2 nodes are available: 2 Insufficient cpu."
    assert (now.nodes, now.reasons) == ({}, {"default/three": full})
    assert (after.nodes, after.reasons, after.untried) == ({}, {}, 0)
