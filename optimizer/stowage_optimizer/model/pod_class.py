"""A pod class: pods with the same scheduling-relevant spec and priority."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from stowage_optimizer.model.node import Resources, TaintEffect
from stowage_optimizer.model.selectors import LabelSelector, NodeSelectorTerm


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

    key: str
    operator: TolerationOperator
    value: str = ""
    effect: TaintEffect | None = None


@dataclass(frozen=True, slots=True)
class PodAffinityTerm:
    """A required relation to other pods in the same topology domain.

    ``label_selector`` None matches no pod. No ``namespaces`` mean the pod's own.
    """

    topology_key: str
    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PreferredNodeTerm:
    """A soft preference for nodes; ``weight`` counts from 1 to 100."""

    weight: int
    term: NodeSelectorTerm


@dataclass(frozen=True, slots=True)
class PreferredPodTerm:
    """A soft preference for being near other pods, or for their absence."""

    weight: int
    term: PodAffinityTerm


@dataclass(frozen=True, slots=True)
class TopologySpread:
    """A limit on how unevenly matching pods are spread over domains."""

    max_skew: int
    topology_key: str
    hard: bool
    label_selector: LabelSelector | None = None
    min_domains: int = 0
    honor_node_affinity: bool = True
    honor_node_taints: bool = False
    match_label_keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HostPort:
    """A port of the node that the pod takes."""

    protocol: str
    host_ip: str
    port: int


@dataclass(frozen=True, slots=True)
class PodClass:
    """What the pods of one class need.

    ``owner`` is the UID of the controller that replaces them, empty if none does.
    ``unsupported`` names needs beyond this model; ``required_node_affinity`` holds
    alternatives, none meaning no requirement. Each entry of ``volume_node_affinity``
    holds the alternatives of one volume, none meaning that no node has it.
    ``exempt_of`` is the id of the class in the message whose pods these are, of those
    that go without their disruption budget; empty for other classes.
    """

    id: str
    namespace: str
    priority: int
    requests: Resources = field(default_factory=Resources)
    labels: Mapping[str, str] = field(default_factory=dict)
    owner: str = ""
    node_selector: Mapping[str, str] = field(default_factory=dict)
    required_node_affinity: tuple[NodeSelectorTerm, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    required_pod_affinity: tuple[PodAffinityTerm, ...] = ()
    required_pod_anti_affinity: tuple[PodAffinityTerm, ...] = ()
    topology_spread: tuple[TopologySpread, ...] = ()
    host_ports: tuple[HostPort, ...] = ()
    unsupported: tuple[str, ...] = ()
    volume_node_affinity: tuple[tuple[NodeSelectorTerm, ...], ...] = ()
    preferred_node_affinity: tuple[PreferredNodeTerm, ...] = ()
    preferred_pod_affinity: tuple[PreferredPodTerm, ...] = ()
    preferred_pod_anti_affinity: tuple[PreferredPodTerm, ...] = ()
    exempt_of: str = ""

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
