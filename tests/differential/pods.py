"""What random pods demand, mount, and are protected by: one function each."""

from __future__ import annotations

from copy import deepcopy
from random import Random
from typing import Any

from stowage_testbed.cluster.node_pool import ZONE_LABEL
from tests.differential.draft import Change, Draft, Manifest, own

GPU = "example.com/gpu"
CORDON = "node.kubernetes.io/unschedulable"
DEMANDING_SHARE = 0.15
"""Part of the pods that get a demand."""


def add_demands(rng: Random, draft: Draft) -> None:
    """Give some pods a demand, and some nodes what is asked for."""
    for node in draft.nodes:
        if not rng.randrange(3):
            for amounts in node["status"].values():
                amounts[GPU] = "1"
    for pod in draft.pods:
        if rng.random() < DEMANDING_SHARE:
            rng.choice(DEMANDS)(rng, pod)


def set_in(part: str, **fields: Any) -> Change:
    """Return the change that sets fields of a pod's ``part``, such as its spec."""

    def change(_: Random, pod: Manifest) -> None:
        pod.setdefault(part, {}).update(deepcopy(fields))

    return change


def _want_gpu(_: Random, pod: Manifest) -> None:
    _resources(pod).setdefault("limits", {})[GPU] = "1"
    _resources(pod)["requests"][GPU] = "1"


def _start_large(rng: Random, pod: Manifest) -> None:
    """Ask for more while starting than while running."""
    requests = {"cpu": f"{rng.randrange(100, 900, 100)}m"}
    pod["spec"]["initContainers"] = [
        {"name": "init", "image": "i", "resources": {"requests": requests}}
    ]


def _bring_sidecar(rng: Random, pod: Manifest) -> None:
    """Ask for more all the time, and for a port, by an init container that stays."""
    requests = {"cpu": f"{rng.randrange(50, 300, 50)}m"}
    ports = [{"containerPort": 90, "hostPort": 90}]
    sidecar = {"name": "sidecar", "image": "i", "restartPolicy": "Always"}
    pod["spec"]["initContainers"] = [
        {**sidecar, "ports": ports, "resources": {"requests": requests}}
    ]


def _tolerate_cordon(_: Random, pod: Manifest) -> None:
    tolerations = pod["spec"].setdefault("tolerations", [])
    tolerations.append({"key": CORDON, "operator": "Exists"})


def _choose_nodes(rng: Random, pod: Manifest) -> None:
    requirement = rng.choice(
        (
            {"key": "kubernetes.io/os", "operator": "Exists"},
            {"key": "disk", "operator": "NotIn", "values": ["hdd"]},
            {"key": "generation", "operator": "Gt", "values": ["1"]},
            {"key": "stowage.dev/disk", "operator": "DoesNotExist"},
        )
    )
    terms = [{"matchExpressions": [requirement]}]
    if not rng.randrange(3):
        name = {"key": "metadata.name", "operator": "In", "values": ["n1"]}
        terms.append({"matchFields": [name]})
    affinity = pod["spec"].setdefault("affinity", {})
    affinity["nodeAffinity"] = {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}
    }


def _resources(pod: Manifest) -> Manifest:
    (container,) = pod["spec"]["containers"]
    resources: Manifest = container.setdefault("resources", {})
    resources.setdefault("requests", {})
    return resources


_NEVER_PREEMPT = set_in("spec", preemptionPolicy="Never")

DEMANDS: tuple[Change, ...] = (
    _want_gpu,
    _start_large,
    _bring_sidecar,
    set_in("spec", overhead={"cpu": "50m"}),
    set_in("spec", tolerations=[{"operator": "Exists"}]),
    _tolerate_cordon,
    _NEVER_PREEMPT,
    _NEVER_PREEMPT,
    _choose_nodes,
    # What no plan can promise.
    set_in("spec", resourceClaims=[{"name": "device", "resourceClaimName": "device"}]),
    set_in("spec", schedulingGates=[{"name": "example.com/gate"}]),
)


MOUNTING_SHARE = 0.08
SIZE = {"storage": "1Gi"}


def add_volumes(rng: Random, draft: Draft) -> None:
    """Let some pods mount a claim of their own."""
    for pod in draft.pods:
        if rng.random() < MOUNTING_SHARE:
            _mount(rng, draft, pod)


