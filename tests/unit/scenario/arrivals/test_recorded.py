"""What replaying a recorded trace comes to."""

from __future__ import annotations

from typing import Any

import pytest

from stowage_testbed.api.pod_annotations import LIFETIME
from stowage_testbed.observe.pod import WORKLOAD_LABEL
from stowage_testbed.scenario.arrivals.object_changes import make_merge_patch
from stowage_testbed.scenario.arrivals.recorded import Deed, RecordedReplay
from stowage_testbed.scenario.arrivals.recorded_making import make_recorded_replay
from stowage_testbed.trace.format import (
    Header,
    How,
    Line,
    Node,
    NodeGone,
    NodeSeen,
    ObjectGone,
    ObjectSeen,
    Owner,
    PodBound,
    PodCame,
    PodEnded,
    PodTemplate,
    Scaled,
    Template,
)
from stowage_testbed.trace.reading import Trace

HEADER = Header(1, "2026-11-26T15:00:00Z", "1.37.2")
SPEC = {
    "containers": [{"name": "m", "image": "pause"}],
    "priority": 5,
    "priorityClassName": "high",
    "schedulerName": "theirs",
    "preemptionPolicy": "Never",
    "schedulingGates": [{"name": "wait"}],
}
TEMPLATE = Template(t=0, id="a", template=PodTemplate({"app": "x"}, {}, SPEC))
NODE = Node({"cpu": "4"}, {"cpu": "3"}, {"zone": "a"})


def replay(*lines: Line, speed: float = 1, limit: int | None = None) -> RecordedReplay:
    trace = Trace(HEADER, (TEMPLATE, *lines))
    return make_recorded_replay(trace, speed=speed, limit=limit)


def came(t: float, name: str = "p", owner: Owner | None = None) -> PodCame:
    return PodCame(t=t, namespace="ns", name=name, of="a", owner=owner)


def bound(t: float, name: str = "p") -> PodBound:
    return PodBound(t=t, namespace="ns", name=name, node="n1")


def ended(t: float, how: How, ran_s: float | None, name: str = "p") -> PodEnded:
    return PodEnded(t=t, namespace="ns", name=name, how=how, ran_s=ran_s)


def controller(t: float, kind: str = "Deployment", **spec: Any) -> ObjectSeen:
    template = {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": []}}
    manifest = {
        "apiVersion": "batch/v1" if kind == "Job" else "apps/v1",
        "kind": kind,
        "metadata": {"name": "web", "namespace": "ns"},
        "spec": {"template": template, **spec},
    }
    return ObjectSeen(t=t, object=manifest)


def told(made: RecordedReplay) -> list[tuple[float, str, str, str]]:
    return [(one.at_s, one.do, one.kind, one.name) for one in made.deeds]


def lifetime_of(manifest: dict[str, Any]) -> str | None:
    found: str | None = manifest["metadata"].get("annotations", {}).get(LIFETIME)
    return found


def test_what_was_there_is_there_before_the_clock_starts() -> None:
    """In the order in which it was recorded, with the classes that pods name."""
    made = replay(
        NodeSeen(t=0, name="n1", node=NODE), controller(0), came(0, "b"), came(0, "a")
    )

    assert made.deeds == ()
    assert [one["metadata"]["name"] for one in made.first.nodes] == ["n1"]
    assert [one["kind"] for one in made.first.objects] == [
        "PriorityClass",
        "Deployment",
    ]
    assert [one["metadata"]["name"] for one in made.first.pods] == ["b", "a"]


def test_a_pod_is_made_as_admission_takes_it() -> None:
    """Without what admission or a scheduler adds, or refuses when it comes new."""
    made = replay(came(2), bound(3))
    (deed,) = made.deeds

    assert deed == Deed(
        2,
        "create",
        "Pod",
        "p",
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": "p",
                "labels": {"app": "x", WORKLOAD_LABEL: "p"},
                "annotations": {},
            },
            "spec": {
                "containers": [{"name": "m", "image": "pause"}],
                "priorityClassName": "high",
            },
        },
    )


def test_gates_that_nobody_opened_stay_closed() -> None:
    """The pod never was the scheduler's."""
    (deed,) = replay(came(2)).deeds

    assert deed.body["spec"]["schedulingGates"] == [{"name": "wait"}]


