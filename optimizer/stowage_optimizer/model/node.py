"""A node: what it offers and which pods it refuses."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Annotated

from stowage_optimizer.model.codec import REQUIRED, in_range
from stowage_optimizer.model.issues import Faults

CPU = "cpu_milli"
MEMORY = "memory_bytes"
EPHEMERAL_STORAGE = "ephemeral_storage_bytes"
PODS = "pods"
NAMES = (CPU, MEMORY, EPHEMERAL_STORAGE, PODS)

LARGEST_TOTAL = 2**60
"""The most of a resource that is added up: four times it fits into 64 bits."""

LARGEST_PRICE_MICROS = 2**43
"""Of a node. What 100,000 of them cost still fits into 64 bits."""


@dataclass(frozen=True, slots=True)
class Resources:
    """Amounts by resource, never negative.

    Parameters
    ----------
    cpu_milli, memory_bytes, ephemeral_storage_bytes
        In the unit of the name.
    pods
        Number of pods a node takes; 0 in requests, where each pod counts as one.
    """

    cpu_milli: int = 0
    memory_bytes: int = 0
    ephemeral_storage_bytes: int = 0
    pods: int = 0
    extended: Mapping[str, int] = field(default_factory=dict)

    def amounts(self) -> dict[str, int]:
        """Return every amount by name, extended resources under their own."""
        return {
            CPU: self.cpu_milli,
            MEMORY: self.memory_bytes,
            EPHEMERAL_STORAGE: self.ephemeral_storage_bytes,
            PODS: self.pods,
            **self.extended,
        }

    def faults(self) -> Faults:
        """Return what is wrong with the amounts; nearly always nothing."""
        if not self.extended and min(self.cpu_milli, self.memory_bytes, self.ephemeral_storage_bytes, self.pods) >= 0:
            return ()
        amounts = [(name, f".{name}", getattr(self, name)) for name in NAMES]
        amounts += [(name, f".extended[{name}]", amount) for name, amount in self.extended.items()]
        found = [(where, f"is negative ({amount})") for _, where, amount in amounts if amount < 0]
        found += [(where, "has a field of its own") for name, where, _ in amounts[len(NAMES) :] if name in NAMES]
        return [*found, (".extended", "is empty")] if "" in self.extended else found

    def clipped(self) -> "Resources":
        """Return the amounts, nothing where they are negative."""
        extended = {name: max(0, amount) for name, amount in self.extended.items() if name and name not in NAMES}
        return Resources(**{name: max(0, getattr(self, name)) for name in NAMES}, extended=extended)


class TaintEffect(StrEnum):
    """What a taint does to pods that do not tolerate it."""

    NO_SCHEDULE = "NoSchedule"
    PREFER_NO_SCHEDULE = "PreferNoSchedule"
    NO_EXECUTE = "NoExecute"


@dataclass(frozen=True, slots=True)
class Taint:
    """A mark on a node that keeps pods away unless they tolerate it."""

    key: Annotated[str, REQUIRED] = ""
    value: str = ""
    effect: Annotated[TaintEffect, REQUIRED] = TaintEffect.NO_SCHEDULE


@dataclass(frozen=True, slots=True)
class Node:
    """A machine of the cluster.

    Parameters
    ----------
    hourly_price_micros
        In millionths of whatever currency; 0 where it is not known.
    irremovable_reason
        Why autoscalers may not remove it, so that it is in use whatever runs there.
    device_layout
        Id of the layout of its devices; empty without any that pods share or that overlap.
    """

    name: str = ""
    allocatable: Resources = field(default_factory=Resources)
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    hourly_price_micros: Annotated[int, in_range(0, LARGEST_PRICE_MICROS)] = 0
    irremovable_reason: str = ""
    device_layout: str = ""

    def closed(self) -> "Node":
        """Return a node that no pod may come to; pods that run there stay or leave."""
        price = self.hourly_price_micros if 0 <= self.hourly_price_micros <= LARGEST_PRICE_MICROS else 0
        return replace(self, allocatable=Resources(), taints=(), unschedulable=True, hourly_price_micros=price)
