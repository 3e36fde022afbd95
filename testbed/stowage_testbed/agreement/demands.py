"""What pods demand besides what their family gives them: one function a demand."""

from __future__ import annotations

from random import Random

from stowage_testbed.agreement.draft import Change, Draft, Manifest

GPU = "example.com/gpu"
CORDON = "node.kubernetes.io/unschedulable"
POD_SHARE = 0.15
"""Part of the pods that get a demand."""


def add_demands(rng: Random, draft: Draft) -> None:
    """Give some pods a demand, and some nodes what is asked for."""
    for node in draft.nodes:
        if not rng.randrange(3):
            for amounts in node["status"].values():
                amounts[GPU] = "1"
    for pod in draft.pods:
        if rng.random() < POD_SHARE:
            rng.choice(DEMANDS)(rng, pod)


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


def _add_overhead(_: Random, pod: Manifest) -> None:
    pod["spec"]["overhead"] = {"cpu": "50m"}


def _tolerate_everything(_: Random, pod: Manifest) -> None:
    pod["spec"]["tolerations"] = [{"operator": "Exists"}]


def _tolerate_cordon(_: Random, pod: Manifest) -> None:
    tolerations = pod["spec"].setdefault("tolerations", [])
    tolerations.append({"key": CORDON, "operator": "Exists"})


def _never_preempt(_: Random, pod: Manifest) -> None:
    pod["spec"]["preemptionPolicy"] = "Never"


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


def _wait_for_device(_: Random, pod: Manifest) -> None:
    """Need what no plan can promise."""
    pod["spec"]["resourceClaims"] = [{"name": "device", "resourceClaimName": "device"}]


def _wait_at_gate(_: Random, pod: Manifest) -> None:
    pod["spec"]["schedulingGates"] = [{"name": "example.com/gate"}]


def _resources(pod: Manifest) -> Manifest:
    (container,) = pod["spec"]["containers"]
    resources: Manifest = container.setdefault("resources", {})
    resources.setdefault("requests", {})
    return resources


DEMANDS: tuple[Change, ...] = (
    _want_gpu,
    _start_large,
    _bring_sidecar,
    _add_overhead,
    _tolerate_everything,
    _tolerate_cordon,
    _never_preempt,
    _never_preempt,
    _choose_nodes,
    _wait_for_device,
    _wait_at_gate,
)
