"""From what watches tell to lines."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import pytest
from trace_lines import bound, ended

from stowage_testbed.api.kinds import Kind
from stowage_testbed.observe.change import Change, Verb
from stowage_testbed.observe.follower import Arrival, Interrupted, Relisted, Resumed
from stowage_testbed.observe.receipt import NS_PER_S, Receipt
from stowage_testbed.observe.source import DEPLOYMENTS, JOBS, NODES, PODS
from stowage_testbed.trace import format as trace
from stowage_testbed.trace.recording import HOLD_S, LONGEST_HOLD_S, Recording

Body = dict[str, Any]
GROUPS = {"Deployment": "apps/v1", "ReplicaSet": "apps/v1", "Job": "batch/v1",
          "PriorityClass": "scheduling.k8s.io/v1", "Pod": "v1", "Node": "v1",
          "Namespace": "v1", "PersistentVolumeClaim": "v1"}  # fmt: skip
KINDS = {
    one.key: one
    for one in (
        Kind(version, name, f"{name.lower()}s", True, frozenset(), True)
        for name, version in GROUPS.items()
    )
}
DONE = {"conditions": [{"type": "Complete", "status": "True"}]}


def at(seconds: float) -> Receipt:
    return Receipt(int(seconds * NS_PER_S), int(seconds * NS_PER_S))


def begin(
    lines: list[trace.Line], there: Iterable[Change] = (), namespaces: tuple[str, ...] = ()
) -> Recording:
    recording = Recording(at(0), KINDS, lines.append, namespaces)
    recording.begin(tuple(there))
    return recording


def record(
    *arrivals: Arrival,
    there: Iterable[Change] = (),
    namespaces: tuple[str, ...] = (),
) -> list[trace.Line]:
    """Return what is recorded, but for templates."""
    lines: list[trace.Line] = []
    recording = begin(lines, there, namespaces)
    for one in arrivals:
        recording.take(one)
    recording.finish()
    return [line for line in lines if not isinstance(line, trace.Template)]


def when(lines: Iterable[trace.Line]) -> str:
    return ", ".join(f"{type(line).__name__} {line.t:g}" for line in lines)


def change(verb: Verb, seconds: float, body: Body, of: str = "Pod") -> Change:
    return Change(of, verb, at(seconds), body)


listed = partial(change, Verb.LISTED)
added = partial(change, Verb.ADDED)
modified = partial(change, Verb.MODIFIED)
deleted = partial(change, Verb.DELETED)


def owned_by(kind: str, name: str = "o") -> Body:
    return {"ownerReferences": [{"kind": kind, "name": name, "controller": True}]}


def pod(name: str = "p", *, uid: str = "1", **metadata: Any) -> Body:
    named = {"name": name, "uid": uid, "namespace": "ns", "labels": {"app": "a"}}
    spec = {"containers": [{"name": "m"}]}
    status = {"phase": "Pending"}
    return {"metadata": {**named, **metadata}, "spec": spec, "status": status}


def running(phase: str = "Running", target: str = "", **status: Any) -> Body:
    """Return the pod in a later state, bound to a node."""
    one = {"type": "DisruptionTarget", "status": "True", "reason": target}
    state = {"phase": phase, "conditions": [one] if target else [], **status}
    spec = {"containers": [{"name": "m"}], "nodeName": "n1"}
    return {**pod(), "spec": spec, "status": state}


def controller(name: str = "web", **spec: Any) -> Body:
    template = {"metadata": {}, "spec": {"containers": [{"name": "m"}]}}
    return {
        "metadata": {"uid": name, "name": name, "namespace": "ns"},
        "spec": {"template": template, **spec},
    }


def node(name: str = "n", **spec: Any) -> Body:
    status = {"capacity": {"cpu": "4"}}
    return {"metadata": {"uid": name, "name": name}, "spec": spec, "status": status}


PREEMPTED_IN_THE_END = running(phase="Failed", target="PreemptionByScheduler")


def test_a_pod_comes_is_bound_runs_and_ends() -> None:
    """Each once, whatever else changes in it."""
    came, *lines = record(
        added(1, pod()),
        modified(1.5, running(phase="Pending")),
        modified(2, running()),
        modified(3, running(hostIP="1")),
        modified(7, running(phase="Succeeded")),
        deleted(9, running(phase="Succeeded")),
    )
    assert when([came]) == "PodCame 1"
    assert lines == [bound(1.5), ended(7, "succeeded", 5)]


@pytest.mark.parametrize(
    ("first", "last", "how", "ran_s"),
    [
        (running(), running(), "deleted", 4),
        (running(), running(target="PreemptionByScheduler"), "preempted", 4),
        (running(), running(target="EvictionByEvictionAPI"), "evicted", 4),
        (running(), running(target="DeletionByTaintManager"), "evicted", 4),
        (running(), running(phase="Failed"), "failed", 4),
        (running(), running(phase="Failed", reason="Evicted"), "evicted", 4),
        (running(), PREEMPTED_IN_THE_END, "preempted", 4),
        (running(), running(phase="Succeeded"), "succeeded", 4),
        # It waited in vain.
        (pod(), pod(), "deleted", None),
    ],
)
def test_it_is_told_how_a_pod_ended(
    first: Body, last: Body, how: trace.How, ran_s: float | None
) -> None:
    """By what is known of it when it goes, for replays do some of it again."""
    assert record(added(1, first), deleted(5, last))[-1] == ended(5, how, ran_s)


def test_a_name_that_comes_again_is_another_pod() -> None:
    """As those of a StatefulSet, of which the end may not have been seen."""
    lines = record(added(1, pod()), added(5, pod(uid="2")))
    assert when(lines) == "PodCame 1, PodEnded 5, PodCame 5"


def test_a_pod_of_a_deployment_is_the_deployments() -> None:
    """Its ReplicaSet is made by it, and is not recorded."""
    of_set = owned_by("ReplicaSet", "web-5cc")
    lines = record(
        added(1, pod(**of_set, labels={"pod-template-hash": "5cc"})),
        added(1, pod("q", **of_set)),
        added(1, pod("r", **owned_by("SparkApplication"))),
    )
    assert [line.owner for line in lines if isinstance(line, trace.PodCame)] == [
        trace.Owner("Deployment", "web"),
        trace.Owner("ReplicaSet", "web-5cc"),
        None,
    ]


def test_what_is_there_at_the_beginning_has_time_zero() -> None:
    """But for pods and Jobs that are done, of which nothing depends any more."""
    over, done = {**controller("over"), "status": DONE}, pod("done", uid="2")
    there = [
        listed(0, node(), "Node"),
        listed(0, over, "Job"),
        listed(0, controller(), "Deployment"),
        listed(0, running()),
        listed(0, {**done, "status": {"phase": "Succeeded"}}),
    ]
    lines = record(deleted(4, done), deleted(5, over, "Job"), there=there)
    assert when(lines) == "NodeSeen 0, ObjectSeen 0, PodCame 0, PodBound 0"


def test_a_pod_that_ran_before_tells_how_long_in_all() -> None:
    """A replay of its template is to run as long."""
    long_since = running(startTime="1969-12-31T23:59:50Z")
    *_, end = record(deleted(5, running()), there=[listed(0, long_since)])
    assert end == ended(5, "deleted", 15)


def test_only_changes_that_matter_are_lines() -> None:
    """Nodes report every few seconds, and controllers count their pods."""
    beating = {**node(), "status": {"capacity": {"cpu": "4"}, "conditions": [1]}}
    counted = {**controller(replicas=1), "status": {"readyReplicas": 1}}
    lines = record(
        added(1, node(), "Node"),
        modified(2, beating, "Node"),
        modified(3, node(unschedulable=True), "Node"),
        deleted(4, node(), "Node"),
        added(5, controller(replicas=1), "Deployment"),
        modified(6, counted, "Deployment"),
        modified(7, controller(replicas=3), "Deployment"),
        modified(8, controller(replicas=3, paused=True), "Deployment"),
        deleted(9, controller(), "Deployment"),
    )
    assert when(lines[:3]) == "NodeSeen 1, NodeSeen 3, NodeGone 4"
    assert when(lines[3:]) == "ObjectSeen 5, Scaled 7, ObjectSeen 8, ObjectGone 9"
    assert lines[4] == trace.Scaled(
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
    body = controller()
    body["metadata"] |= owned_by(owner)
    assert bool(record(added(1, body, of))) is recorded


def test_the_priority_classes_of_every_cluster_are_left_out() -> None:
    """They are there in the replay as well."""
    high, critical = (
        {"metadata": {"uid": name, "name": name}, "value": 1}
        for name in ("high", "system-node-critical")
    )
    (line,) = record(*(added(1, one, "PriorityClass") for one in (critical, high)))
    assert isinstance(line, trace.ObjectSeen)
    assert line.object["metadata"]["name"] == "high"


def test_equal_pods_have_one_template_and_it_comes_first() -> None:
    """Also where a later line turns out to belong before."""
    lines: list[trace.Line] = []
    recording = begin(lines)
    recording.take(added(5, pod("late")))
    recording.take(added(4, pod("early")))
    recording.finish()
    assert when(lines) == "Template 4, PodCame 4, PodCame 5"


@pytest.mark.parametrize(
    ("before", "too_early_s", "hold_s"),
    [
        ([], HOLD_S - 0.1, HOLD_S),
        ([Interrupted(PODS, at(1), "gone")], HOLD_S, LONGEST_HOLD_S),
    ],
    ids=["watched", "interrupted"],
)
def test_lines_wait_for_those_that_belong_before(
    before: list[Arrival], too_early_s: float, hold_s: float
) -> None:
    """Watches take turns, and news of one that is back are older than the others'."""
    lines: list[trace.Line] = []
    recording = begin(lines)
    for one in (*before, added(2, node(), "Node")):
        recording.take(one)
    recording.release(at(2 + too_early_s))
    assert lines == []
    recording.release(at(2 + hold_s))
    assert when(lines) == "NodeSeen 2"


