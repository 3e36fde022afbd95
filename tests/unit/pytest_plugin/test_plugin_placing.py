"""When `placements` may answer, on states as watches show them."""

from __future__ import annotations

from typing import Any

import pytest
from seen_states import Seen, fresh, leaving, placed, plan, refused, state_of
from watch_server import a_pod

from stowage_testbed.observe.condition import ConditionResult
from stowage_testbed.pytest.placing import all_decided

NAMESPACE = str(a_pod("any")["metadata"]["namespace"])


def look(*objects: Seen, optimizes: bool = False, **least: int) -> ConditionResult:
    return all_decided(NAMESPACE, optimizes=optimizes, **least)(state_of(*objects))


def owned(pod: Seen, kind: str, owner: str) -> Seen:
    reference = {"kind": kind, "name": owner, "uid": f"uid-{owner}", "controller": True}
    pod[1]["metadata"]["ownerReferences"] = [reference]
    return pod


def a_controller(kind: str, name: str, spec: dict[str, Any], **status: int) -> Seen:
    """Return a controller whose present form has been seen by Kubernetes."""
    named = {"uid": f"uid-{name}", "name": name, "namespace": NAMESPACE}
    metadata = {**named, "generation": 2}
    seen = {"observedGeneration": 2, **status}
    return kind, {"metadata": metadata, "spec": spec, "status": seen}


@pytest.mark.parametrize("pod", [fresh("b"), leaving("b")])
def test_a_pod_on_its_way_is_waited_for_and_named(pod: Seen) -> None:
    """A node and none are both answers; the time-out must say who had neither."""
    answer = look(placed("a"), pod)
    assert not answer.holds
    assert f"{NAMESPACE}/b" in answer.state
    assert look(placed("a"), refused("b")).holds


def test_a_controller_that_lacks_pods_is_waited_for() -> None:
    """Right after `apply` a Deployment has no pod, and none is undecided."""
    wanting = a_controller("ReplicaSet", "web", {"replicas": 2})
    pod = owned(placed("a"), "ReplicaSet", "web")

    answer = look(wanting, pod)
    first = look(a_controller("Deployment", "web", {"replicas": 2}))

    assert not answer.holds
    assert "ReplicaSet web has 1 of 2 pods" in answer.state
    assert look(wanting, pod, owned(refused("b"), "ReplicaSet", "web")).holds
    assert not first.holds
    assert "Deployment web has 0 of 2 pods" in first.state


NONE = {"replicas": 0}
STATEFUL_SET = a_controller("StatefulSet", "db", {"replicas": 3})
JOB = a_controller("Job", "once", {"parallelism": 5, "completions": 1})
DAEMON_SET = a_controller("DaemonSet", "log", {}, desiredNumberScheduled=1)


@pytest.mark.parametrize(
    ("objects", "holds"),
    [
        # Its ReplicaSets are those of before.
        ([a_controller("Deployment", "web", NONE, observedGeneration=1)], False),
        ([a_controller("Deployment", "web", NONE)], True),
        # Its second pod does not come before the first is ready.
        ([STATEFUL_SET, owned(refused("db-0"), "StatefulSet", "db")], True),
        ([STATEFUL_SET, owned(placed("db-0"), "StatefulSet", "db")], False),
        # Its completions come later; a suspended one has none.
        ([JOB], False),
        ([JOB, owned(placed("a"), "Job", "once")], True),
        ([a_controller("Job", "later", {"suspend": True})], True),
        # Only its controller knows which nodes it is for.
        ([DAEMON_SET], False),
        ([DAEMON_SET, owned(placed("a"), "DaemonSet", "log")], True),
    ],
)
def test_a_controller_ends_in_its_own_way(objects: list[Seen], holds: bool) -> None:
    """Each kind has its own way to say so."""
    assert look(*objects).holds is holds
    # Unknown controllers are slow, and room may have come a moment ago.
    assert not look(placed("a"), pods=2).holds
    assert not look(refused("a"), placed=1).holds
    assert look(placed("a"), refused("b"), pods=2, placed=1).holds


def test_an_optimiser_has_the_last_word_on_pods_without_a_node() -> None:
    """Refused is where its work begins; of a failed plan nothing comes."""
    pods = (placed("a"), refused("b"))
    assert not look(*pods, optimizes=True).holds
    assert not look(*pods, plan("p", "Executing"), optimizes=True).holds
    assert look(*pods, plan("p", "NoImprovement"), optimizes=True).holds
    assert look(placed("a"), optimizes=True).holds
    assert "so it is" in look(refused("a"), plan("p", "Failed"), optimizes=True).error
