"""Devices of nodes: what is refused, and the classes and slices that they come to."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import TypeAdapter, ValidationError

from stowage_testbed.cluster.devices import Devices, DeviceTaint, Shares, device_names, make_classes, make_pool

BAD = yaml.safe_load(Path(__file__).with_name("devices.yaml").read_text("utf-8"))
H100 = Devices(model="H100", count=8, memory="80Gi", partitions="mig", shares=True)
PLACEMENTS = {  # Starts of each profile on a GPU of 80Gi, as NVIDIA's table of placements has them
    "7g.80gb": [0],
    "4g.40gb": [0],
    "3g.40gb": [0, 4],
    "2g.20gb": [0, 2, 4],
    "1g.20gb": [0, 2, 4, 6],
    "1g.10gb": [0, 1, 2, 3, 4, 5, 6],
}


def devices_of(slices: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the devices of slices in their order."""
    return [one for each in slices for one in each["spec"].get("devices", ())]


def eighths_of(device: dict[str, Any]) -> set[int]:
    """Return the eighths of the memory that a device takes."""
    return {int(name.rpartition("-")[2]) for name in device["consumesCounters"][0]["counters"]}


def legal_sets(parts: list[dict[str, Any]], taken: set[int]) -> Iterator[int]:
    """Yield the compute of every set of partitions that overlap neither each other nor what is taken."""
    yield 0
    for number, one in enumerate(parts):
        if taken.isdisjoint(eighths_of(one)):
            own = int(one["attributes"]["profile"]["string"][0])
            yield from (own + more for more in legal_sets(parts[number + 1 :], taken | eighths_of(one)))


@pytest.mark.parametrize(("written", "words"), BAD.items())
def test_what_the_api_server_would_refuse_is_refused_with_the_field(written: str, words: list[str]) -> None:
    """Its own refusal comes when the nodes are half made, and names a field of a slice that nobody wrote."""
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(Devices).validate_python(yaml.safe_load(written))

    for one in words:
        assert one in str(caught.value)


def test_a_class_has_the_devices_of_one_model_and_its_partitions_are_another() -> None:
    """A claim for a GPU must not be given a part of one."""
    plain = Devices(model="Tesla T4", count=4, memory="16Gi", resource="nvidia.com/gpu")
    other = Devices(model='a "b"', count=1, driver="nic.stowage.dev", name="nic")

    classes = {one["metadata"]["name"]: one["spec"] for one in make_classes([H100, plain, other, H100])}

    assert list(classes) == ["h100", "h100-mig", "tesla-t4", "nic"]
    assert classes["h100"]["selectors"][0]["cel"]["expression"] == (
        'device.driver == "gpu.stowage.dev" && device.attributes["gpu.stowage.dev"].type == "gpu" && '
        'device.attributes["gpu.stowage.dev"].model == "H100"'
    )
    assert '.type == "mig"' in classes["h100-mig"]["selectors"][0]["cel"]["expression"]
    assert r'.model == "a \"b\""' in classes["nic"]["selectors"][0]["cel"]["expression"]
    assert classes["tesla-t4"]["extendedResourceName"] == "nvidia.com/gpu"
    assert [name for name, spec in classes.items() if "extendedResourceName" in spec] == ["tesla-t4"]


def test_devices_of_one_driver_are_a_pool_that_the_node_owns() -> None:
    """The garbage collector takes slices with their node, and the allocator takes devices in their order."""
    sets = (
        Devices(model="T4", count=2, memory="16Gi"),
        Devices(model="ConnectX", count=1, driver="nic.stowage.dev"),
        Devices(model="A100", count=1, memory="40Gi", taints=(DeviceTaint(key="a.io/b", effect="NoSchedule"),)),
    )

    gpus, nic = make_pool("old-0", sets, uid="u1")

    assert gpus["metadata"]["name"] == "old-0-gpu.stowage.dev-00"
    assert gpus["metadata"]["labels"] == {"stowage.dev/node": "old-0"}
    owner = {"apiVersion": "v1", "kind": "Node", "name": "old-0", "uid": "u1", "controller": True}
    assert gpus["metadata"]["ownerReferences"] == nic["metadata"]["ownerReferences"] == [owner]
    assert gpus["spec"]["pool"] == {"name": "old-0", "generation": 1, "resourceSliceCount": 1}
    assert gpus["spec"]["nodeName"] == "old-0"
    first, _, last = gpus["spec"]["devices"]
    kind = {"type": {"string": "gpu"}, "model": {"string": "T4"}, "index": {"int": 0}}
    assert first == {"name": "gpu-0", "attributes": kind, "capacity": {"memory": {"value": "16Gi"}}}
    assert (last["name"], last["taints"]) == ("gpu-2", [{"key": "a.io/b", "effect": "NoSchedule"}])
    assert [one["name"] for one in nic["spec"]["devices"]] == ["nic-0"]
    assert device_names(sets) == {"gpu-0": ("gpu-0",), "gpu-1": ("gpu-1",), "gpu-2": ("gpu-2",), "nic-0": ("nic-0",)}


