"""A pod class: pods with the same scheduling-relevant spec and priority."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated

from stowage_optimizer.model.codec import REQUIRED, in_range, one_of
from stowage_optimizer.model.node import LARGEST_TOTAL, Resources, TaintEffect
from stowage_optimizer.model.selectors import LabelSelector, NodeSelector, NodeSelectorTerm

LARGEST_WORTH = 2**11
"""Of a pod. What a million of them count for fits into the contract's 32 bits; prices of more could not be computed."""

Weight = Annotated[int, in_range(1, 100)]
Inclusion = Annotated[str, one_of("", "Honor", "Ignore")]


class TolerationOperator(StrEnum):
    """How a toleration compares its value with the taint's.

    ``GT`` and ``LT`` are behind a feature gate; they are read, and tolerate nothing.
    """

    EXISTS = "Exists"
    EQUAL = "Equal"
    GT = "Gt"
    LT = "Lt"


@dataclass(frozen=True, slots=True)
class Toleration:
    """Taints that a pod tolerates.

    An empty ``key`` with ``EXISTS`` means every key; ``effect`` None every effect.
    """

    key: str = ""
    operator: TolerationOperator = TolerationOperator.EQUAL
    value: str = ""
    effect: TaintEffect | None = None

    def faults(self) -> Iterator[tuple[str, str]]:
        """Yield a key that is missing."""
        if not self.key and self.operator is not TolerationOperator.EXISTS:
            yield ".key", "is empty, which only Exists allows"


@dataclass(frozen=True, slots=True)
class PodAffinityTerm:
    """A required relation to other pods in the same topology domain.

    ``label_selector`` None matches no pod. No ``namespaces`` mean the pod's own.
    """

    topology_key: Annotated[str, REQUIRED] = ""
    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PreferredNodeTerm:
    """A soft preference for nodes; ``weight`` counts from 1 to 100."""

    weight: Weight = 0
    term: NodeSelectorTerm = field(default_factory=NodeSelectorTerm)


@dataclass(frozen=True, slots=True)
class PreferredPodTerm:
    """A soft preference for being near other pods, or for their absence."""

    weight: Weight = 0
    term: PodAffinityTerm = field(default_factory=PodAffinityTerm)


@dataclass(frozen=True, slots=True)
class TopologySpread:
    """A limit on how unevenly matching pods are spread over domains."""

    max_skew: Annotated[int, in_range(1, 2**31 - 1)] = 0
    topology_key: Annotated[str, REQUIRED] = ""
    when_unsatisfiable: Annotated[str, one_of("DoNotSchedule", "ScheduleAnyway")] = ""
    label_selector: LabelSelector | None = None
    min_domains: int = 0
    node_affinity_policy: Inclusion = ""
    node_taints_policy: Inclusion = ""
    match_label_keys: tuple[str, ...] = ()

    @property
    def hard(self) -> bool:
        """Whether no pod may come where it is broken."""
        return self.when_unsatisfiable == "DoNotSchedule"

    @property
    def honor_node_affinity(self) -> bool:
        """Whether only nodes count that the pod's affinity allows."""
        return self.node_affinity_policy != "Ignore"

    @property
    def honor_node_taints(self) -> bool:
        """Whether only nodes count whose taints the pod tolerates."""
        return self.node_taints_policy == "Honor"


@dataclass(frozen=True, slots=True)
class HostPort:
    """A port of the node that the pod takes."""

    protocol: str = ""
    host_ip: str = ""
    port: Annotated[int, in_range(1, 65535)] = 0


@dataclass(frozen=True, slots=True)
class Owner:
    """The controller that replaces a pod; none does without a UID."""

    uid: str = ""


@dataclass(frozen=True, slots=True)
class PodClass:
    """What the pods of one class need.

    ``unsupported`` names needs beyond this model; ``required_node_affinity`` holds
    alternatives, none meaning no requirement. Each entry of ``volume_node_affinity``
    holds the alternatives of one volume, none meaning that no node has it.
    ``exempt_of`` is the id of the class in the message whose pods these are, of those
    that go without their disruption budget; empty for other classes. ``device_requests``
    holds ids, in the order in which the scheduler allocates devices; ``worth`` is what a
    placed pod counts for, 0 meaning 1; ``gang`` is the id of the gang of its pods.
    """

    id: str = ""
    namespace: str = ""
    priority: int = 0
    requests: Resources = field(default_factory=Resources)
    labels: Mapping[str, str] = field(default_factory=dict)
    owner: Owner = field(default_factory=Owner)
    node_selector: Mapping[str, str] = field(default_factory=dict)
    required_node_affinity: tuple[NodeSelectorTerm, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    required_pod_affinity: tuple[PodAffinityTerm, ...] = ()
    required_pod_anti_affinity: tuple[PodAffinityTerm, ...] = ()
    topology_spread: tuple[TopologySpread, ...] = ()
    host_ports: tuple[HostPort, ...] = ()
    unsupported: tuple[str, ...] = ()
    volume_node_affinity: tuple[NodeSelector, ...] = ()
    preferred_node_affinity: tuple[PreferredNodeTerm, ...] = ()
    preferred_pod_affinity: tuple[PreferredPodTerm, ...] = ()
    preferred_pod_anti_affinity: tuple[PreferredPodTerm, ...] = ()
    device_requests: tuple[str, ...] = ()
    worth: Annotated[int, in_range(0, LARGEST_WORTH)] = 0
    gang: str = ""
    exempt_of: str = ""

    def faults(self) -> Iterator[tuple[str, str]]:
        """Yield the requests that cannot be added up."""
        for name, amount in self.requests.amounts().items():
            if amount > LARGEST_TOTAL:
                yield f".requests.{name}", f"is {amount}, above the largest amount {LARGEST_TOTAL}"

    def left_alone(self, why: str) -> "PodClass":
        """Return a class whose pods keep their room, and are moved by no plan."""
        return PodClass(
            self.id,
            self.namespace,
            self.priority,
            self.requests.clipped(),
            self.labels,
            self.owner,
            unsupported=(*self.unsupported, why),
            worth=self.counts_for,
            gang=self.gang,
        )

    @property
    def counts_for(self) -> int:
        """What one of its pods counts for where placed pods are counted; 1 where that is not said, or unreadable."""
        return self.worth if 0 < self.worth <= LARGEST_WORTH else 1

    @property
    def name(self) -> str:
        """Its id in the message."""
        return self.exempt_of or self.id

    @property
    def demanding(self) -> bool:
        """Whether its pods demand anything of where other pods are."""
        return bool(
            self.required_pod_affinity
            or self.required_pod_anti_affinity
            or any(spread.hard for spread in self.topology_spread)
        )