def _mount(rng: Random, draft: Draft, pod: Manifest) -> None:
    namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
    pod["spec"]["volumes"] = [
        {"name": "data", "persistentVolumeClaim": {"claimName": name}}
    ]
    bound = bool(rng.randrange(4))
    draft.objects.append(claim(namespace, name, bound=bound))
    if not bound:
        return
    made = volume(namespace, name)
    node = rng.choice(draft.nodes)["metadata"]
    if rng.randrange(3):
        _reach_from(rng, made, node)
    elif ZONE_LABEL in node["labels"]:
        # The old way to say where a volume is; the scheduler honours it.
        made["metadata"]["labels"] = {ZONE_LABEL: node["labels"][ZONE_LABEL]}
    draft.objects.append(made)


def claim(namespace: str, name: str, *, bound: bool) -> Manifest:
    """Return a claim; if it is bound, to the volume of the same name."""
    metadata: Manifest = {"namespace": namespace, "name": name}
    spec: Manifest = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": SIZE}}
    if bound:
        metadata["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
        spec["volumeName"] = f"{namespace}-{name}"
    kind = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
    status = {"phase": "Bound" if bound else "Pending"}
    return {**kind, "metadata": metadata, "spec": spec, "status": status}


def volume(namespace: str, name: str) -> Manifest:
    """Return the volume of the claim ``name``, which every node can reach."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": f"{namespace}-{name}"},
        "spec": {
            "capacity": SIZE,
            "accessModes": ["ReadWriteOnce"],
            "nfs": {"server": "files", "path": "/"},
            "claimRef": {"namespace": namespace, "name": name},
        },
        "status": {"phase": "Bound"},
    }


def _reach_from(rng: Random, made: Manifest, node: Manifest) -> None:
    """Let the volume be reached from nodes with a label of ``node``."""
    term: Manifest = {}
    if node["labels"]:
        key = rng.choice(sorted(node["labels"]))
        labelled = {"key": key, "operator": "In", "values": [node["labels"][key]]}
        term["matchExpressions"] = [labelled]
    if not term or not rng.randrange(4):
        named = {"key": "metadata.name", "operator": "In", "values": [node["name"]]}
        term["matchFields"] = [named]
    made["spec"]["nodeAffinity"] = {"required": {"nodeSelectorTerms": [term]}}


PROTECTED_SHARE = 0.15
LONG_AGO = "2024-01-01T00:00:00Z"
SYSTEM_CRITICAL = 2_000_000_000


def protect_some(rng: Random, draft: Draft) -> None:
    """Protect some of the running pods."""
    for pod in draft.running():
        if rng.random() < PROTECTED_SHARE:
            rng.choice(PROTECTIONS)(rng, pod)


def _without_controller(_: Random, pod: Manifest) -> None:
    pod["metadata"].pop("ownerReferences", None)


def _daemon(_: Random, pod: Manifest) -> None:
    own(pod, "DaemonSet", "daemon")


def _of_unknown_controller(_: Random, pod: Manifest) -> None:
    own(pod, "Widget", "widget")


def annotated(key: str, value: str) -> Change:
    """Return the change that annotates a pod."""

    def change(_: Random, pod: Manifest) -> None:
        pod["metadata"].setdefault("annotations", {})[key] = value

    return change


def _opts_out(rng: Random, pod: Manifest) -> None:
    key, value = rng.choice(
        (
            ("stowage.dev/do-not-move", "true"),
            ("karpenter.sh/do-not-disrupt", "true"),
            ("cluster-autoscaler.kubernetes.io/safe-to-evict", "false"),
        )
    )
    annotated(key, value)(rng, pod)


def _local_storage(_: Random, pod: Manifest) -> None:
    pod["spec"].setdefault("volumes", []).append({"name": "scratch", "emptyDir": {}})


PROTECTIONS: tuple[Change, ...] = (
    _without_controller,
    _daemon,
    _of_unknown_controller,
    _opts_out,
    annotated("kubernetes.io/config.source", "file"),
    annotated("kubernetes.io/config.mirror", "hash"),
    _local_storage,
    set_in("metadata", deletionTimestamp=LONG_AGO, deletionGracePeriodSeconds=30),
    set_in("status", phase="Pending"),
    set_in("spec", schedulerName="other"),
    set_in("spec", priority=SYSTEM_CRITICAL),
    # A pod that no longer counts.
    set_in("status", phase="Succeeded"),
)
