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
from stowage_testbed.observe.device_claims import IMPLICIT_DOMAIN, Asked, Claim, DeviceClass
from stowage_testbed.observe.device_pool import WHOLE, Pool, Slice, read_slice
from stowage_testbed.observe.pod import Pod
from stowage_testbed.observe.raw_body import decode
from stowage_testbed.observe.source import DEVICE_CLASSES, OF_DEVICES, RESOURCE_CLAIMS, RESOURCE_SLICES

KINDS = frozenset(source.kind for source in OF_DEVICES)


class _Counted(NamedTuple):
    """What is counted of all that is there."""

    classes: tuple[str, ...]
    rooms: Mapping[str, Resources]
    """What each node has."""
    serving: Mapping[str, str]
    """The class that serves an extended resource."""


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
        self._counted: _Counted | None = None
        self._of_user: defaultdict[str, set[str]] = defaultdict(set)
        self._by_name: dict[tuple[str, str], str] = {}
        self._asked: dict[bytes, Resources] = {}

    @classmethod
    def of_all(cls, changes: Iterable[Change]) -> DeviceBook:
        """Return all that has been there, also what is gone; of a claim what it was given last."""
        book, given = cls(), set[str]()
        for change in changes:
            if change.verb is Verb.DELETED:
                continue
            if change.kind == RESOURCE_CLAIMS.kind:
                if decode(change.body, Claim).user:
                    given.add(change.uid)
                elif change.uid in given:
                    continue
            book.take(change)
        return book

    def take(self, change: Change) -> None:
        """Take in one change; of other kinds than those of devices there is nothing to do."""
        if change.kind in KINDS:
            self._unread[change.uid] = change.kind, None if change.verb is Verb.DELETED else change.body

    def __bool__(self) -> bool:
        """Return whether there are devices that are counted."""
        return bool(self._count().classes)

    def room(self, node: str) -> Resources:
        """Return the devices that a node has: those that its slices list, whatever their taints."""
        return self._count().rooms.get(node, NOTHING)

    def takes(self, pod: Pod, listed: Collection[str] = ()) -> Resources:
        """Return what a pod requests, with the devices that it holds, or asks for as long as it has no node.

        An extended resource that a class serves is devices, unless it is ``listed``, as some node has it.
        """
        counted = self._count()
        if not counted.classes:
            return pod.requests
        served = {} if pod.bound else {name: counted.serving[name] for name in pod.requests if name in counted.serving}
        served = {name: of for name, of in served.items() if name not in listed}
        asked = [self._ask_for(Asked(of, count=pod.requests[name])) for name, of in served.items()]
        for name in () if pod.bound else pod.claims:
            claim = self._claims.get(self._by_name.get((pod.namespace, name), ""))
            if claim and not claim.status.allocation:
                asked += [self._ask_for(one) for one in claim.asked()]
        return add_up((pod.requests.without(*served), self.held(pod.uid), *asked))

    def held(self, uid: str) -> Resources:
        """Return what a pod holds of the devices that are there; one that has vanished is counted no longer."""
        self._count()
        parts: list[_Part] = []
        for result in (one for claim in self._of_user.get(uid, ()) for one in self._claims[claim].results()):
            pool = self._pools.get((result.driver, result.pool))
            if pool and (device := pool.devices.get(result.device)):
                part = device.part(result.consumed_capacity)
                parts += [(pool, name, of_bin * part) for name, of_bin in device.bins]
        return self._add_up(parts)

    def _ask_for(self, asked: Asked) -> Resources:
        """Return what a request takes if it is given the first devices that it selects; nothing if there are none."""
        key = msgspec.json.encode(asked)
        if key not in self._asked:
            self._asked[key] = self._add_up(self._find_parts(asked))
        return self._asked[key]

    def _find_parts(self, asked: Asked) -> list[_Part]:
        found = [
            (pool, device)
            for _, pool in sorted(self._pools.items(), key=lambda item: item[0])
            for device in pool.devices.values()
            if asked.device_class_name in device.classes and device.node and device.selected(asked.expressions)
        ]
        if not found or asked.admin_access:
            return []
        pool, first = found[0]
        if asked.allocation_mode != "All":
            part = first.part_asked(asked.capacity.requests) * asked.count
            return [(pool, name, of_bin * part) for name, of_bin in first.bins]
        # Partitions of one device are all that it is, but no more.
        every: defaultdict[tuple[str, Pool], Fraction] = defaultdict(Fraction)
        for pool, device in found:
            for name, of_bin in device.bins if device.node == first.node else ():
                every[name, pool] += of_bin * device.part_asked(asked.capacity.requests)
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
            self._counted = self._look()
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

    def _look(self) -> _Counted:
        classes = {one.metadata.name: one.expressions for one in self._classes.values()}
        for key in self._stale:
            self._pools[key] = Pool(self._slices_of[key].values(), classes)
        self._stale.clear()
        self._asked.clear()
        counted = _choose_classes(self._pools.values())
        rooms: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for pool in self._pools.values():
            for of in counted:
                for name in pool.bins_of.get(of, ()):
                    rooms[pool.node_of[name]][DEVICES + of] += DEVICE
        serving = {f"{IMPLICIT_DOMAIN}/{name}": name for name in classes}
        serving |= {one.spec.extended_resource_name: one.metadata.name for one in self._classes.values()}
        return _Counted(counted, {node: Resources(room) for node, room in rooms.items()}, serving)


def _choose_classes(pools: Iterable[Pool]) -> tuple[str, ...]:
    """Return one class of each that are of the same devices everywhere."""
    # Equal nodes have equal ones.
    patterns = tuple({frozenset(pool.bins_of.items()) for pool in pools})
    by_devices: defaultdict[tuple[frozenset[str], ...], list[str]] = defaultdict(list)
    for name in {name for pattern in patterns for name, _ in pattern}:
        by_devices[tuple(dict(pattern).get(name, frozenset()) for pattern in patterns)].append(name)
    return tuple(sorted(min(names, key=lambda name: (len(name), name)) for names in by_devices.values()))
