"""Devices: none is allocated twice, and its shares and partitions never take more than it has."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import groupby

from stowage_testbed.amounts.resources import amount
from stowage_testbed.invariants.history import History, Violation
from stowage_testbed.observe.change import Change, Verb
from stowage_testbed.observe.device_claims import AllocatedDevice, Claim
from stowage_testbed.observe.device_pool import ListedDevice, Slice, read_slice
from stowage_testbed.observe.raw_body import decode
from stowage_testbed.observe.source import RESOURCE_CLAIMS, RESOURCE_SLICES

RULE = "device-overcommit"

_Key = tuple[str, str, str]  # Driver, pool, and a device or a counter set


def no_device_overcommit(history: History) -> Iterator[Violation]:
    """Yield devices and counters of partitions of which claims are allocated more than there is.

    A claim keeps its devices when they vanish; of the descriptions of a device the last one counts.
    """
    allocations = _Allocations()
    changes = history.of(RESOURCE_SLICES.kind, RESOURCE_CLAIMS.kind)
    # A list shows one moment: a device of one claim may be in the other already.
    for receipt, batch in groupby(changes, lambda one: one.receipt):
        allocated: dict[_Key, None] = {}
        for change in sorted(batch, key=lambda one: one.kind == RESOURCE_CLAIMS.kind):
            if change.kind == RESOURCE_CLAIMS.kind:
                allocated |= dict.fromkeys(allocations.take_claim(change))
            elif change.verb is not Verb.DELETED:
                allocations.take_slice(read_slice(change.body))
        for subject, detail in allocations.find_excess(allocated):
            yield Violation(RULE, subject, detail, receipt.wall_text())


@dataclass(slots=True)
class _Allocations:
    """Devices as last described, and the claims that have them at one moment."""

    devices: dict[_Key, ListedDevice] = field(default_factory=dict)
    totals: dict[_Key, Mapping[str, Decimal]] = field(default_factory=dict)
    """What counter sets have."""
    claims: dict[str, list[AllocatedDevice]] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    holders: dict[_Key, dict[str, list[AllocatedDevice]]] = field(default_factory=lambda: defaultdict(dict))
    """What each claim has of a device."""
    drawing: dict[_Key, set[_Key]] = field(default_factory=lambda: defaultdict(set))
    """The allocated devices that consume of a counter set."""

    def take_slice(self, slice_: Slice) -> None:
        driver, pool = slice_.key
        for one in slice_.spec.shared_counters:
            counters = {name: amount(counter.value) for name, counter in one.counters.items()}
            self.totals[driver, pool, one.name] = counters
        for device in slice_.spec.devices:
            self.devices[driver, pool, device.name] = device

    def take_claim(self, change: Change) -> Iterator[_Key]:
        """Take in a change of a claim, and yield the devices that are allocated to it anew."""
        claim = decode(change.body, Claim)
        former = self.claims.pop(change.uid, [])
        now = [] if change.verb is Verb.DELETED else list(claim.allocated())
        for key in {_key_of(one) for one in former}:
            del self.holders[key][change.uid]
            for counters in () if self.holders[key] else self._counters_of(key):
                self.drawing[counters].discard(key)
        if now:
            self.claims[change.uid], self.names[change.uid] = now, "/".join(claim.metadata.key)
        for one in now:
            key = _key_of(one)
            self.holders[key].setdefault(change.uid, []).append(one)
            for counters in self._counters_of(key):
                self.drawing[counters].add(key)
        if now != former:
            yield from (_key_of(one) for one in now)

    def find_excess(self, devices: Iterable[_Key]) -> Iterator[tuple[str, str]]:
        """Yield what is allocated beyond what there is of some devices and of their counters, each with its holders."""
        counter_sets: dict[_Key, None] = {}
        for key in devices:
            yield from self._find_excess_of_device(key)
            counter_sets |= dict.fromkeys(self._counters_of(key))
        for counters in counter_sets:
            yield from self._find_excess_of_counters(counters)

    def _find_excess_of_device(self, key: _Key) -> Iterator[tuple[str, str]]:
        every = [one for some in self.holders[key].values() for one in some]
        device = self.devices.get(key)
        shared = device.allow_multiple_allocations if device else all(one.share_id for one in every)
        if not shared:
            if len(every) > 1:
                yield _in_words(key), f"it is allocated to {self._name_holders([key])}"
            return
        for name, capacity in device.capacity.items() if device else ():
            taken = sum((amount(one.consumed_capacity.get(name, capacity.value)) for one in every), Decimal())
            if taken > amount(capacity.value):
                detail = f"{name}: {taken.normalize():f} of {capacity.value} allocated to {self._name_holders([key])}"
                yield _in_words(key), detail

    def _find_excess_of_counters(self, counters: _Key) -> Iterator[tuple[str, str]]:
        taken: defaultdict[str, Decimal] = defaultdict(Decimal)
        for key in (each for each in self.drawing[counters] if self.holders[each]):
            for one in self.devices[key].consumes_counters:
                for name, part in one.counters.items() if one.counter_set == counters[2] else ():
                    taken[name] += amount(part.value)
        totals = self.totals.get(counters, {})
        for name in sorted(each for each in taken if each in totals and taken[each] > totals[each]):
            holders = self._name_holders(sorted(self.drawing[counters]))
            yield _in_words(counters), f"{name}: {taken[name]} of {totals[name]} allocated to {holders}"
            return

    def _counters_of(self, key: _Key) -> Iterator[_Key]:
        device = self.devices.get(key)
        for one in device.consumes_counters if device else ():
            yield (*key[:2], one.counter_set)

    def _name_holders(self, devices: Iterable[_Key]) -> str:
        return ", ".join(sorted({self.names[uid] for key in devices for uid in self.holders[key]}))


def _key_of(allocated: AllocatedDevice) -> _Key:
    return allocated.driver, allocated.pool, allocated.device


def _in_words(key: _Key) -> str:
    driver, pool, name = key
    return f"{name} of {driver} in pool {pool}"
