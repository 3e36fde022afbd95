"""Devices of a cluster in a scenario that is made of it."""

from typing import Any

import pytest
import yaml
from found_cluster import Manifest, found, node, pod, thing

from stowage_testbed.capture.capture import Capture, capture
from stowage_testbed.capture.neutral import make_neutral
from stowage_testbed.cluster.claims import PlacedDevice
from stowage_testbed.cluster.devices import Devices, DeviceTaint, Shares, make_classes, make_pool

SHARED = Shares(default="10Gi", min="10Gi", step="10Gi")
CEL = 'device.driver == "gpu.acme.example" && device.attributes["gpu.acme.example"].model == "A1"'


def fleet(*devices: Devices, on: str = "ip-1") -> list[Manifest]:
    """Return a node with devices, as the API server has them, and a pod."""
    slices = make_pool(on, devices, uid="u")
    for one in slices:
        one["spec"]["pool"]["generation"] = 3
        for taint in (taint for device in one["spec"].get("devices", ()) for taint in device.get("taints", ())):
            taint["timeAdded"] = "2026-11-29T00:00:00Z"
    return [node(on), pod("idle"), *slices, *make_classes(devices)]


def claim(name: str, *results: Manifest, of: str = "") -> Manifest:
    """Return a claim that is allocated, of a pod for which it was made, or of all that name it."""
    made = thing("ResourceClaim", name, spec={"devices": {"requests": [{"name": "all", "exactly": {"count": 2}}]}})
    if of:
        made["metadata"]["ownerReferences"] = [{"kind": "Pod", "name": of, "controller": True}]
    made["status"] = {"allocation": {"devices": {"results": list(results)}}, "reservedFor": [{"uid": "u"}]}
    return made


