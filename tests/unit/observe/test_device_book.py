"""Devices of nodes, and what pods hold of them or ask for, counted by class."""

from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from stowage_testbed.amounts.resources import NOTHING, Resources
from stowage_testbed.cluster.devices import Devices, DeviceTaint, Shares, make_classes, make_pool
from stowage_testbed.observe.change import Change, Receipt, Verb
from stowage_testbed.observe.device_book import DeviceBook
from stowage_testbed.observe.pod import Pod, read_pod

DRIVER = "gpu.stowage.dev"
WHOLE = Devices(model="T4", count=2, memory="16Gi", resource="nvidia.com/gpu")
MIG = Devices(model="H100", count=2, memory="80Gi", partitions="mig", shares=True)
SHARED = Devices(model="A100", count=2, memory="80Gi", shares=Shares(default="10Gi", min="10Gi", step="10Gi"))


def change(kind: str, body: Mapping[str, Any], verb: Verb = Verb.ADDED) -> Change:
    """Return a change of an object, whose name is its UID unless it has one."""
    metadata = {"uid": body["metadata"]["name"], **body["metadata"]}
    return Change(kind, verb, Receipt(0, 0), {**body, "metadata": metadata})


def fleet(*sets: Devices, node: str = "node-0") -> Iterable[Change]:
    """Return what a node's devices come to."""
    yield from (change("DeviceClass", one) for one in make_classes(sets))
    yield from (change("ResourceSlice", one) for one in make_pool(node, sets))


def book_of(*changes: Change) -> DeviceBook:
    """Return what counts after some changes."""
    book = DeviceBook()
    for one in changes:
        book.take(one)
    return book


def allocated(*devices: str | tuple[str, str], node: str = "node-0", **further: Any) -> dict[str, Any]:
    """Return an allocation of devices of a node, or shares of them with their memory."""
    results = []
    for one in devices:
        name, memory = (one, "") if isinstance(one, str) else one
        result = {"request": "gpu", "driver": DRIVER, "pool": node, "device": name, **further}
        results.append({**result, **({"consumedCapacity": {"memory": memory}} if memory else {})})
    return {"allocation": {"devices": {"results": results}}}


def claim(name: str, *users: str, status: Mapping[str, Any] | None = None, **asked: Any) -> Change:
    """Return a claim in the namespace ns that requests something, and has something allocated for pods."""
    reserved = [{"resource": "pods", "name": one, "uid": one} for one in users]
    body = {
        "metadata": {"name": name, "namespace": "ns"},
        "spec": {"devices": {"requests": [{"name": "gpu", **asked}]}},
        "status": {**(status or {}), **({"reservedFor": reserved} if users else {})},
    }
    return change("ResourceClaim", body)


def pod(*claims: str, requests: Mapping[str, str] | None = None, node: str = "", **status: Any) -> Pod:
    """Return a pod with claims."""
    spec: dict[str, Any] = {"containers": [{"name": "c", "resources": {"requests": dict(requests or {})}}]}
    spec["resourceClaims"] = [{"name": one, "resourceClaimName": one} for one in claims]
    metadata = {"name": "p", "uid": "p", "namespace": "ns"}
    return read_pod({"metadata": metadata, "spec": {**spec, "nodeName": node}, "status": status})


def devices(resources: Resources) -> dict[str, int]:
    """Return the amounts of devices alone."""
    return {name: amount for name, amount in resources.items() if name.startswith("devices/")}


@pytest.mark.parametrize(
    ("sets", "room"),
    [
        ([WHOLE], {"devices/t4": 2000}),
        # Partitions are of the same devices as the wholes.
        ([MIG], {"devices/h100": 2000}),
        ([WHOLE, SHARED], {"devices/a100": 2000, "devices/t4": 2000}),
        # As with nodes: a taint says who may use it, not whether it is there.
        ([Devices(model="T4", count=1, taints=(DeviceTaint(key="a", effect="NoSchedule"),))], {"devices/t4": 1000}),
    ],
    ids=["whole", "partitions", "two-kinds", "tainted"],
)
def test_a_node_has_a_thousand_of_a_class_for_each_device(sets: list[Devices], room: dict[str, int]) -> None:
    """Utilisation is the share of devices that pods hold, not of the partitions that they could be divided into."""
    book = book_of(*fleet(*sets))

    assert (devices(book.room("node-0")), book.room("other")) == (room, NOTHING)