def test_pods_that_came_while_a_watch_was_behind_have_their_own_time() -> None:
    """All of them would come at once else, where one came after the other."""

    def created(name: str, seconds: float) -> Body:
        stamp = f"1970-01-01T00:00:{int(seconds):02}Z"
        return pod(name, uid=name, creationTimestamp=stamp)

    prompt = [added(1 + n / 10, created(f"p{n}", 1 + n / 10)) for n in range(20)]
    late = [added(30, created(f"q{n}", 10 + n)) for n in range(5)]
    lines = record(*prompt, *late)
    came = {line.name: line.t for line in lines if isinstance(line, trace.PodCame)}
    assert came["p19"] == 2.9
    assert [came[f"q{n}"] for n in range(5)] == pytest.approx(
        [10.5, 11.5, 12.5, 13.5, 14.5], abs=0.1
    )


def test_after_a_new_list_what_it_lacks_has_ended() -> None:
    """Nobody saw how; and what is there still is nothing new."""
    stays, goes = pod("stays"), pod("goes", uid="2")
    there = [listed(0, stays), listed(0, goes), listed(0, node("a"), "Node"),
             listed(0, controller(), "Deployment")]  # fmt: skip
    now = listed(6, stays), listed(6, pod("new", uid="3"))
    lines = record(
        Interrupted(PODS, at(3), "expired"),
        Relisted(PODS, now, at(6)),
        Relisted(NODES, (listed(6, node("b"), "Node"),), at(6)),
        Relisted(DEPLOYMENTS, (), at(6)),
        Relisted(JOBS, (), at(6)),
        Resumed(PODS, at(6)),
        there=there,
    )
    *news, lost = [line for line in lines if line.t]
    assert [(type(line), getattr(line, "name", "")) for line in news] == [
        (trace.PodEnded, "goes"),
        (trace.PodCame, "new"),
        (trace.NodeGone, "a"),
        (trace.NodeSeen, "b"),
        (trace.ObjectGone, "web"),
    ]
    assert lost == trace.WatchLost(t=6, from_=3, why="expired")


