"""What is claimed of a cluster is what its own Kubernetes would do with it."""

from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import yaml

from stowage_testbed.optimizer_service.service import RunningService, running_service
from stowage_testbed.simulate.instance import NO_PROTECTION
from stowage_testbed.whatif import engine
from stowage_testbed.whatif.answer import findings_of
from stowage_testbed.whatif.inventory import inventory_of
from stowage_testbed.whatif.settings import PlanLimits, Release

Manifest = dict[str, Any]
ANY_POD = PlanLimits(time_limit_s=5, release=Release(arguments=NO_PROTECTION))
CLAIMS = yaml.safe_load(Path(__file__).with_name("claims.yaml").read_text("utf-8"))


def make_node(name: str, cpu: int = 4, has: Any = (), **metadata: Any) -> Manifest:
    room = {"cpu": str(cpu), "memory": "8Gi", "pods": "110", **dict(has)}
    status = {"allocatable": room, "capacity": room}
    metadata["name"] = name
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": status}


def make_pod(name: str, cpu: int, node: str = "", ready: str = "True", asks: Any = (), **spec: Any) -> Manifest:
    """Return a pod of a ReplicaSet of its own; its name tells whose pods are alike."""
    limits = dict(asks)
    resources = {"requests": {"cpu": str(cpu), **limits}, "limits": limits}
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "controller": True}
    status: Manifest = {"phase": "Running" if node else "Pending"}
    if node:
        spec["nodeName"] = node
        conditions = [{"type": "Ready", "status": ready}]
        status |= {"conditions": conditions, "startTime": "2026-01-01T00:00:00Z"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": name,
            "labels": {"app": name.split("-", maxsplit=1)[0]},
            "ownerReferences": [{**owner, "name": name, "uid": f"of-{name}"}],
        },
        "spec": {
            "schedulerName": "default-scheduler",
            "containers": [{"name": "c", "image": "i", "resources": resources}],
            **spec,
        },
        "status": status,
    }


def make_budget(allowed: int, healthy: int, desired: int, **spec: str) -> Manifest:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, **spec},
        "status": {
            "disruptionsAllowed": allowed,
            "currentHealthy": healthy,
            "desiredHealthy": desired,
            "expectedPods": desired,
        },
    }


def make_device_class(**spec: str) -> Manifest:
    made = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "spec": spec}
    return {**made, "metadata": {"name": "gpu"}}


def make_group(name: str, least: int) -> Manifest:
    made = {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup"}
    metadata = {"name": name, "namespace": "default"}
    return {**made, "metadata": metadata, "spec": {"schedulingPolicy": {"gang": {"minCount": least}}}}


MAKERS = {maker.__name__: maker for maker in (make_node, make_pod, make_budget, make_device_class, make_group)}


@pytest.fixture(scope="module")
def service() -> Iterator[RunningService]:
    """Return one optimiser for all: each start would take longer than the answers."""
    with running_service() as running:
        yield running


@pytest.mark.parametrize("name", CLAIMS)
def test_nothing_is_claimed_that_is_not_so(name: str, service: RunningService, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engineer who reads "provably do not" looks no further."""
    monkeypatch.setattr(engine, "running_service", lambda: nullcontext(service))
    claim = CLAIMS[name]
    made = (entry for one in claim["objects"] for entry in one.items())
    objects = [MAKERS[maker](**fields) for maker, fields in made]
    inventory = inventory_of(objects, claim.get("unread", ()))
    found = findings_of(inventory, ANY_POD)
    said = (found.fits_now, found.fits_after, len(found.moves), found.proved)
    numbers = (claim.get(what, 0) for what in ("now", "after", "moves"))
    assert said == (*numbers, claim.get("proved", True)), found.proof
    assert claim.get("says", "") in str(found.proof.not_about)
    if "stay" in claim:
        assert [*found.emptied] == claim.get("emptied", [])
        assert {one.name for one in found.irremovable} >= {*claim["stay"]}
