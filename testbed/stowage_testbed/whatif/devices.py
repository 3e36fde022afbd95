"""Devices of a cluster by class, and what of devices no plan can give a pod, in plain words."""

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.amounts.resources import DEVICE, DEVICES, QuantityError, names_of, resources_of
from stowage_testbed.metrics.free_room import FreeRoom
from stowage_testbed.observe.change import Change, Receipt, Verb
from stowage_testbed.observe.device_book import DeviceBook
from stowage_testbed.observe.pod import read_pod
from stowage_testbed.whatif.findings import Room
from stowage_testbed.whatif.inventory import FURTHER, Inventory, uid_of

NEEDS: Mapping[str, str] = {
    "resource-claims": "devices that it claims",
    "device-claim-by-name": "the devices of claim {}, which other pods may use too",
    "device-claim-allocated": "the devices that are allocated to its claims already",
    "device-template-missing": "ResourceClaimTemplate {}, which does not exist",
    "device-allocation-mode-all": "all devices of class {} on a node",
    "device-first-available": "the first available alternative of request {}",
    "device-admin-access": "administrative access to devices of class {}",
    "device-capacity": "a part of a device of class {}",
    "device-constraints": "devices that match each other",
    "device-derived-attributes": "devices with derived attributes",
    "device-request-unknown": "devices by a request of an unknown kind",
    "device-request-not-read-yet": "devices of class {}, by a request that came while the snapshot was taken",
    "device-unavailable": "the devices that it has, which no other pod could get",
    "device-requests-overlap": "devices of class {}, for which too many different requests compete",
    "device-shared": "devices of class {}, which several claims may share",
    "device-partitioned": "devices of class {}, which are partitions or can be divided into some",
    "device-binding-conditions": "devices of class {}, which must be prepared before it is bound",
    "device-not-node-local": "devices of class {}, which belong to no single node",
    "device-node-resources": "devices of class {}, which also take other resources of a node",
    "device-selector-unreadable": "devices of class {}, whose selector cannot be evaluated",
    "device-too-many": "more devices than a plan can give a pod",
    "device-init-container": "devices for an init container",
    "device-plugin-beside": "devices of class {}, of which a device plugin lists some too",
}
"""By the scheduler's reason, after which a name may follow."""


def needs_in_words(needs: Iterable[str]) -> str:
    """Return what a pod needs that no plan can give; of devices with the scheduler's reason behind it."""

    def words(need: str) -> str:
        reason, _, of = need.partition(" ")
        return f"{NEEDS[reason].format(of)} ({reason})" if reason in NEEDS else need

    return ", ".join(map(words, needs))


def device_rooms(inventory: Inventory, snapshot: pb.Snapshot) -> tuple[Room, ...]:
    """Return the devices of the nodes by class, in thousandths; nothing where what is known of them cannot be counted.

    What the scheduler cannot read itself is among what was left out.
    """
    if FURTHER["ResourceClaim"] in inventory.unread:
        return ()
    try:
        return tuple(_count_rooms(inventory, snapshot))
    except (msgspec.MsgspecError, QuantityError):
        return ()


def _count_rooms(inventory: Inventory, snapshot: pb.Snapshot) -> Iterator[Room]:
    book = DeviceBook()
    for number, one in enumerate(inventory.objects):
        named = {**one, "metadata": {"uid": str(number), **one["metadata"]}}
        book.take(Change(one["kind"], Verb.LISTED, Receipt(0, 0), named))
    if not book:
        return
    sizes = {node.name: resources_of(node.allocatable) for node in snapshot.nodes}
    listed = names_of(sizes.values())
    nodes = {pod.uid: pod.node for pod in snapshot.pods}
    takes = {uid: book.requests_of(read_pod(pod), listed) for pod in inventory.pods if (uid := uid_of(pod)) in nodes}
    there = FreeRoom(
        {name: size + book.room(name) for name, size in sizes.items()},
        ((nodes[uid], taken) for uid, taken in takes.items() if nodes[uid]),
    )
    shapes = {*takes.values()}
    # Of parts, as much may be free on several devices as no pod could take.
    whole = all(amount % DEVICE == 0 for one in shapes for name, amount in one.items() if name.startswith(DEVICES))
    for name in (one for one in there.names if one.startswith(DEVICES)):
        size, free = there.size[name], there.free[name]
        yield Room(
            resource=name,
            capacity=sum(size.tolist()),
            free=sum(free.tolist()),
            stranded=there.count_stranded(shapes, name) if whole else None,
            nodes=int((size > 0).sum()),
            free_nodes=int((free > 0).sum()),
            largest_free=int(free.max(initial=0)),
        )
