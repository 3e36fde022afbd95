"""Devices in answers: how many there are of a class, and why no plan gives some to a pod."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.cluster.devices import Devices, make_classes, make_pool
from stowage_testbed.whatif.devices import NEEDS, device_rooms, needs_in_words
from stowage_testbed.whatif.findings import Room
from stowage_testbed.whatif.inventory import FURTHER, Inventory

SCHEDULER = Path(__file__).parents[3] / "scheduler"
GPUS = Devices(model="H100", count=2, memory="80Gi", resource="nvidia.com/gpu")


def a_pod(name: str, node: str = "", **spec: Any) -> dict[str, Any]:
    requests = {"cpu": "1", **spec.pop("requests", {})}
    return {
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "ns", "uid": name},
        "spec": {"containers": [{"name": "c", "resources": {"requests": requests}}], "nodeName": node, **spec},
    }


def a_claim(of: str, *devices: str, **result: Any) -> dict[str, Any]:
    """Return the claim of a pod for one GPU, which it may have been allocated on the first node."""
    results = [{"request": "gpu", "driver": GPUS.driver, "pool": "n1", "device": one, **result} for one in devices]
    return {
        "kind": "ResourceClaim",
        "metadata": {"name": of, "namespace": "ns"},
        "spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "h100", "count": 1}}]}},
        "status": {"allocation": {"devices": {"results": results}}, "reservedFor": [{"uid": of}]} if devices else {},
    }


def count_rooms(
    *pods: dict[str, Any], claims: Sequence[Any] = (), of: Devices = GPUS, **known: Any
) -> tuple[Room, ...]:
    """Return the rooms of two nodes of 2 cores, each with devices."""
    snapshot = pb.Snapshot(pod_classes=[pb.PodClass(id="any")])
    for name in ("n1", "n2"):
        snapshot.nodes.add(name=name, allocatable=pb.Resources(cpu_milli=2000, pods=9))
    for pod in pods:
        node = pod["spec"].get("nodeName")
        snapshot.pods.add(uid=pod["metadata"]["uid"], class_id="any", node=node)
    objects = [*make_pool("n1", [of]), *make_pool("n2", [of]), *make_classes([of]), *claims]
    return device_rooms(Inventory((), pods, tuple(objects), **known), snapshot)


def test_devices_are_counted_by_class_as_pods_hold_them() -> None:
    """A claim holds them, wherever its pod has its node from; an extended resource that a class serves is devices."""
    holding = a_pod("a", "n1", resourceClaims=[{"name": "gpu", "resourceClaimName": "a"}])
    (room,) = count_rooms(holding, a_pod("b", requests={"nvidia.com/gpu": "1"}), claims=[a_claim("a", "gpu-0")])
    assert room == Room("devices/h100", 4000, 3000, stranded=0, nodes=2, free_nodes=2, largest_free=2000)


def test_devices_beside_full_cores_are_stranded() -> None:
    """Nobody who asks for one fits there, and those who ask for none are no loss."""
    asking = a_pod("b", resourceClaims=[{"name": "gpu", "resourceClaimName": "b"}])
    (room,) = count_rooms(asking, a_pod("c", "n2"), a_pod("d", "n2"), claims=[a_claim("b")])
    assert (room.free, room.stranded) == (4000, 2000)


def test_of_parts_it_is_not_known_whether_they_are_stranded() -> None:
    """Half of each of two devices is one device, and no pod that asks for one fits."""
    shared = Devices(model="H100", count=2, memory="80Gi", shares=True)
    claim = a_claim("a", "gpu-0", consumedCapacity={"memory": "20Gi"})
    (room,) = count_rooms(a_pod("a", "n1"), claims=[claim], of=shared)
    assert (room.free, room.largest_free, room.stranded) == (3750, 2000, None)


def test_without_claims_it_is_not_known_what_is_free() -> None:
    """All would look free that pods hold."""
    assert count_rooms(a_pod("a", "n1"), unread=(FURTHER["ResourceClaim"],)) == ()


@pytest.mark.parametrize("broken", [{"kind": "ResourceClaim", "metadata": {"name": "x"}, "status": {"reservedFor": 1}}])
def test_what_nobody_can_read_ends_no_answer(broken: dict[str, Any]) -> None:
    """Somebody wrote the file by hand; the scheduler names what it cannot read."""
    assert count_rooms(a_pod("a", "n1"), claims=[broken]) == ()


def test_every_reason_of_the_scheduler_has_words() -> None:
    """Its own are for programs, and for who looks them up."""
    sources = [*(SCHEDULER / "resources").glob("*.go"), SCHEDULER / "snapshot" / "unsupported.go"]
    texts = (path.read_text("utf-8") for path in sources if not path.name.endswith("_test.go"))
    reasons = {reason for text in texts for reason in re.findall(r'= "(device-[a-z-]+|resource-claims)"', text)}

    assert reasons == NEEDS.keys()


def test_words_have_the_name_of_what_they_are_about() -> None:
    """A pod may need several things, some of which are no devices."""
    found = needs_in_words(["device-capacity a100", "device-constraints", "volumes"]).split(", ")
    assert found == [
        "a part of a device of class a100 (device-capacity)",
        "devices that match each other (device-constraints)",
        "volumes",
    ]