def claiming(name: str, of: str, **status: Any) -> Manifest:
    """Return a pod with a claim that was made for it."""
    made = pod(name, "ip-1", resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "one"}])
    made["status"] |= {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": of}], **status}
    return made


@pytest.mark.parametrize(
    "devices",
    [
        [Devices(model="H100", count=8, memory="80Gi")],
        [Devices(model="H100", count=2, memory="80Gi", partitions="mig", shares=True, resource="nvidia.com/gpu")],
        [Devices(model="A100", count=1, memory="80Gi", shares=SHARED, name="slices")],
        [
            Devices(model="T4", count=1),
            Devices(model="T4", count=1, taints=(DeviceTaint(key="x", effect="NoExecute"),)),
        ],
        [Devices(model="T4", count=2), Devices(model="CX-7", count=2, driver="nic.stowage.dev")],
    ],
    ids=["whole", "partitions", "shares", "a taint on one of them", "of two drivers"],
)
def test_what_a_kind_of_node_can_describe_is_described(devices: list[Devices]) -> None:
    """Whoever reads the file sees eight GPUs, and steps can break them."""
    captured = capture(found(*fleet(*devices)))

    assert [sorted(one.devices, key=str) for one in captured.pools] == [sorted(devices, key=str)]
    assert [*captured.objects] == []


def test_other_devices_stay_as_their_driver_lists_them() -> None:
    """Nodes are called otherwise, and so are the pools that are called like nodes."""
    own = Devices(model="H100", count=2)
    (first, *others), classes = make_pool("ip-1", [own]), make_classes([own])
    del first["spec"]["devices"][0]

    captured = capture(found(node("ip-1"), pod("idle"), first, *others, *classes))

    objects = {one["kind"]: one for one in captured.objects}
    assert captured.pools[0].devices == ()
    assert objects["DeviceClass"]["spec"] == classes[0]["spec"]
    spec = objects["ResourceSlice"]["spec"]
    assert (spec["nodeName"], spec["pool"]["name"]) == ("ip-0", "ip-0")
    assert [one["name"] for one in spec["devices"]] == ["gpu-1"]


def test_pods_keep_the_devices_of_their_claims() -> None:
    """Only the scheduler can place a pod of whose claim nobody knows what is allocated to it."""
    result = {"request": "all", "driver": "gpu.stowage.dev", "pool": "ip-1", "device": "gpu-3"}
    share = result | {"shareID": "s", "consumedCapacity": {"memory": "10Gi"}}
    extended = {"extendedResourceClaimStatus": {"resourceClaimName": "of-c"}}
    captured = capture(
        found(
            node("ip-1"),
            claiming("a", "of-a"),
            claim("of-a", result, share | {"pool": "rack"}, of="a"),
            claiming("b", "of-b"),
            claiming("c", "of-x", **extended),
            claim("of-c", result, of="c"),
            pod("d"),
        )
    )

    whole = PlacedDevice(claim="gpu", request="all", device="gpu-3")
    part = PlacedDevice(claim="gpu", request="all", device="gpu-3", pool="rack", capacity={"memory": "10Gi"})
    devices = {name: devices for one in captured.workloads for name, devices in zip(one.pods, one.devices, strict=True)}
    assert devices == {"a": (whole, part), "b": None, "c": None, "d": ()}
    assert [one["kind"] for one in captured.objects] == []


def test_templates_of_namespaces_without_pods_stay_behind() -> None:
    """Nothing there claims devices by them, and another namespace may have one of the same name."""
    templates = [thing("ResourceClaimTemplate", "one", namespace, spec={}) for namespace in ("shop", "elsewhere")]
    captured = capture(found(node("ip-1"), claiming("a", "of-a"), *templates))

    assert [one["metadata"]["name"] for one in captured.objects] == ["one"]


def make_neutral_fleet() -> Capture:
    """Return a cluster with devices of somebody's own, in words of nobody."""
    request = {
        "name": "acme-gpus",
        "exactly": {"deviceClassName": "acme-gpu", "selectors": [{"cel": {"expression": CEL}}]},
    }
    spec = {"devices": {
        "requests": [request],
        "constraints": [{"requests": ["acme-gpus"], "matchAttribute": "gpu.acme.example/numa"}],
        "config": [{"opaque": {"driver": "gpu.acme.example", "parameters": {"token": "acme"}}}],
    }}  # fmt: skip
    texts = {"model": "A1", "numa": "0", "serial": "acme-77"}
    attributes = {name: {"string": text} for name, text in texts.items()}
    taint = {"key": "acme.example/team", "value": "acme", "effect": "NoSchedule"}
    listed = thing("ResourceSlice", "acme-slice", "", spec={
        "driver": "gpu.acme.example", "nodeName": "ip-1",
        "devices": [{"name": "gpu-0", "attributes": attributes, "taints": [taint]}],
        "pool": {"name": "acme-rack", "generation": 1, "resourceSliceCount": 1},
    })  # fmt: skip
    result = {"request": "acme-gpus", "driver": "gpu.acme.example", "pool": "acme-rack", "device": "gpu-0"}
    selectors = [{"cel": {"expression": CEL}}]
    return make_neutral(capture(found(
        node("ip-1"), claiming("acme-pod", "of-a"), claim("of-a", result, of="acme-pod"), listed,
        thing("DeviceClass", "acme-gpu", "", spec={"selectors": selectors}),
        thing("DeviceTaintRule", "acme-rule", "", spec={
            "deviceSelector": {"driver": "gpu.acme.example", "pool": "acme-rack", "device": "gpu-0"}, "taint": taint,
        }),
        thing("ResourceClaimTemplate", "one", spec={"spec": spec}),
    )))  # fmt: skip


def test_devices_are_selected_as_before_by_words_of_nobody() -> None:
    """An expression reads drivers and attributes by their names and values, so that these stay, and no others do."""
    captured = make_neutral_fleet()
    objects = {one["kind"]: one for one in captured.objects}
    template, spec = objects["ResourceClaimTemplate"]["spec"]["spec"]["devices"], objects["ResourceSlice"]["spec"]
    (request,), (device,), (devices,) = template["requests"], spec["devices"], captured.workloads[0].devices
    (placed,) = devices or ()

    assert request["exactly"]["deviceClassName"] == objects["DeviceClass"]["metadata"]["name"]
    assert template["constraints"] == [{"requests": [request["name"]], "matchAttribute": "gpu.acme.example/numa"}]
    assert placed.request == request["name"]
    assert (placed.driver, placed.pool, placed.device) == (spec["driver"], spec["pool"]["name"], device["name"])
    assert placed.claim == captured.workloads[0].spec["resourceClaims"][0]["name"]
    assert spec["nodeName"] in captured.nodes.values()
    assert [*device["attributes"]] == ["model", "numa"]
    rule = objects["DeviceTaintRule"]["spec"]
    assert (rule["deviceSelector"]["pool"], rule["deviceSelector"]["driver"]) == (spec["pool"]["name"], spec["driver"])
    assert rule["taint"] == device["taints"][0]
    left = yaml.safe_dump([*map(dict, captured.objects)]).replace("gpu.acme.example", "")
    assert "acme" not in left


def test_classes_of_described_devices_are_renamed_with_their_partitions() -> None:
    """Claims name them; a class that is called by its model says nothing of anybody."""
    own = Devices(model="H100", count=1, memory="80Gi", partitions="mig", name="acme")
    asked = {"devices": {"requests": [{"name": "g", "exactly": {"deviceClassName": "acme-mig"}}]}}
    template = thing("ResourceClaimTemplate", "part", spec={"spec": asked})

    captured = make_neutral(capture(found(*fleet(own), template)))

    (devices,) = captured.pools[0].devices
    (request,) = captured.objects[0]["spec"]["spec"]["devices"]["requests"]
    assert "acme" not in devices.name
    assert request["exactly"]["deviceClassName"] == f"{devices.name}-mig"
