"""What is told to the scheduler in virtual time, of what was recorded."""

from __future__ import annotations

from typing import Any

from stowage_testbed.simulate.trace_events import make_events
from stowage_testbed.trace.format import (
    Header,
    How,
    Line,
    ObjectGone,
    ObjectSeen,
    Owner,
    PodBound,
    PodCame,
    PodEnded,
    PodTemplate,
    Template,
)
from stowage_testbed.trace.reading import Trace

HEADER = Header(1, "2026-01-01T00:00:00Z", "1.37.2", {"shop": {"team": "a"}})
DEPLOYMENT = Owner("Deployment", "web")


def came(t: float, owner: Owner | None = None) -> PodCame:
    return PodCame(t=t, namespace="shop", name="p", of="t", owner=owner)


def ended(t: float, how: How, ran_s: float | None = None) -> PodEnded:
    return PodEnded(t=t, namespace="shop", name="p", how=how, ran_s=ran_s)


def tell(*lines: Line) -> list[dict[str, Any]]:
    """Return the events, without the namespace before and the end behind."""
    first, *events, last = make_events(Trace(HEADER, lines))
    assert first["namespace"] == {"metadata": {"name": "shop", "labels": {"team": "a"}}}
    assert last == {"at": lines[-1].t}
    return [dict(event) for event in events]


def test_a_pod_that_ends_by_itself_lives_as_long_as_it_ran() -> None:
    """It may be bound at another time here, and would run as long."""
    (event,) = tell(came(5), PodBound(t=6, namespace="shop", name="p", node="n"),
                    ended(16, "succeeded", 10))  # fmt: skip
    assert event == {
        "at": 5,
        "pod": {"name": "shop/p", "of": "t", "node": "", "how": "succeeded",
                "lives": 10},
    }  # fmt: skip


def test_a_pod_of_the_beginning_has_its_node_and_the_rest_of_its_time() -> None:
    """What it ran before the recording is not run again."""
    (event,) = tell(came(0), PodBound(t=0, namespace="shop", name="p", node="n"),
                    ended(16, "failed", 1000))  # fmt: skip
    assert (event["pod"]["node"], event["pod"]["lives"]) == ("n", 16)


def test_a_pod_that_somebody_deleted_goes_when_it_went() -> None:
    """No controller runs in virtual time: what they did is told."""
    for how, ran_s in (("deleted", 3.0), ("evicted", 3.0), ("succeeded", None)):
        end = ended(4, how, ran_s)  # type: ignore[arg-type] # of the table
        _, gone = tell(came(1, DEPLOYMENT), end)
        assert gone == {"at": 4, "podGone": "shop/p"}


def test_what_another_scheduler_preempted_is_left_to_this_one() -> None:
    """Unless its controller made another, which comes as it came."""
    (alone,) = tell(came(1), ended(4, "preempted", 3))
    assert "lives" not in alone["pod"]
    owned, gone = tell(came(1, DEPLOYMENT), ended(4, "preempted", 3))
    assert (owned["pod"]["how"], gone["podGone"]) == ("deleted", "shop/p")


def test_pods_of_a_deployment_are_those_of_a_replica_set() -> None:
    """The scheduler spreads them by its selector, and knows no Deployments."""
    manifest = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"namespace": "shop", "name": "web"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": {}},
    }
    made, pod, gone = tell(
        ObjectSeen(t=0, object=manifest),
        came(1, DEPLOYMENT),
        ObjectGone(t=2, kind="Deployment", namespace="shop", name="web"),
    )
    assert made["object"]["kind"] == "ReplicaSet"
    assert made["object"]["spec"] == {"selector": {"matchLabels": {"app": "web"}}}
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web"}
    assert pod["pod"]["owner"] == owner
    named = {"kind": "ReplicaSet", "namespace": "shop", "name": "web"}
    assert gone["objectGone"] == named


def test_what_placing_does_not_depend_on_is_not_told() -> None:
    """The scheduler would name each as something that it cannot read."""
    manifest = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}}
    quota = ObjectSeen(t=1, object=manifest)
    gone = ObjectGone(t=2, kind="ResourceQuota", namespace="shop", name="q")
    assert tell(quota, gone) == []


def test_a_bound_claim_says_so() -> None:
    """The volume controller's note is not recorded, and without it no pod fits."""
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"namespace": "shop", "name": "c"},
        "spec": {"volumeName": "v"},
    }
    (event,) = tell(ObjectSeen(t=1, object=claim))
    notes = event["object"]["metadata"]["annotations"]
    assert notes == {"pv.kubernetes.io/bind-completed": "yes"}


def test_a_priority_class_gives_the_priority_that_is_not_there() -> None:
    """Traces that are written by hand name classes; recorded pods have numbers."""
    manifest = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "high"},
        "value": 7,
    }
    given = {"priorityClassName": "high"}
    named = Template(t=0, id="a", template=PodTemplate(spec=given))
    plain = Template(t=0, id="b", template=PodTemplate())
    events = tell(ObjectSeen(t=0, object=manifest), named, plain)
    specs = [event["template"]["pod"]["spec"] for event in events]
    assert [spec["priority"] for spec in specs] == [7, 0]
