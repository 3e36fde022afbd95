"""What is told to the scheduler in virtual time, of what was recorded."""

from typing import Any

import pytest
from trace_lines import HEADER, bound, came, ended, gone, seen

from stowage_testbed.simulate.virtual_time import make_events
from stowage_testbed.trace import format as trace
from stowage_testbed.trace.reading import Trace

DEPLOYMENT = trace.Owner("Deployment", "web")


def tell(*lines: trace.Line) -> list[dict[str, Any]]:
    """Return the events, without the namespace before and the end behind."""
    first, *events, last = make_events(Trace(HEADER, lines))
    assert first["namespace"] == {"metadata": {"name": "ns", "labels": {"team": "a"}}}
    assert last == {"at": lines[-1].t}
    return [dict(event) for event in events]


@pytest.mark.parametrize(
    ("at", "bound_at", "how", "ran_s", "pod"),
    [
        # It may be bound at another time here, and would keep its node as long: 2 s to start, and 8 s.
        (5, 6, "succeeded", 8, {"node": "", "how": "succeeded", "lives": 10}),
        # What it ran before the recording is not run again.
        (0, 0, "failed", 1000, {"node": "n1", "how": "failed", "lives": 16}),
    ],
)
def test_a_pod_that_ends_by_itself_has_its_node_as_long_as_it_had(
    at: float, bound_at: float, how: trace.How, ran_s: float, pod: dict[str, Any]
) -> None:
    """One of the beginning has its node and the rest of its time."""
    (event,) = tell(came(at), bound(bound_at), ended(16, how, ran_s))
    assert event == {"at": at, "pod": {"name": "ns/p", "of": "a", **pod}}


@pytest.mark.parametrize(
    ("how", "ran_s", "told"),
    [
        ("deleted", 3, "deleted"),
        ("evicted", 3, "evicted"),
        ("succeeded", None, "succeeded"),
        ("preempted", 3, "deleted"),
    ],
)
def test_a_pod_that_somebody_deleted_goes_when_it_went(how: trace.How, ran_s: float | None, told: str) -> None:
    """No controller runs in virtual time: what they did, and made again, is told."""
    pod, end = tell(came(1, owner=DEPLOYMENT), ended(4, how, ran_s))
    assert (pod["pod"]["how"], end) == (told, {"at": 4, "podGone": "ns/p"})


def test_what_another_scheduler_preempted_is_left_to_this_one() -> None:
    """Unless its controller made another, which comes as it came."""
    (alone,) = tell(came(1), ended(4, "preempted", 3))
    assert "lives" not in alone["pod"]


def test_pods_of_a_deployment_are_those_of_a_replica_set() -> None:
    """The scheduler spreads them by its selector, and knows no Deployments."""
    spec = {"selector": {"matchLabels": {"app": "web"}}}
    deployment = seen(0, "Deployment", "apps/v1", spec={**spec, "template": {}})
    made, pod, end = tell(deployment, came(1, owner=DEPLOYMENT), gone(2, "Deployment"))

    assert (made["object"]["kind"], made["object"]["spec"]) == ("ReplicaSet", spec)
    assert pod["pod"]["owner"] == {
        "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web",
    }  # fmt: skip
    assert end["objectGone"] == {
        "kind": "ReplicaSet", "namespace": "ns", "name": "web",
    }  # fmt: skip


def test_only_what_placing_depends_on_is_told() -> None:
    """The scheduler would name the rest, and fits no pod with a claim without note."""
    assert tell(seen(1, "ResourceQuota"), gone(2, "ResourceQuota")) == []
    (event,) = tell(seen(1, "PersistentVolumeClaim", spec={"volumeName": "v"}))
    notes = event["object"]["metadata"]["annotations"]
    assert notes == {"pv.kubernetes.io/bind-completed": "yes"}


def test_a_priority_class_gives_the_priority_that_is_not_there() -> None:
    """Traces that are written by hand name classes; recorded pods have numbers."""
    web = trace.PodTemplate(spec={"priorityClassName": "web"})
    events = tell(
        seen(0, "PriorityClass", "scheduling.k8s.io/v1", value=7),
        trace.Template(t=0, id="a", template=web),
        trace.Template(t=0, id="b", template=trace.PodTemplate()),
    )
    specs = [event["template"]["pod"]["spec"] for event in events]
    assert [spec["priority"] for spec in specs] == [7, 0]
