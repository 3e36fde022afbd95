"""The devices of nodes, and what pods hold of them or ask for, as amounts beside all others.

Of a device class that is called h100, ``devices/h100`` counts devices in thousandths: a node has 1000 for each device,
and a share or a partition is as much as it takes of one. Classes of the same devices count once, by the shortest name.
Devices that are on no node of their own are not counted.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from fractions import Fraction
from typing import NamedTuple

import msgspec

from stowage_testbed.amounts.resources import DEVICE, DEVICES, NOTHING, Resources, add_up
from stowage_testbed.observe.change import Change, JsonObject, Verb
from stowage_testbed.observe.device_claims import IMPLICIT_DOMAIN, AllocatedDevice, Claim, DeviceClass, DeviceRequest
from stowage_testbed.observe.device_pool import WHOLE, Pool, Slice, read_slice
from stowage_testbed.observe.pod import Pod
from stowage_testbed.observe.raw_body import decode
from stowage_testbed.observe.source import DEVICE_CLASSES, DEVICE_SOURCES, RESOURCE_CLAIMS, RESOURCE_SLICES

_KINDS = frozenset(source.kind for source in DEVICE_SOURCES)


class _Counted(NamedTuple):
    """The devices of nodes by class, in the amounts of the module's head."""

    classes: tuple[str, ...]
    """One class of each set of devices."""
    rooms: Mapping[str, Resources]
    """What each node has."""
    serving: Mapping[str, str]
    """The class that serves an extended resource."""
    tainted: Mapping[str, int]
    """How many devices of a node have a taint, or a partition that has one."""


_Part = tuple[Pool, str, Fraction]  # Of a bin of a pool


