"""What replaying a recorded trace comes to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from trace_lines import HEADER, bound, came, ended, gone, node, seen

from stowage_testbed.api.pod_annotations import LIFETIME
from stowage_testbed.observe.pod import WORKLOAD_LABEL
from stowage_testbed.scenario.arrivals.object_changes import make_merge_patch
from stowage_testbed.scenario.arrivals.recorded import Deed, RecordedReplay
from stowage_testbed.scenario.arrivals.recorded_making import make_recorded_replay
from stowage_testbed.trace import format as trace
from stowage_testbed.trace.reading import Trace

SPEC = {
    "containers": [{"name": "m", "image": "pause"}],
    "priority": 5,
    "priorityClassName": "high",
    "schedulerName": "theirs",
    "preemptionPolicy": "Never",
    "schedulingGates": [{"name": "wait"}],
}
TEMPLATE = trace.Template(
    t=0, id="a", template=trace.PodTemplate({"app": "x"}, {}, SPEC)
)
DEPLOYMENT, WEB = "apps/v1/Deployment", trace.Owner("Deployment", "web")


def replay(
    *lines: trace.Line, speed: float = 1, limit: int | None = None
) -> RecordedReplay:
    recorded = Trace(HEADER, (TEMPLATE, *lines))
    return make_recorded_replay(recorded, speed=speed, limit=limit)


def controller(t: float, kind: str = "Deployment", **spec: Any) -> trace.ObjectSeen:
    template = {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": []}}
    version = "batch/v1" if kind == "Job" else "apps/v1"
    return seen(t, kind, version, spec={"template": template, **spec})


def claim(t: float, **spec: Any) -> trace.ObjectSeen:
    return seen(t, "PersistentVolumeClaim", name="data-web-0", spec=spec)


def told(made: RecordedReplay) -> list[tuple[float, str, str, str]]:
    return [(one.at_s, one.do, one.kind, one.name) for one in made.deeds]


def names(manifests: Iterable[Any]) -> list[str]:
    return [one["metadata"]["name"] for one in manifests]


def kinds(manifests: Iterable[Any]) -> list[str]:
    return [one["kind"] for one in manifests]


def lifetime_of(manifest: dict[str, Any]) -> str | None:
    found: str | None = manifest["metadata"].get("annotations", {}).get(LIFETIME)
    return found


def test_what_was_there_is_there_before_the_clock_starts() -> None:
    """In the order in which it was recorded, with the classes that pods name."""
    made = replay(node(0), controller(0), came(0, "b"), came(0, "a"))

    assert made.deeds == ()
    assert (names(made.first.nodes), names(made.first.pods)) == (["n1"], ["b", "a"])
    assert kinds(made.first.objects) == ["PriorityClass", "Deployment"]


def test_a_pod_is_made_as_admission_takes_it() -> None:
    """Without what admission or a scheduler adds, or refuses when it comes new."""
    (deed,) = replay(came(2), bound(3)).deeds
    labels = {"app": "x", WORKLOAD_LABEL: "p"}
    spec = {"containers": SPEC["containers"], "priorityClassName": "high"}
    metadata = {"name": "p", "labels": labels, "annotations": {}}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}

    assert deed == Deed(2, "create", "Pod", "p", pod)
    # Gates that nobody opened stay closed: the pod never was the scheduler's.
    (gated,) = replay(came(2)).deeds
    assert gated.body["spec"]["schedulingGates"] == [{"name": "wait"}]


CREATED, AGAIN = (2, "create", "Pod", "p"), (9, "create", "Pod", "p")
GONE = (8, "delete", "Pod", "p")


@pytest.mark.parametrize(
    ("later", "deeds", "left"),
    [
        # A pod that ended by itself runs as long, by its annotation.
        ([bound(3), ended(8, "succeeded", 5.5)], [CREATED], {"p": 1}),
        ([bound(3), ended(8, "failed", 5.5)], [CREATED], {"p": 1}),
        # One that somebody removed is removed at the same time.
        ([ended(8, "deleted", 3)], [CREATED, GONE], {}),
        ([ended(8, "evicted", 3)], [CREATED, GONE], {}),
        # Preempting is the scheduler's affair: another one may have room for both.
        ([ended(8, "preempted", 3)], [CREATED], {}),
        # A name that comes again is free by then: a pod that is done stays there.
        (
            [ended(8, "succeeded", 1), came(9)],
            [CREATED, (9, "delete", "Pod", "p"), AGAIN],
            {"p": 2},
        ),
    ],
)
def test_a_pod_ends_as_it_ended(
    later: list[trace.Line], deeds: list[object], left: dict[str, int]
) -> None:
    """Wherever it is placed and whenever."""
    made = replay(came(2), *later)

    assert (told(made), made.left) == (deeds, left)


@pytest.mark.parametrize(
    ("lines", "comes", "runs"),
    [
        ([came(2), bound(3), ended(9, "failed", 5.5)], [1], "2750ms"),
        # It ran before, and runs on for what was left.
        ([came(0), bound(0), ended(9, "succeeded", 100)], [], "4500ms"),
    ],
)
def test_a_pod_runs_as_long_as_it_did(
    lines: list[trace.Line], comes: list[float], runs: str
) -> None:
    """From the replay's start on if it was there before, and at the replay's speed."""
    made = replay(*lines, speed=2)
    (pod,) = (*made.first.pods, *(one.body for one in made.deeds))

    assert ([one.at_s for one in made.deeds], lifetime_of(pod)) == (comes, runs)


def test_pods_of_controllers_are_left_to_them() -> None:
    """Also where the watch of the controller was a moment later."""
    made = replay(came(1, "web-1", WEB), controller(1.001), came(2, "web-2", WEB))

    assert told(made) == [(1.001, "create", DEPLOYMENT, "web")]
    assert (made.pods, made.left) == (2, {"web": 2})
    # Nobody else would make those whose controller was not recorded.
    assert told(replay(came(1, "q", WEB))) == [(1, "create", "Pod", "q")]


def test_pods_of_a_job_run_as_long_as_its_pods_did() -> None:
    """On average: which of them is which is not known before they come."""
    lines: list[trace.Line] = [controller(1, "Job")]
    for name, ran_s in (("a", 1), ("b", 2), ("c", 30)):
        lines += [came(1, name, trace.Owner("Job", "web"))]
        lines += [ended(40, "succeeded", ran_s, name)]
    (deed,) = replay(*lines, speed=2).deeds
    # One without a lifetime is done at once on a fake node.
    (endless,) = replay(controller(1, "Job")).deeds

    assert lifetime_of(deed.body["spec"]["template"]) == "1000ms"
    assert lifetime_of(endless.body["spec"]["template"]) == "1000000000ms"


def test_controllers_are_scaled_changed_and_deleted() -> None:
    """Each at its time, and by what has changed alone."""
    made = replay(
        controller(0, replicas=1, paused=True),
        trace.Scaled(t=1, kind="Deployment", namespace="ns", name="web", replicas=3),
        controller(2, replicas=3),
        gone(3, "Deployment"),
        speed=0.5,
    )
    scaled, changed, _ = made.deeds

    assert told(made) == [
        (2, "patch", DEPLOYMENT, "web"),
        (4, "patch", DEPLOYMENT, "web"),
        (6, "delete", DEPLOYMENT, "web"),
    ]
    assert scaled.body == {"spec": {"replicas": 3}}
    assert changed.body == {"spec": {"paused": None}}


def test_nodes_come_change_and_go() -> None:
    """Their amounts are part of their status."""
    other = trace.Node({"cpu": "8"}, {"cpu": "3"}, {"pool": "b"}, [], True)
    made = replay(node(1), node(2, what=other), trace.NodeGone(t=3, name="n1"))
    _, spec, status, _ = made.deeds

    assert [(one.at_s, one.do) for one in made.deeds] == [
        (1, "create"), (2, "patch"), (2, "patch"), (3, "delete"),
    ]  # fmt: skip
    assert {(one.kind, one.name) for one in made.deeds} == {("Node", "n1")}
    assert spec.body == {
        "metadata": {"labels": {"zone": None, "pool": "b"}},
        "spec": {"taints": [], "unschedulable": True},
    }
    assert status.subresource == "status"
    assert status.body["status"]["capacity"] == {"cpu": "8"}
    assert made.nodes == ("n1",)


def test_a_node_that_was_not_ready_takes_no_pods() -> None:
    """A fake one always is, and loses the taint that says otherwise."""
    taint = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}
    silent = trace.Node({"cpu": "4"}, {"cpu": "4"}, {}, [taint])
    (manifest,) = replay(node(0, what=silent)).first.nodes

    assert manifest["spec"] == {"taints": [], "unschedulable": True}


def test_on_nodes_of_the_scenario_those_of_the_trace_do_not_come() -> None:
    """Nor what became of them."""
    made = replay(node(0), trace.NodeGone(t=3, name="n1"), came(4)).without_nodes()

    assert (made.first.nodes, made.nodes) == ((), ())
    assert told(made) == [(4, "create", "Pod", "p")]


def test_only_the_first_pods_and_nothing_after_them() -> None:
    """What happened later was done to what is not there."""
    made = replay(came(1, "a"), came(2, "b"), trace.NodeGone(t=3, name="n"), limit=1)

    assert told(made) == [(1, "create", "Pod", "a")]


def test_the_first_placement_is_known_by_workload() -> None:
    """For who wants to begin with it; daemons go where they go anyway."""
    agent = came(0, "agent-1", trace.Owner("DaemonSet", "agent"))
    made = replay(
        came(0, "a"), bound(0, "a"), came(0), bound(1), agent, bound(0, "agent-1")
    )

    assert made.first.placed == {"a": ("n1",)}


def test_what_is_in_no_namespace_is_known() -> None:
    """Whoever clears up has to delete it one by one."""
    volume = {"kind": "PersistentVolume", "metadata": {"name": "v"}, "spec": {}}
    wide = trace.ObjectSeen(t=0, object={"apiVersion": "v1", **volume})
    made = replay(controller(0), wide)

    assert made.wide == (
        ("v1/PersistentVolume", "v"),
        ("scheduling.k8s.io/v1/PriorityClass", "high"),
    )
    assert made.controllers == {"Deployment"}


def test_volumes_are_bound_by_whom_that_falls_to() -> None:
    """Where a pod goes decides on its volume, and it may go elsewhere."""
    made = replay(claim(1), claim(2, volumeName="v"), claim(3, volumeName="v", x=1))

    assert [(one.at_s, one.do, one.name) for one in made.deeds] == [
        (1, "create", "data-web-0"), (3, "patch", "data-web-0"),
    ]  # fmt: skip
    assert made.deeds[1].body == {"spec": {"x": 1}}


@pytest.mark.parametrize(
    ("found", "there"),
    [
        (claim(0, volumeName="v"), True),
        (claim(0), False),
        (claim(1), False),
        (claim(1, volumeName="v"), False),
    ],
)
def test_a_stateful_set_makes_its_claims_itself(found: trace.ObjectSeen, there: bool) -> None:
    """But for one that has a volume from the start: it is to have that again."""
    templates = [{"metadata": {"name": "data"}, "spec": {}}]
    made = replay(controller(0, "StatefulSet", volumeClaimTemplates=templates), found)

    assert ("PersistentVolumeClaim" in kinds(made.first.objects)) is there
    assert made.deeds == ()


def test_a_merge_patch_says_what_has_changed() -> None:
    """As in RFC 7396."""
    before = {"a": 1, "b": {"c": [1], "d": 2}, "e": {"f": 1}}
    now = {"a": 1, "b": {"c": [2], "d": 2}, "g": 3}

    assert make_merge_patch(before, now) == {"b": {"c": [2]}, "e": None, "g": 3}