@pytest.mark.parametrize(
    ("of", "status", "held"),
    [
        (WHOLE, allocated("gpu-0", "gpu-1"), {"devices/t4": 2000}),
        (SHARED, allocated(("gpu-0", "30Gi")), {"devices/a100": 375}),
        (SHARED, allocated(("gpu-0", "30Gi"), ("gpu-1", "50Gi")), {"devices/a100": 1000}),
        (MIG, allocated("gpu-0-mig-1g10gb-6"), {"devices/h100": 125}),
        (MIG, allocated("gpu-0-mig-3g40gb-4", "gpu-1-mig-2g20gb-0"), {"devices/h100": 750}),
        (MIG, allocated(("gpu-1", "20Gi")), {"devices/h100": 250}),
        # To look takes nothing from anybody.
        (WHOLE, allocated("gpu-0", adminAccess=True), {}),
        # One that has vanished is in no slice, and not in the room either.
        (WHOLE, allocated("gpu-7"), {}),
        (WHOLE, allocated("gpu-0", node="gone"), {}),
    ],
)
def test_a_pod_holds_as_much_of_a_class_as_its_claims_take_of_devices(
    of: Devices, status: dict[str, Any], held: dict[str, int]
) -> None:
    """A share counts by its memory, a partition by what it consumes of the counters."""
    book = book_of(*fleet(of), claim("c", "p", status=status, exactly={"deviceClassName": of.class_name}))

    assert devices(book.requests_of(pod("c", node="node-0"))) == held


def test_a_claim_of_several_pods_counts_for_the_first() -> None:
    """They use the same device; counted for each, the node would have more than it has."""
    book = book_of(*fleet(WHOLE), claim("c", "p", "q", status=allocated("gpu-0")))

    assert (book.held("p"), book.held("q")) == (Resources({"devices/t4": 1000}), NOTHING)


@pytest.mark.parametrize(
    ("of", "asked", "takes"),
    [
        (WHOLE, {"exactly": {"deviceClassName": "t4"}}, {"devices/t4": 1000}),
        (WHOLE, {"exactly": {"deviceClassName": "t4", "count": 3}}, {"devices/t4": 3000}),
        (WHOLE, {"exactly": {"deviceClassName": "t4", "allocationMode": "All"}}, {"devices/t4": 2000}),
        (MIG, {"exactly": {"deviceClassName": "h100-mig", "allocationMode": "All"}}, {"devices/h100": 2000}),
        (WHOLE, {"exactly": {"deviceClassName": "t4", "adminAccess": True}}, {}),
        (WHOLE, {"exactly": {"deviceClassName": "none"}}, {}),
        # As the scheduler rounds: up to the next step, and to the default where nothing is named.
        (
            SHARED,
            {"exactly": {"deviceClassName": "a100", "capacity": {"requests": {"memory": "25Gi"}}}},
            {"devices/a100": 375},
        ),
        (
            SHARED,
            {"exactly": {"deviceClassName": "a100", "capacity": {"requests": {"memory": "1Gi"}}}},
            {"devices/a100": 125},
        ),
        (SHARED, {"exactly": {"deviceClassName": "a100"}}, {"devices/a100": 125}),
        (
            MIG,
            {
                "exactly": {
                    "deviceClassName": "h100-mig",
                    "selectors": [{"cel": {"expression": f'device.attributes["{DRIVER}"].profile == "2g.20gb"'}}],
                }
            },
            {"devices/h100": 250},
        ),
        # What is asked for first.
        (
            MIG,
            {
                "firstAvailable": [
                    {"name": "a", "deviceClassName": "h100"},
                    {"name": "b", "deviceClassName": "h100-mig"},
                ]
            },
            {"devices/h100": 1000},
        ),
    ],
)
def test_a_pod_that_waits_asks_for_what_the_first_device_would_take(
    of: Devices, asked: dict[str, Any], takes: dict[str, int]
) -> None:
    """Which device it will be nobody knows yet; those of one class are mostly alike."""
    book = book_of(*fleet(of), claim("c", **asked))

    assert devices(book.requests_of(pod("c"))) == takes


