"""What is claimed of a cluster is what its own Kubernetes would do with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from stowage_testbed.simulate import NO_PROTECTION, find_profile
from stowage_testbed.whatif.asking import PlanLimits, findings_of
from stowage_testbed.whatif.findings import Findings
from stowage_testbed.whatif.inventory import inventory_of
from stowage_testbed.whatif.release import Release

Manifest = dict[str, Any]
DEVICE, OWN_NAME = "example.com/gpu", "deviceclass.resource.kubernetes.io/gpu"
ANY_POD = PlanLimits(time_limit_s=5, release=Release(arguments=NO_PROTECTION))


def node(name: str, cpu: int = 4, **more: Any) -> Manifest:
    has = {"cpu": str(cpu), "memory": "8Gi", "pods": "110", **more.pop("has", {})}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, **more},
        "status": {"allocatable": has, "capacity": has},
    }


def pod(
    name: str, cpu: int, on: str = "", *, ready: bool = True, **spec: Any
) -> Manifest:
    """Return a pod of a ReplicaSet of its own; ``spec`` may ask for more."""
    requests = {"cpu": str(cpu), **spec.pop("asks", {})}
    limits = {key: requests[key] for key in requests if key != "cpu"}
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "controller": True}
    status: Manifest = {"phase": "Running" if on else "Pending"}
    if on:
        conditions = [{"type": "Ready", "status": str(ready)}]
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
            "containers": [
                {
                    "name": "c",
                    "image": "i",
                    "resources": {"requests": requests, "limits": limits},
                }
            ],
            **({"nodeName": on} if on else {}),
            **spec,
        },
        "status": status,
    }


def budget(allowed: int, healthy: int, desired: int, policy: str = "") -> Manifest:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            **({"unhealthyPodEvictionPolicy": policy} if policy else {}),
        },
        "status": {
            "disruptionsAllowed": allowed,
            "currentHealthy": healthy,
            "desiredHealthy": desired,
            "expectedPods": desired,
        },
    }


def device_class(*, serves: bool = True) -> Manifest:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "gpu"},
        "spec": {"extendedResourceName": DEVICE} if serves else {},
    }


def own_disk() -> Manifest:
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {}}}
    return {"name": "own", "ephemeral": {"volumeClaimTemplate": {"spec": claim}}}


@dataclass(frozen=True)
class Claim:
    """A cluster, and what may be said of it."""

    objects: tuple[Manifest, ...]
    now: int = 0
    after: int = 0
    moves: int = 0
    proved: bool = True
    says: str = ""
    unread: tuple[str, ...] = ()
    found: Callable[[Findings], bool] = field(default=lambda _found: True)


def in_the_way(*, ready: bool, of: Manifest, **spec: Any) -> tuple[Manifest, ...]:
    """Return a pod that leaves no room for another one, unless it moves."""
    web = pod("web-1", 2, "small", ready=ready, **spec)
    return node("small"), node("other", 2), web, of, pod("wide-1", 4)


GPU = {DEVICE: "1"}
GANG = {"podGroupName": "gang"}
STAYS = {"karpenter.sh/do-not-disrupt": "true"}
ON_BOTH = (pod("web-1", 1, "a"), pod("web-2", 1, "b"))
CLAIMS = {
    "unready, its budget has enough": Claim(
        in_the_way(ready=False, of=budget(0, 2, 2)), after=1, moves=1
    ),
    "unready, its budget lacks one": Claim(
        in_the_way(ready=False, of=budget(0, 1, 2)), after=0
    ),
    "unready, its budget always lets it go": Claim(
        in_the_way(ready=False, of=budget(0, 0, 2, "AlwaysAllow")), after=1, moves=1
    ),
    "ready, its budget lets only others go": Claim(
        in_the_way(ready=True, of=budget(0, 2, 2, "AlwaysAllow")), after=0
    ),
    "a disk that goes with its pod": Claim(
        in_the_way(ready=True, of=budget(1, 2, 1), volumes=[own_disk()]),
        proved=False,
        says="1 running pod that no plan could move",
    ),
    "a device that is claimed": Claim(
        in_the_way(
            ready=True,
            of=budget(1, 2, 1),
            resourceClaims=[{"name": "gpu", "resourceClaimName": "gpu"}],
        ),
        proved=False,
        says="1 running pod that no plan could move",
    ),
    "a resource of a device class": Claim(
        (node("n"), device_class(), pod("gpu-1", 1, asks=GPU)),
        proved=False,
        says="1 pod that waits and was not judged",
    ),
    "a resource of a device class and of a plugin": Claim(
        (node("n", has=GPU), device_class(), pod("gpu-1", 1, asks=GPU)), now=1, after=1
    ),
    "a device class by its own name": Claim(
        (node("n"), device_class(serves=False), pod("gpu-1", 1, asks={OWN_NAME: "1"})),
        proved=False,
        says="1 pod that waits and was not judged",
    ),
    "a resource of device classes that were not read": Claim(
        (node("n"), pod("gpu-1", 1, asks=GPU)),
        proved=False,
        says="1 pod that waits and was not judged",
        unread=("DeviceClass",),
    ),
    "a resource of nobody": Claim(
        (node("n"), device_class(serves=False), pod("gpu-1", 1, asks=GPU))
    ),
    "members of a group": Claim(
        (node("n"), *(pod(f"gang-{one}", 1, schedulingGroup=GANG) for one in "123")),
        proved=False,
        says="3 pods that wait and were not judged",
    ),
    "more of a thing than a machine has": Claim(
        (
            node("n", has={"example.com/token": "9223372036854775807"}),
            pod("old-1", 1, "n"),
            pod("new-1", 1, asks={"example.com/token": "1"}),
        ),
        now=1,
        after=1,
    ),
    "a node that stays": Claim(
        (node("a", annotations=STAYS), node("b"), *ON_BOTH),
        found=lambda found: found.emptied == ("b",),
    ),
    "only nodes that stay": Claim(
        (node("a", annotations=STAYS), node("b", annotations=STAYS), *ON_BOTH),
        found=lambda found: (
            not found.emptied and [one.name for one in found.irremovable] == ["a", "b"]
        ),
    ),
}


@pytest.mark.parametrize("name", CLAIMS)
def test_nothing_is_claimed_that_is_not_so(name: str) -> None:
    """An engineer who reads "provably do not" looks no further."""
    claim = CLAIMS[name]
    inventory = inventory_of(claim.objects, claim.unread)
    found = findings_of(inventory, find_profile("deterministic"), ANY_POD)
    said = (found.fits_now, found.fits_after, len(found.moves), found.proved)
    assert said == (claim.now, claim.after, claim.moves, claim.proved), found.proof
    assert not claim.says or claim.says in str(found.proof.not_about)
    assert claim.found(found)
