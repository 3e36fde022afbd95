"""From what watches tell to lines."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from stowage_testbed.api.kinds import Kind
from stowage_testbed.observe.change import Change, Verb
from stowage_testbed.observe.follower import Arrival, Interrupted, Relisted, Resumed
from stowage_testbed.observe.receipt import NS_PER_S, Receipt
from stowage_testbed.observe.source import DEPLOYMENTS, JOBS, NODES, PODS
from stowage_testbed.trace.format import (
    Line,
    NodeGone,
    NodeSeen,
    ObjectGone,
    ObjectSeen,
    Owner,
    PodBound,
    PodCame,
    PodEnded,
    Scaled,
    Template,
    WatchLost,
)
from stowage_testbed.trace.recording import HOLD_S, LONGEST_HOLD_S, Recording

Body = dict[str, Any]


def at(seconds: float) -> Receipt:
    return Receipt(int(seconds * NS_PER_S), int(seconds * NS_PER_S))


def kind(name: str, group: str = "", version: str = "v1") -> Kind:
    api_version = f"{group}/{version}" if group else version
    return Kind(api_version, name, f"{name.lower()}s", True, frozenset(), True)


KINDS = {
    one.key: one
    for one in (
        kind("Pod"),
        kind("Node"),
        kind("Namespace"),
        kind("Deployment", "apps"),
        kind("ReplicaSet", "apps"),
        kind("Job", "batch"),
        kind("PriorityClass", "scheduling.k8s.io"),
        kind("PersistentVolumeClaim"),
    )
}


class Recorder:
    """A recording with what it has written."""

    def __init__(self, *listed: Change, namespaces: Iterable[str] = ()) -> None:
        self.lines: list[Line] = []
        self._recording = Recording(at(0), KINDS, self.lines.append, tuple(namespaces))
        self._recording.begin(listed)

    def take(self, *arrivals: Arrival) -> Recorder:
        for one in arrivals:
            self._recording.take(one)
        return self

    def release(self, seconds: float) -> list[Line]:
        self._recording.release(at(seconds))
        return self.lines

    def finish(self) -> list[Line]:
        self._recording.finish()
        return [line for line in self.lines if not isinstance(line, Template)]


def change(verb: str, seconds: float, body: Body, of: str = "Pod") -> Change:
    return Change(of, Verb(verb), at(seconds), body)


def pod(
    name: str = "p",
    *,
    node: str = "",
    phase: str = "Pending",
    uid: str = "1",
    created: float | None = None,
    owner: str = "",
    labels: dict[str, str] | None = None,
    target: str = "",
    **status: Any,
) -> Body:
    metadata: Body = {
        "uid": uid,
        "name": name,
        "namespace": "ns",
        "labels": labels or {"app": "a"},
    }
    if created is not None:
        seconds = int(created)
        metadata["creationTimestamp"] = (
            f"1970-01-01T00:{seconds // 60:02}:{seconds % 60:02}Z"
        )
    if owner:
        owner_kind, _, owner_name = owner.partition("/")
        reference = {"kind": owner_kind, "name": owner_name, "controller": True}
        metadata["ownerReferences"] = [reference]
    conditions = []
    if target:
        one = {"type": "DisruptionTarget", "status": "True", "reason": target}
        conditions.append(one)
    spec = {"containers": [{"name": "m"}], **({"nodeName": node} if node else {})}
    whole = {"phase": phase, "conditions": conditions, **status}
    return {"metadata": metadata, "spec": spec, "status": whole}


def controller(of: str = "Deployment", name: str = "web", **spec: Any) -> Body:
    template = {"metadata": {}, "spec": {"containers": [{"name": "m"}]}}
    return {
        "metadata": {"uid": name, "name": name, "namespace": "ns"},
        "spec": {"template": template, **spec},
    }


def node(name: str = "n", **spec: Any) -> Body:
    return {
        "metadata": {"uid": name, "name": name},
        "spec": spec,
        "status": {"capacity": {"cpu": "4"}},
    }


def test_a_pod_comes_is_bound_runs_and_ends() -> None:
    """Each once, whatever else changes in it."""
    lines = (
        Recorder()
        .take(
            change("ADDED", 1, pod()),
            change("MODIFIED", 1.5, pod(node="n")),
            change("MODIFIED", 2, pod(node="n", phase="Running")),
            change("MODIFIED", 3, pod(node="n", phase="Running", hostIP="1")),
            change("MODIFIED", 7, pod(node="n", phase="Succeeded")),
            change("DELETED", 9, pod(node="n", phase="Succeeded")),
        )
        .finish()
    )

    assert [(type(line), line.t) for line in lines] == [
        (PodCame, 1),
        (PodBound, 1.5),
        (PodEnded, 7),
    ]
    assert lines[1:] == [
        PodBound(t=1.5, namespace="ns", name="p", node="n"),
        PodEnded(t=7, namespace="ns", name="p", how="succeeded", ran_s=5),
    ]


@pytest.mark.parametrize(
    ("last", "how"),
    [
        (pod(phase="Running"), "deleted"),
        (pod(phase="Running", target="PreemptionByScheduler"), "preempted"),
        (pod(phase="Running", target="EvictionByEvictionAPI"), "evicted"),
        (pod(phase="Running", target="DeletionByTaintManager"), "evicted"),
        (pod(phase="Failed"), "failed"),
        (pod(phase="Failed", reason="Evicted"), "evicted"),
        (pod(phase="Failed", target="PreemptionByScheduler"), "preempted"),
        (pod(phase="Succeeded"), "succeeded"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_it_is_told_how_a_pod_ended(last: Body, how: str) -> None:
    """By what is known of it when it goes, for replays do some of it again."""
    running = change("ADDED", 1, pod(phase="Running"))
    lines = Recorder().take(running, change("DELETED", 5, last)).finish()

    assert [line for line in lines if isinstance(line, PodEnded)] == [
        PodEnded(t=5, namespace="ns", name="p", how=how, ran_s=4)  # type: ignore[arg-type] # of the table
    ]


def test_who_never_ran_has_no_time() -> None:
    """A pod that waited in vain."""
    lines = (
        Recorder().take(change("ADDED", 1, pod()), change("DELETED", 5, pod())).finish()
    )

    assert lines[-1] == PodEnded(t=5, namespace="ns", name="p", how="deleted")


def test_a_name_that_comes_again_is_another_pod() -> None:
    """As those of a StatefulSet, of which the end may not have been seen."""
    lines = (
        Recorder()
        .take(change("ADDED", 1, pod(uid="1")), change("ADDED", 5, pod(uid="2")))
        .finish()
    )

    assert [(type(line), line.t) for line in lines] == [
        (PodCame, 1),
        (PodEnded, 5),
        (PodCame, 5),
    ]


def test_a_pod_of_a_deployment_is_the_deployments() -> None:
    """Its ReplicaSet is made by it, and is not recorded."""
    hashed = pod(owner="ReplicaSet/web-5cc", labels={"pod-template-hash": "5cc"})
    alone = pod("q", owner="ReplicaSet/web-5cc")
    of_custom = pod("r", owner="SparkApplication/x")
    lines = (
        Recorder()
        .take(*(change("ADDED", 1, one) for one in (hashed, alone, of_custom)))
        .finish()
    )
    came = [line for line in lines if isinstance(line, PodCame)]

    assert [line.owner for line in came] == [
        Owner("Deployment", "web"),
        Owner("ReplicaSet", "web-5cc"),
        None,
    ]


def test_what_is_there_at_the_beginning_has_time_zero() -> None:
    """But for pods and Jobs that are done, of which nothing depends any more."""
    done = {"conditions": [{"type": "Complete", "status": "True"}]}
    over = {**controller(name="over"), "status": done}
    listed = [
        change("LISTED", 0, node(), "Node"),
        change("LISTED", 0, over, "Job"),
        change("LISTED", 0, controller(), "Deployment"),
        change("LISTED", 0, pod(node="n", phase="Running")),
        change("LISTED", 0, pod("done", node="n", phase="Succeeded", uid="2")),
    ]
    recorder = Recorder(*listed)
    recorder.take(change("DELETED", 4, pod("done", uid="2")))
    recorder.take(
        change("DELETED", 5, {**controller(name="over"), "status": done}, "Job")
    )
    lines = recorder.finish()

    assert [(type(line), line.t) for line in lines] == [
        (NodeSeen, 0),
        (ObjectSeen, 0),
        (PodCame, 0),
        (PodBound, 0),
    ]


def test_a_pod_that_ran_before_tells_how_long_in_all() -> None:
    """A replay of its template is to run as long."""
    running = pod(node="n", phase="Running", startTime="1969-12-31T23:59:50Z")
    listed = change("LISTED", 0, running)
    lines = Recorder(listed).take(change("DELETED", 5, pod(node="n"))).finish()

    assert lines[-1] == PodEnded(t=5, namespace="ns", name="p", how="deleted", ran_s=15)


def test_only_changes_that_matter_are_lines() -> None:
    """Nodes report every few seconds, and controllers count their pods."""
    counted = {**controller(replicas=1), "status": {"readyReplicas": 1}}
    beating = {**node(), "status": {"capacity": {"cpu": "4"}, "conditions": [1]}}
    lines = (
        Recorder()
        .take(
            change("ADDED", 1, node(), "Node"),
            change("MODIFIED", 2, beating, "Node"),
            change("MODIFIED", 3, node(unschedulable=True), "Node"),
            change("DELETED", 4, node(), "Node"),
            change("ADDED", 5, controller(replicas=1), "Deployment"),
            change("MODIFIED", 6, counted, "Deployment"),
            change("MODIFIED", 7, controller(replicas=3), "Deployment"),
            change("MODIFIED", 8, controller(replicas=3, paused=True), "Deployment"),
            change("DELETED", 9, controller(), "Deployment"),
        )
        .finish()
    )

    assert [(type(line), line.t) for line in lines] == [
        (NodeSeen, 1),
        (NodeSeen, 3),
        (NodeGone, 4),
        (ObjectSeen, 5),
        (Scaled, 7),
        (ObjectSeen, 8),
        (ObjectGone, 9),
    ]
    assert lines[4] == Scaled(
        t=7, kind="Deployment", namespace="ns", name="web", replicas=3
    )


@pytest.mark.parametrize(
    ("of", "owner", "recorded"),
    [
        ("ReplicaSet", "Deployment", False),
        ("Job", "CronJob", True),
        ("Deployment", "Rollout", True),
        ("PersistentVolumeClaim", "Pod", False),
        ("PersistentVolumeClaim", "StatefulSet", True),
    ],
)
def test_what_a_recorded_controller_makes_is_left_to_it(
    of: str, owner: str, recorded: bool
) -> None:
    """It would come twice; but nobody replays CronJobs and custom kinds."""
    body = controller(of)
    reference = {"kind": owner, "name": "o", "controller": True}
    body["metadata"]["ownerReferences"] = [reference]
    lines = Recorder().take(change("ADDED", 1, body, of)).finish()

    assert bool(lines) is recorded


def test_the_priority_classes_of_every_cluster_are_left_out() -> None:
    """They are there in the replay as well."""
    classes = [
        {"metadata": {"uid": name, "name": name}, "value": 1}
        for name in ("system-node-critical", "high")
    ]
    lines = (
        Recorder()
        .take(*(change("ADDED", 1, one, "PriorityClass") for one in classes))
        .finish()
    )

    seen = [line.object for line in lines if isinstance(line, ObjectSeen)]
    assert [one["metadata"]["name"] for one in seen] == ["high"]


def test_equal_pods_have_one_template_and_it_comes_first() -> None:
    """Also where a later line turns out to belong before."""
    recorder = Recorder()
    recorder.take(change("ADDED", 5, pod("late")), change("ADDED", 4, pod("early")))
    recorder.finish()

    assert [type(line) for line in recorder.lines] == [Template, PodCame, PodCame]
    assert [line.t for line in recorder.lines] == [4, 4, 5]


def test_lines_wait_for_those_that_belong_before() -> None:
    """Watches of different kinds take turns."""
    recorder = Recorder()
    recorder.take(change("ADDED", 1, node("a"), "Node"))

    assert recorder.release(1 + HOLD_S - 0.1) == []
    assert [line.t for line in recorder.release(1 + HOLD_S)] == [1]


def test_lines_wait_longer_while_a_watch_is_interrupted() -> None:
    """Its news are older than what the others tell meanwhile."""
    recorder = Recorder()
    recorder.take(Interrupted(PODS, at(1), "gone"))
    recorder.take(change("ADDED", 2, node("a"), "Node"))

    assert recorder.release(2 + HOLD_S) == []
    assert [line.t for line in recorder.release(2 + LONGEST_HOLD_S)] == [2]


def test_pods_that_came_while_a_watch_was_behind_have_their_own_time() -> None:
    """All of them would come at once else, where one came after the other."""
    prompt = [
        change("ADDED", 1 + n / 10, pod(f"p{n}", uid=f"p{n}", created=1 + n / 10))
        for n in range(20)
    ]
    late = [
        change("ADDED", 30, pod(f"q{n}", uid=f"q{n}", created=10 + n)) for n in range(5)
    ]
    lines = Recorder().take(*prompt, *late).finish()
    came = {line.name: line.t for line in lines if isinstance(line, PodCame)}

    for number in range(5):
        assert came[f"q{number}"] == pytest.approx(10 + number + 0.5, abs=0.1)
    assert came["p19"] == 2.9


def test_after_a_new_list_what_it_lacks_has_ended() -> None:
    """Nobody saw how; and what is there still is nothing new."""
    stays, goes = pod("stays", uid="1"), pod("goes", uid="2")
    web = controller()
    recorder = Recorder(
        change("LISTED", 0, stays),
        change("LISTED", 0, goes),
        change("LISTED", 0, node("a"), "Node"),
        change("LISTED", 0, web, "Deployment"),
    )
    pods = (change("LISTED", 6, stays), change("LISTED", 6, pod("new", uid="3")))
    recorder.take(
        Interrupted(PODS, at(3), "expired"),
        Relisted(PODS, pods, at(6)),
        Relisted(NODES, (change("LISTED", 6, node("b"), "Node"),), at(6)),
        Relisted(DEPLOYMENTS, (), at(6)),
        Relisted(JOBS, (), at(6)),
        Resumed(PODS, at(6)),
    )
    lines = [line for line in recorder.finish() if line.t]

    assert [(type(line), getattr(line, "name", "")) for line in lines] == [
        (PodEnded, "goes"),
        (PodCame, "new"),
        (NodeGone, "a"),
        (NodeSeen, "b"),
        (ObjectGone, "web"),
        (WatchLost, ""),
    ]
    assert lines[-1] == WatchLost(t=6, from_=3, why="expired")


def test_an_interruption_of_all_watches_is_one() -> None:
    """From the first that was lost until the last is back."""
    recorder = Recorder()
    recorder.take(
        Interrupted(PODS, at(3), "cut"),
        Interrupted(NODES, at(2), "cut first"),
        Resumed(NODES, at(5)),
        Resumed(PODS, at(8)),
    )

    assert recorder.finish() == [WatchLost(t=8, from_=2, why="cut first")]


def test_an_interruption_of_a_moment_is_none() -> None:
    """A watch that ends in the middle of a line goes on where it was."""
    recorder = Recorder()
    recorder.take(Interrupted(PODS, at(3), "cut"), Resumed(PODS, at(3.2)))

    assert recorder.finish() == []


def test_only_the_namespaces_that_are_asked_for() -> None:
    """Beside what is in none."""
    other = pod("other", uid="2")
    other["metadata"]["namespace"] = "else"
    recorder = Recorder(namespaces=["ns"])
    recorder.take(
        change("ADDED", 1, pod()),
        change("ADDED", 1, other),
        change("ADDED", 1, node(), "Node"),
    )

    assert [line.name for line in recorder.finish()] == ["p", "n"]  # type: ignore[union-attr] # pods and nodes


def test_the_release_of_a_testbed_is_left_out() -> None:
    """A replay brings a scheduler of its own, and the node that it runs on."""
    spec = {
        "containers": [{"name": "m"}],
        "tolerations": [{"key": "stowage.dev/host", "operator": "Exists"}],
    }
    release = controller()
    release["spec"]["template"]["spec"] = spec
    host = node("stowage-host")
    host["metadata"]["labels"] = {"stowage.dev/host": "true"}
    recorder = Recorder()
    recorder.take(
        change("ADDED", 1, host, "Node"),
        change("ADDED", 1, release, "Deployment"),
        change("ADDED", 1, {**pod(), "spec": spec}),
    )

    assert recorder.finish() == []