def test_an_extended_resource_is_devices_where_a_class_serves_it() -> None:
    """The node of such a pod lists no such resource, and would seem overcommitted."""
    book = book_of(*fleet(WHOLE), claim("made", "p", status=allocated("gpu-1")))
    mappings = [{"containerName": "c", "resourceName": "nvidia.com/gpu", "requestName": "r"}]
    status = {"extendedResourceClaimStatus": {"resourceClaimName": "made", "requestMappings": mappings}}
    requests = {"nvidia.com/gpu": "2", "cpu": "1"}
    asked = Resources({"cpu": 1000, "pods": 1, "devices/t4": 2000})

    assert DeviceBook().requests_of(pod(requests=requests))["nvidia.com/gpu"] == 2
    assert book_of(*fleet(WHOLE)).requests_of(pod(requests=requests)) == asked
    # Where nodes list it, it may be a device plugin's.
    assert book_of(*fleet(WHOLE)).requests_of(pod(requests=requests), {"nvidia.com/gpu"})["nvidia.com/gpu"] == 2
    assert book_of(*fleet(WHOLE)).requests_of(
        pod(requests={"deviceclass.resource.kubernetes.io/t4": "1"})
    ) == Resources({"pods": 1, "devices/t4": 1000})
    one = {**requests, "nvidia.com/gpu": "1"}
    assert book.requests_of(pod(requests=one, node="node-0", **status)) == Resources(
        {"cpu": 1000, "pods": 1, "devices/t4": 1000}
    )


def test_an_extended_resource_is_devices_of_the_latest_class_that_serves_it() -> None:
    """As the scheduler has it, so that one class may follow another; of two of one moment it is the first by name."""
    other = Devices(model="L4", count=1)
    slices = [one for one in [*fleet(WHOLE), *fleet(other, node="node-1")] if one.kind == "ResourceSlice"]

    def served_by(**created: str) -> dict[str, int]:
        classes = [
            {
                **one,
                "metadata": {**one["metadata"], "creationTimestamp": created[one["metadata"]["name"]]},
                "spec": {**one["spec"], "extendedResourceName": "nvidia.com/gpu"},
            }
            for one in make_classes([WHOLE, other])
        ]
        found = [
            book_of(*slices, *(change("DeviceClass", one) for one in order)).requests_of(
                pod(requests={"nvidia.com/gpu": "1"})
            )
            for order in (classes, classes[::-1])
        ]
        assert found[0] == found[1]
        return devices(found[0])

    assert served_by(t4="2026-01-02T00:00:00Z", l4="2026-01-01T00:00:00Z") == {"devices/t4": 1000}
    assert served_by(t4="2026-01-01T00:00:00Z", l4="2026-01-02T00:00:00Z") == {"devices/l4": 1000}
    assert served_by(t4="2026-01-01T00:00:00Z", l4="2026-01-01T00:00:00Z") == {"devices/l4": 1000}


