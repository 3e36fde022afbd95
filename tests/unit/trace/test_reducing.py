"""What of an object is recorded."""

from __future__ import annotations

import json
from typing import Any

import pytest

from stowage_testbed.trace.format import Owner
from stowage_testbed.trace.reducing import find_owner, reduce_node, reduce_object
from stowage_testbed.trace.reducing_pods import identify, reduce_pod, reduce_pod_spec

HIDDEN = "hunter2"
CONTAINER = {
    "name": "main",
    "image": "registry.example/shop:1",
    "command": ["serve", f"--password={HIDDEN}"],
    "args": [HIDDEN],
    "env": [{"name": "PASSWORD", "value": HIDDEN}],
    "envFrom": [{"secretRef": {"name": HIDDEN}}],
    "resources": {"requests": {"cpu": "100m"}},
    "ports": [{"name": "web", "containerPort": 80, "hostPort": 8080}],
    "volumeMounts": [{"name": "data", "mountPath": "/data"}],
    "livenessProbe": {"exec": {"command": [HIDDEN]}},
}
SPEC: dict[str, Any] = {
    "containers": [CONTAINER],
    "initContainers": [{**CONTAINER, "name": "side", "restartPolicy": "Always"}],
    "nodeName": "n1",
    "priority": 10,
    "priorityClassName": "high",
    "preemptionPolicy": "PreemptLowerPriority",
    "schedulerName": "default-scheduler",
    "terminationGracePeriodSeconds": 0,
    "serviceAccountName": "shop",
    "imagePullSecrets": [{"name": HIDDEN}],
    "tolerations": [
        {
            "key": "node.kubernetes.io/not-ready",
            "operator": "Exists",
            "effect": "NoExecute",
            "tolerationSeconds": 300,
        },
        {"key": "gpu", "operator": "Exists"},
    ],
    "volumes": [
        {"name": "data", "persistentVolumeClaim": {"claimName": "data-0"}},
        {"name": "keys", "secret": {"secretName": HIDDEN}},
        {
            "name": "inline",
            "csi": {"driver": "d", "nodePublishSecretRef": {"name": HIDDEN}},
        },
    ],
}
REDUCED_CONTAINER = {
    "name": "main",
    "image": "pause",
    "resources": {"requests": {"cpu": "100m"}},
    "ports": [{"containerPort": 80, "hostPort": 8080}],
}


def test_a_pod_keeps_what_placing_it_depends_on() -> None:
    """And nothing else: no image, no command, no node, no secret."""
    assert reduce_pod_spec(SPEC) == {
        "containers": [REDUCED_CONTAINER],
        "initContainers": [
            {**REDUCED_CONTAINER, "name": "side", "restartPolicy": "Always"}
        ],
        "priority": 10,
        "priorityClassName": "high",
        "terminationGracePeriodSeconds": 0,
        "tolerations": [{"key": "gpu", "operator": "Exists"}],
        "volumes": [
            {"name": "data", "persistentVolumeClaim": {"claimName": "data-0"}},
            {"name": "inline", "csi": {"driver": "d"}},
        ],
    }


@pytest.mark.parametrize(
    "field",
    [
        {"nodeSelector": {"a": "b"}},
        {"hostNetwork": True},
        {"overhead": {"cpu": "1"}},
        {"resources": {"requests": {"cpu": "1"}}},
        {"resourceClaims": [{"name": "gpu", "resourceClaimName": "c"}]},
        {"schedulingGates": [{"name": "wait"}]},
        {"schedulingGroup": {"podGroupName": "g"}},
        {"workloadRef": {"name": "w", "podGroup": "g"}},
        {"schedulerName": "another"},
        {"preemptionPolicy": "Never"},
        {"restartPolicy": "Never"},
        {"runtimeClassName": "sandboxed"},
        {
            "topologySpreadConstraints": [
                {"maxSkew": 1, "topologyKey": "zone", "labelSelector": {}}
            ]
        },
    ],
    ids=lambda field: next(iter(field)),
)
def test_fields_of_scheduling_stay_as_they_are(field: dict[str, Any]) -> None:
    """One of each."""
    assert reduce_pod_spec(field) == field