def test_partitions_are_the_placements_of_mig_and_never_take_more_compute_than_there_is() -> None:
    """Only eighths of the memory are counted, since no set of partitions that fits them needs more than 7 of 7."""
    (slices, counters) = make_pool("node", [Devices(model="H100", count=1, memory="80Gi", partitions="mig")])
    whole, *parts = slices["spec"]["devices"]

    found: dict[str, list[int]] = {}
    for one in parts:
        found.setdefault(one["attributes"]["profile"]["string"], []).append(min(eighths_of(one)))
        assert one["attributes"]["parent"] == {"string": "gpu-0"}
    assert found == PLACEMENTS
    assert eighths_of(whole) == set(range(8))
    assert counters["spec"]["sharedCounters"][0]["counters"].keys() == whole["consumesCounters"][0]["counters"].keys()
    assert parts[1]["name"] == "gpu-0-mig-4g40gb-0"
    assert parts[1]["capacity"] == {"memory": {"value": "40Gi"}}
    assert max(compute for compute in legal_sets(parts, set())) == 7
    h200 = device_names([Devices(model="H200", count=1, memory="141Gi", partitions="mig")])["gpu-0"]
    assert "gpu-0-mig-1g18gb-6" in h200
    assert "gpu-0-mig-3g71gb-4" in h200


@pytest.mark.parametrize("partitions", ["", "mig"])
def test_any_number_of_devices_keeps_to_the_limits_of_slices(partitions: Any) -> None:
    """64 devices in a slice as soon as one is tainted, 8 sets of counters, all slices of a pool of one generation."""
    for count in range(1, 65):
        one = Devices(model="H100", count=count, memory="80Gi", partitions=partitions)
        slices = make_pool("n", [one])

        names = [each["metadata"]["name"] for each in slices]
        assert names == sorted(names)
        assert {each["spec"]["pool"]["resourceSliceCount"] for each in slices} == {len(slices)}
        for each in slices:
            spec = each["spec"]
            assert ("devices" in spec) != ("sharedCounters" in spec)
            assert len(spec.get("devices", ())) <= 64
            assert len(spec.get("sharedCounters", ())) <= 8
        wholes = [each["name"] for each in devices_of(slices) if "parent" not in each["attributes"]]
        assert wholes == [f"gpu-{number}" for number in range(count)]
        place = {device["name"]: n for n, each in enumerate(slices) for device in each["spec"].get("devices", ())}
        assert all(len({place[each] for each in names}) == 1 for names in device_names([one]).values())
        counted = [each["name"] for one in slices for each in one["spec"].get("sharedCounters", ())]
        assert counted == (wholes if partitions else [])


def test_a_taint_of_a_device_is_one_of_its_partitions_too() -> None:
    """A claim for a part of an unhealthy GPU would else be given it; other GPUs stay as they are."""
    taint = DeviceTaint(key="a.io/b", effect="NoExecute", value="c")
    plain, marked = replace(H100, count=4), replace(H100, count=1, taints=(taint,))
    before, after = make_pool("n", [plain, replace(H100, count=1), plain]), make_pool("n", [plain, marked, plain])

    assert [one["metadata"] for one in before] == [one["metadata"] for one in after]
    assert after[-1]["spec"]["sharedCounters"] == before[-1]["spec"]["sharedCounters"]
    tainted = {one["name"] for one in devices_of(after) if "taints" in one}
    assert tainted == set(device_names([plain, marked, plain])["gpu-4"])
    taints = {"taints": [{"key": "a.io/b", "effect": "NoExecute", "value": "c"}]}
    assert devices_of(after) == [{**one, **(taints if one["name"] in tainted else {})} for one in devices_of(before)]


def test_shares_are_given_by_the_rule_of_the_device() -> None:
    """Without a rule a claim takes what it names, and all where it names nothing."""
    rules: dict[Any, dict[str, Any]] = {
        True: {},
        Shares(default="10Gi", min="10Gi", step="10Gi"): {
            "requestPolicy": {"default": "10Gi", "validRange": {"min": "10Gi", "step": "10Gi"}}
        },
        Shares(default="10Gi", values=("10Gi", "40Gi")): {
            "requestPolicy": {"default": "10Gi", "validValues": ["10Gi", "40Gi"]}
        },
    }
    for shares, policy in rules.items():
        (one,) = make_pool("n", [Devices(model="A100", count=1, memory="80Gi", shares=shares)])
        (device,) = one["spec"]["devices"]
        assert device["allowMultipleAllocations"] is True
        assert device["capacity"] == {"memory": {"value": "80Gi", **policy}}
