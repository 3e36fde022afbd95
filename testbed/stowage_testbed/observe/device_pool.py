"""The devices of one pool, as the slices of its latest generation list them, and what a claim takes of a node by them.

What holders of a device share is one bin of its node: the counters of a device that may be partitioned, else the device
itself. A node has one whole of each bin; a device, a partition or a share takes a part of it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import cached_property, lru_cache
from math import ceil
from typing import Any

import msgspec

from stowage_testbed.amounts.resources import amount
from stowage_testbed.observe.change import JsonObject
from stowage_testbed.observe.device_selectors import is_selected, make_view
from stowage_testbed.observe.raw_body import decode

WHOLE = Fraction(1)


class _Amount(msgspec.Struct):
    value: str = "0"


class _Range(msgspec.Struct):
    min: str | None = None
    step: str | None = None


class _Policy(msgspec.Struct, rename="camel"):
    default: str | None = None
    valid_values: list[str] | None = None
    valid_range: _Range | None = None


class _Capacity(msgspec.Struct, rename="camel"):
    value: str = "0"
    request_policy: _Policy | None = None


class _CounterSet(msgspec.Struct):
    name: str = ""
    counters: dict[str, _Amount] = msgspec.field(default_factory=dict)


class _Consumption(msgspec.Struct, rename="camel"):
    counter_set: str = ""
    counters: dict[str, _Amount] = msgspec.field(default_factory=dict)


class ListedDevice(msgspec.Struct, rename="camel"):
    """A device, or one of its partitions, as a slice lists it."""

    name: str
    attributes: dict[str, dict[str, Any]] = msgspec.field(default_factory=dict)
    capacity: dict[str, _Capacity] = msgspec.field(default_factory=dict)
    consumes_counters: list[_Consumption] = msgspec.field(default_factory=list)
    allow_multiple_allocations: bool = False
    node_name: str = ""
    taints: list[dict[str, Any]] = msgspec.field(default_factory=list)


class _PoolName(msgspec.Struct):
    name: str = ""
    generation: int = 0


class _SliceSpec(msgspec.Struct, rename="camel"):
    driver: str = ""
    pool: _PoolName = msgspec.field(default_factory=_PoolName)
    node_name: str = ""
    devices: list[ListedDevice] = msgspec.field(default_factory=list)
    shared_counters: list[_CounterSet] = msgspec.field(default_factory=list)


class Slice(msgspec.Struct):
    """A ResourceSlice, as far as it is read."""

    spec: _SliceSpec

    @property
    def key(self) -> tuple[str, str]:
        """The driver and the name of its pool."""
        return self.spec.driver, self.spec.pool.name


def read_slice(body: JsonObject) -> Slice:
    """Return a ResourceSlice from its JSON."""
    return decode(body, Slice)


class Device:
    """One device of a pool, or one of its partitions."""

    def __init__(self, of: ListedDevice, slice_: _SliceSpec, totals: Mapping[str, _CounterSet]) -> None:
        self.name, self.taints, self.shared = of.name, of.taints, of.allow_multiple_allocations
        self.node = slice_.node_name or of.node_name
        self.bins = _find_bins(of, totals)
        self.classes: frozenset[str] = frozenset()
        self._of, self._driver = of, slice_.driver

    @cached_property
    def view(self) -> Mapping[str, Any]:
        """The device as the expressions of classes and claims read it."""
        capacity = {name: one.value for name, one in self._of.capacity.items()}
        return make_view(self._driver, self._of.attributes, capacity, shared=self.shared)

    def selected(self, expressions: Iterable[str]) -> bool | None:
        """Return whether all expressions select it; None where one cannot be evaluated."""
        answers = {is_selected(self.view, one) for one in expressions}
        return False if False in answers else None if None in answers else True

    def part(self, consumed: Mapping[str, str]) -> Fraction:
        """Return the part of it that an allocation takes: the mean of the parts of its capacities.

        As the amounts of each capacity do, means add up to one whole at most.
        """
        return self._mean(lambda name, one: _read(consumed.get(name, one.value)))

    def part_requested(self, requested: Mapping[str, str]) -> Fraction:
        """Return the part of it that a request would get, which names capacities or does not."""
        return self._mean(lambda name, one: _round_up(one, requested.get(name)))

    def _mean(self, find: Callable[[str, _Capacity], Fraction]) -> Fraction:
        capacity = self._of.capacity if self.shared else {}
        parts = [_divide(find(name, one), one.value) for name, one in capacity.items()]
        return min(WHOLE, sum(parts, Fraction()) / len(parts)) if parts else WHOLE


def _find_bins(of: ListedDevice, totals: Mapping[str, _CounterSet]) -> tuple[tuple[str, Fraction], ...]:
    """Return the bins that a device lies in, with the part of each that the whole device takes."""
    found = []
    for one in of.consumes_counters:
        total = totals.get(one.counter_set)
        # The slash tells it from a device, whose name has none.
        found.append((f"{one.counter_set}/", _mean_of_counters(one, total) if total else WHOLE))
    return tuple(found) or ((of.name, WHOLE),)


def _mean_of_counters(consumed: _Consumption, total: _CounterSet) -> Fraction:
    consumption = {name: one.value for name, one in consumed.counters.items()}
    parts = [_divide(_read(consumption.get(name, "0")), one.value) for name, one in total.counters.items()]
    return sum(parts, Fraction()) / len(parts) if parts else WHOLE


def _round_up(capacity: _Capacity, requested: str | None) -> Fraction:
    """Return how much of a capacity a request gets, as the scheduler rounds it."""
    policy = capacity.request_policy or _Policy()
    if requested is None:
        return _read(policy.default or capacity.value)
    wanted, of = _read(requested), policy.valid_range
    if of and of.min:
        least, step = _read(of.min), _read(of.step or "0")
        return max(least, least + ceil((wanted - least) / step) * step if step else wanted)
    return next((value for value in map(_read, policy.valid_values or ()) if value >= wanted), wanted)


@lru_cache(maxsize=4096)
def _read(quantity: str) -> Fraction:
    return Fraction(amount(quantity))


def _divide(part: Fraction, whole: str) -> Fraction:
    total = _read(whole)
    return part / total if total else Fraction()


class Pool:
    """The devices of a pool in its latest generation; ``classes`` have their expressions.

    A device on no node of its own lies in none of the bins that are counted.
    """

    def __init__(self, slices: Iterable[Slice], classes: Mapping[str, tuple[str, ...]]) -> None:
        every = [one.spec for one in slices]
        latest = max((one.pool.generation for one in every), default=0)
        current = [one for one in every if one.pool.generation == latest]
        totals = {each.name: each for one in current for each in one.shared_counters}
        self.devices = {each.name: Device(each, one, totals) for one in current for each in one.devices}
        self.bins_of: dict[str, frozenset[str]] = {}
        """By class, the bins that some device of it lies in."""
        self.node_of = {name: one.node for one in self.devices.values() for name, _ in one.bins if one.node}
        """The node of each bin."""
        self.tainted = {name for one in self.devices.values() if one.taints for name, _ in one.bins if one.node}
        """The bins in which some device has a taint."""
        self.unreadable: set[str] = set()
        """Classes with an expression that cannot be evaluated."""
        self._classify(classes)

    def _classify(self, classes: Mapping[str, tuple[str, ...]]) -> None:
        bins: defaultdict[str, set[str]] = defaultdict(set)
        for device in self.devices.values():
            answers = {name: device.selected(expressions) for name, expressions in classes.items()}
            self.unreadable |= {name for name, answer in answers.items() if answer is None}
            device.classes = frozenset(name for name, answer in answers.items() if answer)
            for name in device.classes:
                bins[name].update(one for one, _ in device.bins if one in self.node_of)
        self.bins_of = {name: frozenset(of) for name, of in bins.items() if of and name not in self.unreadable}
