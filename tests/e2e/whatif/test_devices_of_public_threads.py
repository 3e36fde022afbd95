"""Clusters with devices as people described them in public threads, from a file, and the right answers."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from stowage_testbed.cluster.devices import Devices, make_classes, make_pool
from stowage_testbed.simulate.instance import NO_PROTECTION
from stowage_testbed.whatif.answer import findings_of
from stowage_testbed.whatif.findings import Findings
from stowage_testbed.whatif.reading import read_files
from stowage_testbed.whatif.settings import PlanLimits, Release

pytestmark = pytest.mark.e2e

ROOM = {"cpu": "8", "memory": "8Gi", "pods": "110"}
SHOP = {"namespace": "shop", "creationTimestamp": "2026-01-01T00:00:00Z"}
CLAIM = "resource.k8s.io/v1"


def a_node(name: str, of: Devices) -> list[dict[str, Any]]:
    ready = [{"type": "Ready", "status": "True"}]
    status = {"capacity": ROOM, "allocatable": ROOM, "conditions": ready}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": name}, "status": status}
    return [node, *make_pool(name, [of], uid=name)]


def a_pod(name: str, node: str = "", **spec: Any) -> dict[str, Any]:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "train", "uid": "train", "controller": True}
    requests = {"cpu": "100m", "memory": "1Gi", **spec.pop("requests", {})}
    containers = [{"name": "c", "image": "c", "resources": {"requests": requests, "limits": requests}}]
    always = {"schedulerName": "default-scheduler", "priority": 0, "terminationGracePeriodSeconds": 30}
    since = {"type": "Ready", "status": "True", "lastTransitionTime": SHOP["creationTimestamp"]}
    status: dict[str, Any] = {"phase": "Pending"}
    if node:
        status = {"phase": "Running", "startTime": SHOP["creationTimestamp"], "conditions": [since]}
        spec["nodeName"] = node
    metadata = {**SHOP, "name": name, "uid": name, "ownerReferences": [owner]}
    return {
        "apiVersion": "v1", "kind": "Pod", "metadata": metadata,
        "spec": {"containers": containers, **always, **spec}, "status": status,
    }  # fmt: skip


def claiming(name: str, count: int, node: str = "", devices: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Return a pod with a claim for so many devices, and the claim, which may have some on a node."""
    template = f"{count}-gpus"
    pod = a_pod(name, node, resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": template}])
    claim = f"{name}-gpu"
    pod["status"]["resourceClaimStatuses"] = [{"name": "gpu", "resourceClaimName": claim}]
    owner = {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": name, "controller": True}
    note = {"resource.kubernetes.io/pod-claim-name": "gpu"}
    metadata = {**SHOP, "name": claim, "uid": claim, "ownerReferences": [owner], "annotations": note}
    status: dict[str, Any] = {}
    if devices:
        results = [{"request": "gpu", "driver": DRIVER, "pool": node, "device": one} for one in devices]
        there = {"key": "metadata.name", "operator": "In", "values": [node]}
        status = {
            "allocation": {
                "devices": {"results": results},
                "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [there]}]},
            },
            "reservedFor": [{"resource": "pods", "name": name, "uid": name}],
        }
    return [
        pod,
        {"apiVersion": CLAIM, "kind": "ResourceClaim", "metadata": metadata, "spec": asked(count), "status": status},
    ]


def asked(count: int) -> dict[str, Any]:
    exactly = {"deviceClassName": "h100", "allocationMode": "ExactCount", "count": count}
    return {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}}


def a_template(count: int) -> dict[str, Any]:
    metadata = {**SHOP, "name": f"{count}-gpus", "uid": f"{count}-gpus"}
    return {"apiVersion": CLAIM, "kind": "ResourceClaimTemplate", "metadata": metadata, "spec": {"spec": asked(count)}}


DRIVER = Devices(model="H100", count=1).driver


def answer_of(tmp_path: Path, of: Devices, nodes: int, *objects: dict[str, Any]) -> Findings:
    """Return the answer for a file of nodes with devices, and pods and claims."""
    items = [*(each for at in range(nodes) for each in a_node(f"n-{at}", of)), *make_classes([of]), *objects]
    file = tmp_path / "all.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return findings_of(read_files([file]), PlanLimits(release=Release(arguments=NO_PROTECTION)))


def test_one_of_two_pods_gets_the_last_device_and_nothing_is_proved_of_the_other(tmp_path: Path) -> None:
    """Kubernetes issues 138765 and 137617: tools that count only what nodes list take the claimed device for free.

    The file lists no ResourceClaimTemplates, so that no plan moves the pod that holds the other device.
    """
    one = Devices(model="H100", count=1)
    pods = [*claiming("a", 1, "n-0", ["gpu-0"]), *claiming("b", 1), *claiming("c", 1)]

    found = answer_of(tmp_path, one, 2, *pods)

    assert (found.pending, found.fits_now, found.fits_after, found.moves) == (2, 1, 1, ())
    assert not found.proved
    assert [one.verdict for one in found.left] == ["not judged"]


def test_a_pod_gets_an_extended_resource_that_no_node_lists(tmp_path: Path) -> None:
    """Kubernetes pull request 135725: a DeviceClass serves it, and the pod has no claim yet."""
    one = Devices(model="H100", count=1, resource="example.com/gpu")

    found = answer_of(tmp_path, one, 1, a_pod("a", requests={"example.com/gpu": "1"}))

    assert (found.pending, found.fits_now, found.fits_after) == (1, 1, 1)


def test_pods_that_claim_one_device_each_move_together_for_one_that_claims_all_of_a_node(tmp_path: Path) -> None:
    """Volcano issue 3948, by claims: as many GPUs are free as the pod asks for, but on two nodes."""
    four = Devices(model="H100", count=4)
    holding = [
        each
        for node, name, device in [("n-0", "a", 0), ("n-0", "b", 1), ("n-1", "c", 0), ("n-1", "d", 1)]
        for each in claiming(name, 1, node, [f"gpu-{device}"])
    ]

    found = answer_of(tmp_path, four, 2, *holding, *claiming("e", 4), a_template(1), a_template(4))

    assert (found.fits_now, found.fits_after, len(found.moves), found.evictions) == (0, 1, 2, ())
    assert len({one.from_node for one in found.moves}) == 1
