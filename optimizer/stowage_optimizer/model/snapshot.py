"""The snapshot: everything that the optimiser knows of a cluster."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from stowage_optimizer.model.codec import in_range
from stowage_optimizer.model.devices import DeviceHolding, DeviceLayout, DeviceRequest
from stowage_optimizer.model.node import Node, Resources
from stowage_optimizer.model.pod_class import PodClass
from stowage_optimizer.model.pods import Pods
from stowage_optimizer.model.selectors import LabelSelector


@dataclass(frozen=True, slots=True)
class Refusal:
    """What was left alone.

    Parameters
    ----------
    subject
        As in ``class web-6d4c`` or ``pod default/web-1``.
    reason
        One word of a small fixed set, as in ``host-ports``.
    detail
        The reason in a sentence.
    """

    subject: str
    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class DisruptionBudget:
    """How many of the selected pods may be disrupted now."""

    namespace: str = ""
    name: str = ""
    selector: LabelSelector | None = None
    disruptions_allowed: int = 0


@dataclass(frozen=True, slots=True)
class Reservation:
    """Room on a node that is held for the pods of one owner."""

    name: str = ""
    node: str = ""
    held: Resources = field(default_factory=Resources)


@dataclass(frozen=True, slots=True)
class Gang:
    """Pods of which at least ``min_count`` have a node, or none.

    Parameters
    ----------
    leaves_whole
        Whether a plan disrupts all of its running pods or none.
    topology_key
        Label whose value the nodes of all its pods share; empty if they may be anywhere.
    """

    id: str = ""
    min_count: Annotated[int, in_range(1, 2**31 - 1)] = 0
    leaves_whole: bool = False
    topology_key: str = ""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A cluster at one moment. Names are unique and every reference resolves.

    ``refusals`` holds what of the nodes, budgets and reservations could not be read.
    """

    id: str
    nodes: tuple[Node, ...]
    classes: Mapping[str, PodClass]
    pods: Pods
    budgets: tuple[DisruptionBudget, ...] = ()
    reservations: tuple[Reservation, ...] = ()
    forbidden: frozenset[tuple[str, str]] = frozenset()
    refusals: tuple[Refusal, ...] = ()
    device_layouts: Mapping[str, DeviceLayout] = field(default_factory=dict)
    device_requests: Mapping[str, DeviceRequest] = field(default_factory=dict)
    device_holdings: tuple[DeviceHolding, ...] = ()
    gangs: Mapping[str, Gang] = field(default_factory=dict)
