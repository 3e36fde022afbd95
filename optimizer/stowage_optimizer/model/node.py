"""A node: what it offers and which pods it refuses."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

CPU = "cpu_milli"
MEMORY = "memory_bytes"
EPHEMERAL_STORAGE = "ephemeral_storage_bytes"
PODS = "pods"

LARGEST_TOTAL = 2**60
"""The most of a resource that is added up: four times it fits into 64 bits."""


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


class TaintEffect(StrEnum):
    """What a taint does to pods that do not tolerate it."""

    NO_SCHEDULE = "NoSchedule"
    PREFER_NO_SCHEDULE = "PreferNoSchedule"
    NO_EXECUTE = "NoExecute"


@dataclass(frozen=True, slots=True)
class Taint:
    """A mark on a node that keeps pods away unless they tolerate it."""

    key: str
    value: str
    effect: TaintEffect


@dataclass(frozen=True, slots=True)
class Node:
    """A machine of the cluster.

    Parameters
    ----------
    hourly_price_micros
        In millionths of whatever currency; 0 where it is not known.
    irremovable_reason
        Why autoscalers may not remove it, so that it is in use whatever runs there.
    """

    name: str
    allocatable: Resources
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    hourly_price_micros: int = 0
    irremovable_reason: str = ""