def test_label_keys_that_the_server_has_merged_are_not_kept_twice() -> None:
    """A term that has them in its selector and as keys is refused when it comes new."""
    merged = {"key": "pod-template-hash", "operator": "In", "values": ["x"]}
    term = {
        "topologyKey": "zone",
        "labelSelector": {"matchExpressions": [merged]},
        "matchLabelKeys": ["pod-template-hash", "team"],
    }
    kept = {**term, "matchLabelKeys": ["team"]}
    affinity = {
        "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    }
    reduced = reduce_pod_spec(
        {"affinity": affinity, "topologySpreadConstraints": [term]}
    )

    assert reduced == {
        "affinity": {
            "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [kept]}
        },
        "topologySpreadConstraints": [kept],
    }


METADATA = {
    "name": "shop",
    "namespace": "web",
    "uid": "1234",
    "resourceVersion": "7",
    "generation": 3,
    "creationTimestamp": "2026-11-26T15:00:00Z",
    "managedFields": [{}],
    "finalizers": ["x"],
    "labels": {"app": "shop"},
    "annotations": {
        "kubectl.kubernetes.io/last-applied-configuration": HIDDEN,
        "deployment.kubernetes.io/revision": "3",
        "stowage.dev/ends-in": "5s",
        "cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
    },
}
KEPT = {
    "name": "shop",
    "namespace": "web",
    "labels": {"app": "shop"},
    "annotations": {
        "stowage.dev/ends-in": "5s",
        "cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
    },
}


def manifest(kind: str, **parts: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": kind, "metadata": METADATA, **parts}


def test_a_controller_keeps_its_spec_with_reduced_pods() -> None:
    """What the server made of it is off, and what tools noted on it."""
    template = {
        "metadata": {
            "creationTimestamp": None,
            "labels": {"app": "shop"},
            "annotations": {"note": HIDDEN},
        },
        "spec": {"containers": [CONTAINER]},
    }
    reduced = reduce_object(
        manifest(
            "Deployment",
            spec={"replicas": 2, "template": template},
            status={"replicas": 2},
        )
    )

    assert reduced == {
        "apiVersion": "v1",
        "kind": "Deployment",
        "metadata": KEPT,
        "spec": {
            "replicas": 2,
            "template": {
                "metadata": {"labels": {"app": "shop"}},
                "spec": {"containers": [REDUCED_CONTAINER]},
            },
        },
    }


def test_a_job_loses_the_selector_that_the_server_gave_it() -> None:
    """It would be refused with it: the server makes another one."""
    given = {"batch.kubernetes.io/controller-uid": "1", "job-name": "shop"}
    template = {
        "metadata": {"labels": {**given, "app": "shop"}},
        "spec": {"containers": []},
    }
    spec = {"selector": {"matchLabels": given}, "template": template}
    reduced = reduce_object(manifest("Job", spec=spec))["spec"]

    assert reduced["template"]["metadata"] == {"labels": {"app": "shop"}}
    assert "selector" not in reduced


def test_a_volume_is_bound_by_the_name_of_its_claim() -> None:
    """The claim has another UID when it is made again."""
    claim = {"kind": "PersistentVolumeClaim", "namespace": "web", "name": "data"}
    spec = {
        "claimRef": {**claim, "uid": "1", "resourceVersion": "2"},
        "csi": {
            "driver": "d",
            "volumeHandle": "v",
            "nodeStageSecretRef": {"name": HIDDEN},
        },
    }
    reduced = reduce_object(manifest("PersistentVolume", spec=spec))

    assert reduced["spec"] == {
        "claimRef": claim,
        "csi": {"driver": "d", "volumeHandle": "v"},
    }


def test_a_service_keeps_what_it_selects() -> None:
    """Spreading looks at that; an address may be taken in another cluster."""
    spec = {"clusterIP": "10.0.0.7", "ports": [{"port": 80}], "selector": {"app": "a"}}
    reduced = reduce_object(manifest("Service", spec=spec))

    assert reduced["spec"] == {"clusterIP": "None", "selector": {"app": "a"}}


def test_nothing_of_a_secret_is_left() -> None:
    """Wherever an object may have one."""
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": METADATA, "spec": SPEC}
    claims = [{"metadata": METADATA, "spec": {}, "status": {"x": HIDDEN}}]
    template = {"metadata": METADATA, "spec": SPEC}
    stateful = manifest(
        "StatefulSet", spec={"template": template, "volumeClaimTemplates": claims}
    )
    storage = manifest("StorageClass", parameters={"secret": HIDDEN})
    text = json.dumps([reduce_object(one) for one in (pod, stateful, storage)])
    text += json.dumps([reduce_pod(pod).spec, reduce_pod(pod).annotations])

    assert HIDDEN not in text


def test_pods_that_a_node_made_keep_to_it() -> None:
    """Nobody can make them again on that node otherwise."""
    metadata = {**METADATA, "ownerReferences": [{"kind": "Node", "name": "n1"}]}
    spec = reduce_pod({"metadata": metadata, "spec": SPEC}).spec

    assert "n1" in json.dumps(spec["affinity"])
    assert spec["tolerations"] == [{"operator": "Exists"}]


def test_a_bound_pod_is_like_one_that_waits() -> None:
    """The server labels it with the zone of its node when it is bound."""
    zone = {"topology.kubernetes.io/zone": "a"}
    labels = {"app": "shop", **zone}
    bound = {"metadata": {"labels": labels}, "spec": {"nodeName": "n"}}
    waiting = {"metadata": {"labels": labels}, "spec": {}}

    assert reduce_pod(bound).labels == {"app": "shop"}
    assert reduce_pod(waiting).labels == labels


def test_a_node_keeps_what_it_offers_and_who_may_use_it() -> None:
    """The taint of a cordon follows from it."""
    cordon = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    gpu = {"key": "gpu", "effect": "NoSchedule", "timeAdded": "2026-11-26T15:00:00Z"}
    node = reduce_node(
        {
            "metadata": {
                "name": "n",
                "labels": {"zone": "a"},
                "annotations": {"x": HIDDEN},
            },
            "spec": {"unschedulable": True, "taints": [cordon, gpu]},
            "status": {
                "capacity": {"cpu": "4"},
                "allocatable": {"cpu": "3"},
                "images": [1],
            },
        }
    )

    assert (node.capacity, node.allocatable) == ({"cpu": "4"}, {"cpu": "3"})
    assert (node.labels, node.unschedulable) == ({"zone": "a"}, True)
    assert node.taints == [{"key": "gpu", "effect": "NoSchedule"}]


def test_only_controllers_that_are_recorded_own() -> None:
    """What another operator made is nobody's: that operator is not in the replay."""

    def owned(kind: str, *, controller: bool = True) -> dict[str, Any]:
        owner = {"kind": kind, "name": "o", "controller": controller}
        return {"metadata": {"ownerReferences": [owner]}}

    assert find_owner(owned("ReplicaSet")) == Owner("ReplicaSet", "o")
    assert find_owner(owned("SparkApplication")) is None
    assert find_owner(owned("CronJob")) is None
    assert find_owner(owned("Job", controller=False)) is None


def test_equal_pods_have_one_template() -> None:
    """Whatever the order of their fields; another salt gives another name."""
    pod = {"metadata": METADATA, "spec": SPEC}
    turned = {"metadata": METADATA, "spec": dict(reversed(SPEC.items()))}
    first = reduce_pod(pod)

    assert identify(first) == identify(reduce_pod(turned))
    assert identify(first) != identify(first, salt=1)
    assert len(identify(first)) == 8