@pytest.mark.parametrize("how", ["succeeded", "failed"])
def test_a_pod_that_ended_by_itself_runs_as_long(how: How) -> None:
    """By its annotation, wherever it is placed and whenever."""
    made = replay(came(2), bound(3), ended(9, how, 5.5), speed=2)

    assert told(made) == [(1, "create", "Pod", "p")]
    assert lifetime_of(made.deeds[0].body) == "2750ms"
    assert made.left == {"p": 1}


def test_a_pod_that_ran_before_runs_on_for_what_was_left() -> None:
    """It starts with the replay."""
    made = replay(came(0), bound(0), ended(9, "succeeded", 100))

    assert lifetime_of(made.first.pods[0]) == "9000ms"


@pytest.mark.parametrize("how", ["deleted", "evicted"])
def test_a_pod_that_somebody_removed_is_removed(how: How) -> None:
    """At the same time."""
    made = replay(came(2), ended(8, how, 3), speed=2)

    assert told(made) == [(1, "create", "Pod", "p"), (4, "delete", "Pod", "p")]
    assert made.left == {}


def test_preempting_is_the_schedulers_affair() -> None:
    """Another one may have room for both."""
    made = replay(came(2), ended(8, "preempted", 3))

    assert told(made) == [(2, "create", "Pod", "p")]
    assert made.left == {}


def test_a_name_that_comes_again_is_free_by_then() -> None:
    """A pod that is done stays there."""
    made = replay(came(1), ended(2, "succeeded", 1), came(3))

    assert told(made) == [
        (1, "create", "Pod", "p"),
        (3, "delete", "Pod", "p"),
        (3, "create", "Pod", "p"),
    ]


def test_pods_of_controllers_are_left_to_them() -> None:
    """Also where the watch of the controller was a moment later."""
    owner = Owner("Deployment", "web")
    made = replay(came(1, "web-1", owner), controller(1.001), came(2, "web-2", owner))

    assert told(made) == [(1.001, "create", "apps/v1/Deployment", "web")]
    assert (made.pods, made.left) == (2, {"web": 2})


def test_pods_whose_controller_was_not_recorded_are_made() -> None:
    """Nobody else would."""
    made = replay(came(1, "web-1", Owner("Deployment", "web")))

    assert told(made) == [(1, "create", "Pod", "web-1")]


def test_pods_of_a_job_run_as_long_as_its_pods_did() -> None:
    """On average: which of them is which is not known before they come."""
    owner = Owner("Job", "web")
    lines: list[Line] = [controller(1, "Job")]
    for number, ran_s in enumerate((1, 2, 30)):
        name = f"web-{number}"
        lines += [came(1, name, owner), ended(40, "succeeded", ran_s, name)]
    (deed,) = replay(*lines, speed=2).deeds

    assert lifetime_of(deed.body["spec"]["template"]) == "1000ms"


def test_pods_of_a_job_that_did_not_end_run_on() -> None:
    """One without a lifetime is done at once on a fake node."""
    (deed,) = replay(controller(1, "Job")).deeds

    assert lifetime_of(deed.body["spec"]["template"]) == "1000000000ms"


def test_controllers_are_scaled_changed_and_deleted() -> None:
    """Each at its time, and by what has changed alone."""
    made = replay(
        controller(0, replicas=1, paused=True),
        Scaled(t=1, kind="Deployment", namespace="ns", name="web", replicas=3),
        controller(2, replicas=3),
        ObjectGone(t=3, kind="Deployment", namespace="ns", name="web"),
        speed=0.5,
    )

    assert told(made) == [
        (2, "patch", "apps/v1/Deployment", "web"),
        (4, "patch", "apps/v1/Deployment", "web"),
        (6, "delete", "apps/v1/Deployment", "web"),
    ]
    assert [one.body for one in made.deeds[:2]] == [
        {"spec": {"replicas": 3}},
        {"spec": {"paused": None}},
    ]


def test_nodes_come_change_and_go() -> None:
    """Their amounts are part of their status."""
    other = Node({"cpu": "8"}, {"cpu": "3"}, {"pool": "b"}, [], True)
    made = replay(
        NodeSeen(t=1, name="n1", node=NODE),
        NodeSeen(t=2, name="n1", node=other),
        NodeGone(t=3, name="n1"),
    )

    assert told(made) == [
        (1, "create", "Node", "n1"),
        (2, "patch", "Node", "n1"),
        (2, "patch", "Node", "n1"),
        (3, "delete", "Node", "n1"),
    ]
    assert made.deeds[1].body == {
        "metadata": {"labels": {"zone": None, "pool": "b"}},
        "spec": {"taints": [], "unschedulable": True},
    }
    assert made.deeds[2].subresource == "status"
    assert made.deeds[2].body["status"]["capacity"] == {"cpu": "8"}
    assert made.nodes == ("n1",)


