"""Amounts of any resource: what pods ask for, what nodes have, what is left of it.

Amounts are integers: cpu in thousandths of a core, devices of a class in thousandths of a device, everything else in
its own whole unit, which is bytes of memory and storage, and one of what is counted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import ItemsView, Iterable, Iterator, Mapping
from decimal import Decimal
from math import ceil
from types import MappingProxyType
from typing import Any, Self

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.base.errors import StowageError

_SUFFIXES: dict[str, Decimal] = {
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    "": Decimal(1),
    **{suffix: Decimal(1000) ** (i + 1) for i, suffix in enumerate("kMGTPE")},
    **{f"{suffix}i": Decimal(1024) ** (i + 1) for i, suffix in enumerate("KMGTPE")},
}

_QUANTITY = re.compile(
    r"(?P<number>[+-]?(?:\d+\.?\d*|\.\d+))(?:(?P<suffix>[numkKMGTPE]i?)|"
    r"[eE](?P<exponent>[+-]?\d{1,3}))?"
)


class QuantityError(StowageError, ValueError):
    """A text is not an amount of the resource that was asked for."""


def amount(quantity: str | float) -> Decimal:
    """Return the exact value of a quantity; a QuantityError if the text does not follow Kubernetes' grammar."""
    match = _QUANTITY.fullmatch(str(quantity).strip())
    suffix = match["suffix"] if match else None
    if match is None or (suffix or "") not in _SUFFIXES:
        raise QuantityError(f"{quantity!r} is not a quantity; write a number and one of m, k, M, G, T, Ki, Mi, Gi, Ti")
    exponent = int(match["exponent"] or 0)
    return Decimal(match["number"]).scaleb(exponent) * _SUFFIXES[suffix or ""]


CPU, MEMORY = "cpu", "memory"
DEVICES = "devices/"  # Before the name of a device class; pods may take shares and partitions of a device
DEVICE = 1000  # One whole device

PODS = "pods"  # A node takes so many pods, and each pod takes one of these
MOST_PODS = 110  # What a kubelet takes where its node does not say

_NONE: Mapping[str, int] = MappingProxyType({})


def order(names: Iterable[str]) -> list[str]:
    """Return resources in the order of tables: cpu, memory, the others by name."""
    return sorted(names, key=lambda name: (name != CPU, name != MEMORY, name))


class Resources(Mapping[str, int]):
    """Amounts by resource, in the order of tables; what is not named is 0.

    Equal amounts are equal, whether or not zeros are given. What is left of a node that is overcommitted is negative.
    """

    __slots__ = ("_amounts", "_hash")

    def __init__(self, amounts: Mapping[str, int] = _NONE, /, **further: int) -> None:
        given = {**amounts, **further}
        self._amounts = {name: given[name] for name in order(given) if given[name]}
        self._hash = hash(tuple(self._amounts.items()))

    @classmethod
    def of_list(cls, quantities: Mapping[str, Any]) -> Self:
        """Return what a Kubernetes resource list has, parts of a unit as whole ones, or raise a QuantityError."""
        return cls({name: ceil(amount(value) * _parts(name)) for name, value in quantities.items()})

    def quantities(self) -> dict[str, str]:
        """Return the amounts as a Kubernetes resource list."""
        return {name: spell(name, amount) if in_milli(name) else str(amount) for name, amount in self.items()}

    def fits(self, room: Resources) -> bool:
        """Return whether there is enough of all that is asked for; of other resources there may be too little."""
        return all(amount <= room[name] for name, amount in self.items())

    def without(self, *names: str) -> Resources:
        """Return the amounts of all but some resources."""
        return Resources({name: self[name] for name in self if name not in names})

    def __add__(self, other: Resources) -> Resources:
        return Resources({name: self[name] + other[name] for name in (*self, *other)})

    def __sub__(self, other: Resources) -> Resources:
        return Resources({name: self[name] - other[name] for name in (*self, *other)})

    def __getitem__(self, name: str) -> int:
        return self._amounts.get(name, 0)

    def __contains__(self, name: object) -> bool:
        return name in self._amounts

    def __iter__(self) -> Iterator[str]:
        return iter(self._amounts)

    def items(self) -> ItemsView[str, int]:
        """Return the resources with their amounts, none of which is 0."""
        return self._amounts.items()

    def __len__(self) -> int:
        return len(self._amounts)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Resources):
            return NotImplemented
        return self._amounts == other._amounts

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"Resources({self._amounts})"

    def __str__(self) -> str:
        shown = (f"{name} {spell(name, amount)}" for name, amount in self.items())
        return ", ".join(shown) or "nothing"


NOTHING = Resources()

ONE_POD = Resources(pods=1)  # What every pod takes besides what it asks for


def add_up(parts: Iterable[Resources]) -> Resources:
    """Return the sum."""
    counts: Counter[str] = Counter()
    for part in parts:
        counts.update(part)
    return Resources(counts)


def names_of(parts: Iterable[Resources]) -> tuple[str, ...]:
    """Return cpu and memory, which every node has, and what else there is of; pods are counted apart."""
    further = {name for part in set(parts) for name in part}
    return tuple(order({CPU, MEMORY} | further - {PODS}))


def in_milli(name: str) -> bool:
    """Return whether a resource is counted in thousandths: cpu, and devices of a class."""
    return name == CPU or name.startswith(DEVICES)


def _parts(name: str) -> int:
    return 1000 if in_milli(name) else 1


def in_bytes(name: str) -> bool:
    """Return whether a resource is known to be counted in bytes."""
    return name in (MEMORY, "ephemeral-storage") or name.startswith("hugepages-")


def parse(name: str, quantity: str | float) -> int:
    """Return an exact amount of a resource; a QuantityError if it is none, negative, or no whole number."""
    value = amount(quantity) * _parts(name)
    if value < 0:
        raise QuantityError(f"{quantity!r} is negative; write 0 or more")
    if value == value.to_integral_value():
        return int(value)
    if name == CPU:
        raise QuantityError(f"{quantity!r} is finer than 1m; write whole milli-CPU, as in 100m")
    if in_milli(name):
        raise QuantityError(f"{quantity!r} is finer than a thousandth of a device; write 3 decimals")
    raise QuantityError(f"{quantity!r} is no whole number{' of bytes; write 2G or 512Mi' if in_bytes(name) else ''}")


def spell(name: str, amount: int) -> str:
    """Return an amount of a resource as the shortest exact quantity: 250m, 4Gi, 1500001, 3; devices as in 6.5."""
    if name == CPU:
        return f"{amount}m" if amount % 1000 else str(amount // 1000)
    if in_milli(name):
        return f"{Decimal(amount).scaleb(-3).normalize():f}"
    candidates = [str(amount)]
    for suffix in ("k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti") if in_bytes(name) else ():
        number, rest = divmod(amount, int(_SUFFIXES[suffix]))
        if not rest and number:
            candidates.append(f"{number}{suffix}")
    return min(candidates, key=len)


_FIELDS = {CPU: "cpu_milli", MEMORY: "memory_bytes", "ephemeral-storage": "ephemeral_storage_bytes", PODS: "pods"}
"""Resources that have a field of their own."""


def message_of(resources: Resources) -> pb.Resources:
    """Return amounts as a message."""
    return pb.Resources(
        **{field: resources[name] for name, field in _FIELDS.items()}, extended=resources.without(*_FIELDS)
    )


def resources_of(message: pb.Resources) -> Resources:
    """Return the amounts of a message; one of a pod's requests has no pods."""
    own = {name: getattr(message, field) for name, field in _FIELDS.items()}
    return Resources({**message.extended, **own})