def test_what_changes_is_counted_anew() -> None:
    """A GPU vanishes in a new generation of its pool, another node comes, a claim is deallocated."""
    slices = list(fleet(WHOLE, WHOLE))
    book = book_of(*slices, claim("c", "p", status=allocated("gpu-0", "gpu-3")))
    assert (book.room("node-0")["devices/t4"], book.held("p")["devices/t4"]) == (4000, 2000)

    for one in (each for each in slices if each.kind == "ResourceSlice"):
        spec = one.body["spec"]
        left = [each for each in spec["devices"] if each["name"] != "gpu-3"]
        new = {**spec, "pool": {**spec["pool"], "generation": 2}, "devices": left}
        book.take(Change(one.kind, Verb.MODIFIED, one.receipt, {**one.body, "spec": new}))
    for one in fleet(WHOLE, node="node-1"):
        book.take(one)
    rooms = [book.room(name)["devices/t4"] for name in ("node-0", "node-1")]
    assert (rooms, book.held("p")["devices/t4"]) == ([3000, 2000], 1000)

    book.take(claim("c"))
    assert book.held("p") == NOTHING
    for one in slices:
        book.take(Change(one.kind, Verb.DELETED, one.receipt, one.body))
    assert not book
    assert book.room("node-1") == NOTHING


def test_classes_of_the_same_devices_are_one_column() -> None:
    """Each GPU would else be counted once more with every class that somebody writes for it."""
    every = {"metadata": {"name": "any-gpu"}, "spec": {"selectors": [{"cel": {"expression": "true"}}]}}
    nodes = [*fleet(WHOLE), *fleet(SHARED, node="node-1")]
    t4 = change("DeviceClass", {**every, "metadata": {"name": "any"}})

    assert devices(book_of(*fleet(WHOLE), change("DeviceClass", every)).room("node-0")) == {"devices/t4": 2000}
    # On other nodes it has others, too.
    room = book_of(*nodes, t4, change("DeviceClass", every)).room("node-0")
    assert devices(room) == {"devices/any": 2000, "devices/t4": 2000}


def test_nodes_and_pods_of_a_record_are_counted_by_the_same_classes() -> None:
    """Where a node with other devices has gone, two classes seem one, and pods would hold what no node has."""
    every = change("DeviceClass", {"metadata": {"name": "a"}, "spec": {"selectors": [{"cel": {"expression": "true"}}]}})
    other = list(fleet(Devices(model="L4", count=1), node="node-1"))
    changes = [*fleet(WHOLE), *other, every, claim("c", "p", status=allocated("gpu-0"))]
    changes += [Change(one.kind, Verb.DELETED, one.receipt, one.body) for one in other if one.kind == "ResourceSlice"]

    book = DeviceBook.of_all(changes)

    assert book.held("p") == Resources({"devices/a": 1000, "devices/t4": 1000})
    assert book.room("node-0") == Resources({"devices/a": 2000, "devices/t4": 2000})
    assert book.room("node-1") == NOTHING


def test_a_class_that_cannot_be_evaluated_is_left_out() -> None:
    """A wrong number is worse than none; claims of other classes of the device count."""
    optional = {"selectors": [{"cel": {"expression": 'device.attributes["a"].?b.orValue(true)'}}]}
    odd = change("DeviceClass", {"metadata": {"name": "o"}, "spec": optional})

    assert devices(book_of(*fleet(WHOLE), odd).room("node-0")) == {"devices/t4": 2000}
    assert not book_of(*list(fleet(WHOLE))[1:], odd)


def test_devices_that_any_node_may_use_are_not_counted() -> None:
    """They are no part of what a node has, so that what pods hold of them is none of it either."""
    shared = [
        Change(one.kind, one.verb, one.receipt, {**one.body, "spec": {**one.body["spec"], "nodeName": ""}})
        if one.kind == "ResourceSlice"
        else one
        for one in fleet(WHOLE)
    ]
    book = book_of(*shared, claim("c", "p", status=allocated("gpu-0")))

    assert (bool(book), book.held("p")) == (False, NOTHING)


def test_what_is_gone_is_remembered_with_what_it_held() -> None:
    """The record of a window has pods that are done, whose claims were deallocated."""
    changes = [*fleet(WHOLE), claim("c"), claim("c", "p", status=allocated("gpu-0")), claim("c")]
    changes += [Change(one.kind, Verb.DELETED, one.receipt, one.body) for one in changes]

    assert DeviceBook.of_all(changes).held("p") == Resources({"devices/t4": 1000})
    assert DeviceBook.of_all(changes).room("node-0") == NOTHING
    assert book_of(*changes).held("p") == NOTHING