def test_a_node_that_was_not_ready_takes_no_pods() -> None:
    """A fake one always is, and loses the taint that says otherwise."""
    taint = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}
    node = Node({"cpu": "4"}, {"cpu": "4"}, {}, [taint])
    (manifest,) = replay(NodeSeen(t=0, name="n1", node=node)).first.nodes

    assert manifest["spec"] == {"taints": [], "unschedulable": True}


def test_on_nodes_of_the_scenario_those_of_the_trace_do_not_come() -> None:
    """Nor what became of them."""
    made = replay(
        NodeSeen(t=0, name="n1", node=NODE), NodeGone(t=3, name="n1"), came(4)
    ).without_nodes()

    assert (made.first.nodes, made.nodes) == ((), ())
    assert told(made) == [(4, "create", "Pod", "p")]


def test_only_the_first_pods_and_nothing_after_them() -> None:
    """What happened later was done to what is not there."""
    made = replay(came(1, "a"), came(2, "b"), NodeGone(t=3, name="n"), limit=1)

    assert told(made) == [(1, "create", "Pod", "a")]


def test_the_first_placement_is_known_by_workload() -> None:
    """For who wants to begin with it."""
    made = replay(came(0, "a"), bound(0, "a"), came(0, "b"), bound(1, "b"))

    assert made.first.placed == {"a": ("n1",)}


def test_daemons_are_left_to_where_they_go_anyway() -> None:
    """They are on closed nodes before anybody could bind them."""
    owner = Owner("DaemonSet", "agent")
    agent = PodCame(t=0, namespace="ns", name="agent-1", of="a", owner=owner)
    at = PodBound(t=0, namespace="ns", name="agent-1", node="n1")

    assert replay(agent, at).first.placed == {}


def test_what_is_in_no_namespace_is_known() -> None:
    """Whoever clears up has to delete it one by one."""
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "v"},
        "spec": {},
    }
    made = replay(controller(0), ObjectSeen(t=0, object=volume))

    assert made.wide == (
        ("v1/PersistentVolume", "v"),
        ("scheduling.k8s.io/v1/PriorityClass", "high"),
    )
    assert made.controllers == {"Deployment"}


def claim(t: float, **spec: Any) -> ObjectSeen:
    metadata = {"name": "data-web-0", "namespace": "ns"}
    named = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
    return ObjectSeen(t=t, object={**named, "metadata": metadata, "spec": spec})


def test_volumes_are_bound_by_whom_that_falls_to() -> None:
    """Where a pod goes decides on its volume, and it may go elsewhere."""
    made = replay(claim(1), claim(2, volumeName="v"), claim(3, volumeName="v", x=1))

    assert told(made) == [
        (1, "create", "v1/PersistentVolumeClaim", "data-web-0"),
        (3, "patch", "v1/PersistentVolumeClaim", "data-web-0"),
    ]
    assert made.deeds[1].body == {"spec": {"x": 1}}


@pytest.mark.parametrize(
    ("seen", "there"),
    [
        (claim(0, volumeName="v"), True),
        (claim(0), False),
        (claim(1), False),
        (claim(1, volumeName="v"), False),
    ],
)
def test_a_stateful_set_makes_its_claims_itself(seen: ObjectSeen, there: bool) -> None:
    """But for one that has a volume from the start: it is to have that again."""
    templates = [{"metadata": {"name": "data"}, "spec": {}}]
    made = replay(controller(0, "StatefulSet", volumeClaimTemplates=templates), seen)

    kinds = [one["kind"] for one in made.first.objects]
    assert ("PersistentVolumeClaim" in kinds) is there
    assert made.deeds == ()


def test_a_merge_patch_says_what_has_changed() -> None:
    """As in RFC 7396."""
    before = {"a": 1, "b": {"c": [1], "d": 2}, "e": {"f": 1}}
    now = {"a": 1, "b": {"c": [2], "d": 2}, "g": 3}

    assert make_merge_patch(before, now) == {"b": {"c": [2]}, "e": None, "g": 3}