def test_an_interruption_lasts_from_the_first_lost_watch_to_the_last_back() -> None:
    """But one of a moment is none: a watch that ends within a line just goes on."""
    lost = Interrupted(PODS, at(3), "cut"), Interrupted(NODES, at(2), "cut first")
    back = Resumed(NODES, at(5)), Resumed(PODS, at(8))
    assert record(*lost, *back) == [trace.WatchLost(t=8, from_=2, why="cut first")]
    assert record(Interrupted(PODS, at(3), "cut"), Resumed(PODS, at(3.2))) == []


def test_only_the_namespaces_that_are_asked_for() -> None:
    """Beside what is in none."""
    other = pod("other", uid="2", namespace="else")
    changes = added(1, pod()), added(1, other), added(1, node(), "Node")
    assert [type(one) for one in record(*changes, namespaces=("ns",))] == [
        trace.PodCame, trace.NodeSeen,
    ]  # fmt: skip


def test_the_release_of_a_testbed_is_left_out() -> None:
    """A replay brings a scheduler of its own, and the node that it runs on."""
    tolerated = [{"key": "stowage.dev/host", "operator": "Exists"}]
    spec = {"containers": [{"name": "m"}], "tolerations": tolerated}
    release, host = controller(template={"metadata": {}, "spec": spec}), node("host")
    host["metadata"]["labels"] = {"stowage.dev/host": "true"}
    assert [] == record(
        added(1, host, "Node"),
        added(1, release, "Deployment"),
        added(1, {**pod(), "spec": spec}),
    )