class DeviceBook:
    """Slices, classes and claims as last seen; they are read when somebody asks."""

    def __init__(self) -> None:
        self._unread: dict[str, tuple[str, JsonObject | None]] = {}
        self._slices: dict[str, Slice] = {}
        self._slices_of: defaultdict[tuple[str, str], dict[str, Slice]] = defaultdict(dict)
        self._classes: dict[str, DeviceClass] = {}
        self._claims: dict[str, Claim] = {}
        self._pools: dict[tuple[str, str], Pool] = {}
        self._stale: set[tuple[str, str]] = set()
        self._gone: set[str] = set()
        self._counted: _Counted | None = None
        self._of_user: defaultdict[str, set[str]] = defaultdict(set)
        self._by_name: dict[tuple[str, str], str] = {}
        self._expected: dict[bytes, Resources] = {}

    @classmethod
    def of_all(cls, changes: Iterable[Change]) -> DeviceBook:
        """Return what nodes have after all changes, with every claim's last allocation, also of what is gone."""
        book, allocated = cls(), set[str]()
        for change in changes:
            if change.verb is Verb.DELETED:
                if change.kind == RESOURCE_SLICES.kind:
                    book._gone.add(change.uid)
                continue
            if change.kind == RESOURCE_CLAIMS.kind:
                if decode(change.body, Claim).user:
                    allocated.add(change.uid)
                elif change.uid in allocated:
                    continue
            book.take(change)
        return book

    def take(self, change: Change) -> None:
        """Take in one change; of other kinds than those of devices there is nothing to do."""
        if change.kind in _KINDS:
            self._unread[change.uid] = change.kind, None if change.verb is Verb.DELETED else change.body

    def __bool__(self) -> bool:
        """Return whether there are devices that are counted."""
        return bool(self._count().classes)

    def room(self, node: str) -> Resources:
        """Return the devices that a node has: those that its slices list, whatever their taints."""
        return self._count().rooms.get(node, NOTHING)

    def count_tainted(self, node: str) -> int:
        """Return how many devices of a node have a taint, or a partition that has one."""
        return self._count().tainted.get(node, 0)

    def keep_only(self, kind: str, uids: Collection[str]) -> None:
        """Take that all other objects of a kind are gone."""
        self._count()
        known = {
            RESOURCE_SLICES.kind: self._slices.keys(),
            DEVICE_CLASSES.kind: self._classes.keys(),
            RESOURCE_CLAIMS.kind: self._claims.keys(),
        }
        self._unread |= dict.fromkeys(known[kind] - set(uids), (kind, None))

    def requests_of(self, pod: Pod, listed: Collection[str] = ()) -> Resources:
        """Return what a pod requests, with the devices that it holds, or requests as long as it has no node.

        An extended resource that a class serves is devices, unless it is ``listed``, as some node has it.
        """
        counted = self._count()
        if not counted.classes:
            return pod.requests
        served = {} if pod.bound else {name: counted.serving[name] for name in pod.requests if name in counted.serving}
        served = {name: of for name, of in served.items() if name not in listed}
        expected = [self._expect(DeviceRequest(of, count=pod.requests[name])) for name, of in served.items()]
        for name in () if pod.bound else pod.claims:
            claim = self._claims.get(self._by_name.get((pod.namespace, name), ""))
            if claim and not claim.status.allocation:
                expected += [self._expect(one) for one in claim.requests()]
        return add_up((pod.requests.without(*served), self.held(pod.uid), *expected))

    def held(self, uid: str) -> Resources:
        """Return what a pod holds of the devices that are there; one that has vanished is counted no longer."""
        self._count()
        parts: list[_Part] = []
        for result in self.allocated(uid):
            pool = self._pools.get((result.driver, result.pool))
            if pool and (device := pool.devices.get(result.device)):
                part = device.part(result.consumed_capacity)
                parts += [(pool, name, of_bin * part) for name, of_bin in device.bins]
        return self._add_up(parts)

    def allocated(self, uid: str) -> list[AllocatedDevice]:
        """Return what is allocated to the claims that count for a pod, also devices that have vanished."""
        self._count()
        return [one for claim in self._of_user.get(uid, ()) for one in self._claims[claim].allocated()]

    def _expect(self, request: DeviceRequest) -> Resources:
        """Return what a request takes of the first devices that it selects; nothing if there are none."""
        key = msgspec.json.encode(request)
        if key not in self._expected:
            self._expected[key] = self._add_up(self._find_parts(request))
        return self._expected[key]

    def _find_parts(self, request: DeviceRequest) -> list[_Part]:
        found = [
            (pool, device)
            for _, pool in sorted(self._pools.items(), key=lambda item: item[0])
            for device in pool.devices.values()
            if request.device_class_name in device.classes and device.node and device.selected(request.expressions)
        ]
        if not found or request.admin_access:
            return []
        pool, first = found[0]
        if request.allocation_mode != "All":
            part = first.part_requested(request.capacity.requests) * request.count
            return [(pool, name, of_bin * part) for name, of_bin in first.bins]
        # Partitions of one device are all that it is, but no more.
        every: defaultdict[tuple[str, Pool], Fraction] = defaultdict(Fraction)
        for pool, device in found:
            for name, of_bin in device.bins if device.node == first.node else ():
                every[name, pool] += of_bin * device.part_requested(request.capacity.requests)
        return [(pool, name, min(WHOLE, part)) for (name, pool), part in every.items()]

    def _add_up(self, parts: Iterable[_Part]) -> Resources:
        totals: defaultdict[str, Fraction] = defaultdict(Fraction)
        for pool, name, part in parts:
            for of in self._count().classes:
                if name in pool.bins_of.get(of, ()):
                    totals[DEVICES + of] += part
        return Resources({of: int(DEVICE * total) for of, total in totals.items()})

    def _count(self) -> _Counted:
        """Return what is counted now, after everything that has come is read."""
        if self._unread:
            self._read()
        if self._counted is None:
            self._counted = self._count_anew()
        return self._counted

    def _read(self) -> None:
        unread, self._unread = self._unread, {}
        for uid, (kind, body) in unread.items():
            match kind:
                case RESOURCE_CLAIMS.kind:
                    self._read_claim(uid, decode(body, Claim) if body else None)
                case DEVICE_CLASSES.kind:
                    self._classes.pop(uid, None)
                    if body:
                        self._classes[uid] = decode(body, DeviceClass)
                    self._stale.update(self._slices_of)
                    self._counted = None
                case RESOURCE_SLICES.kind:
                    self._read_slice(uid, read_slice(body) if body else None)

    def _read_claim(self, uid: str, claim: Claim | None) -> None:
        if former := self._claims.pop(uid, None):
            self._of_user[former.user].discard(uid)
            self._by_name.pop(former.metadata.key, None)
        if claim:
            self._claims[uid] = claim
            self._by_name[claim.metadata.key] = uid
            if claim.user:
                self._of_user[claim.user].add(uid)

    def _read_slice(self, uid: str, slice_: Slice | None) -> None:
        if former := self._slices.pop(uid, None):
            del self._slices_of[former.key][uid]
            self._stale.add(former.key)
        if slice_:
            self._slices[uid] = slice_
            self._slices_of[slice_.key][uid] = slice_
            self._stale.add(slice_.key)
        self._counted = None

    def _count_anew(self) -> _Counted:
        classes = {one.metadata.name: one.expressions for one in self._classes.values()}
        for key in self._stale:
            self._pools[key] = Pool(self._slices_of[key].values(), classes)
        self._stale.clear()
        self._expected.clear()
        counted = _choose_classes(self._pools.values())
        rooms: defaultdict[str, Counter[str]] = defaultdict(Counter)
        present = dict(self._pools)
        for key, slices in self._slices_of.items():
            if not self._gone.isdisjoint(slices):
                present[key] = Pool((one for uid, one in slices.items() if uid not in self._gone), classes)
        for pool in present.values():
            for of in counted:
                for name in pool.bins_of.get(of, ()):
                    rooms[pool.node_of[name]][DEVICES + of] += DEVICE
        tainted = Counter(pool.node_of[name] for pool in present.values() for name in pool.tainted)
        serving = _find_serving(self._classes.values())
        return _Counted(counted, {node: Resources(room) for node, room in rooms.items()}, serving, tainted)


def _find_serving(classes: Collection[DeviceClass]) -> dict[str, str]:
    """Return the class that serves each extended resource: of several the latest, then the first by name."""
    serving = {f"{IMPLICIT_DOMAIN}/{one.metadata.name}": one.metadata.name for one in classes}
    latest_last = sorted(sorted(classes, key=lambda one: one.metadata.name, reverse=True), key=lambda one: one.created)
    return serving | {one.spec.extended_resource_name: one.metadata.name for one in latest_last}


def _choose_classes(pools: Iterable[Pool]) -> tuple[str, ...]:
    """Return one class of each that are of the same devices everywhere."""
    # Equal nodes have equal ones.
    patterns = tuple({frozenset(pool.bins_of.items()) for pool in pools})
    by_devices: defaultdict[tuple[frozenset[str], ...], list[str]] = defaultdict(list)
    for name in {name for pattern in patterns for name, _ in pattern}:
        by_devices[tuple(dict(pattern).get(name, frozenset()) for pattern in patterns)].append(name)
    return tuple(sorted(min(names, key=lambda name: (len(name), name)) for names in by_devices.values()))
