from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Policy(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    POLICY_STRICT: _ClassVar[Policy]
    POLICY_PAPER: _ClassVar[Policy]

class Objective(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    OBJECTIVE_PLACE: _ClassVar[Objective]
    OBJECTIVE_CONSOLIDATE: _ClassVar[Objective]

class ProofMethod(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PROOF_METHOD_UNSPECIFIED: _ClassVar[ProofMethod]
    PROOF_METHOD_TRIVIAL: _ClassVar[ProofMethod]
    PROOF_METHOD_KNAPSACK: _ClassVar[ProofMethod]
    PROOF_METHOD_MOVES_EXHAUSTED: _ClassVar[ProofMethod]
    PROOF_METHOD_DUAL_BOUND: _ClassVar[ProofMethod]
    PROOF_METHOD_ENUMERATION: _ClassVar[ProofMethod]
    PROOF_METHOD_CP_SAT: _ClassVar[ProofMethod]

class ProofStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PROOF_STATUS_GAP: _ClassVar[ProofStatus]
    PROOF_STATUS_BOUND: _ClassVar[ProofStatus]
    PROOF_STATUS_PROVED: _ClassVar[ProofStatus]

class Phase(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PHASE_KEEP: _ClassVar[Phase]
    PHASE_PLACE: _ClassVar[Phase]
    PHASE_DISRUPT: _ClassVar[Phase]

class EndReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    END_REASON_UNSPECIFIED: _ClassVar[EndReason]
    END_REASON_OPTIMAL: _ClassVar[EndReason]
    END_REASON_TIME_LIMIT: _ClassVar[EndReason]
    END_REASON_NO_IMPROVEMENT: _ClassVar[EndReason]
    END_REASON_INFEASIBLE_INPUT: _ClassVar[EndReason]
    END_REASON_CANCELLED: _ClassVar[EndReason]
    END_REASON_ERROR: _ClassVar[EndReason]
POLICY_STRICT: Policy
POLICY_PAPER: Policy
OBJECTIVE_PLACE: Objective
OBJECTIVE_CONSOLIDATE: Objective
PROOF_METHOD_UNSPECIFIED: ProofMethod
PROOF_METHOD_TRIVIAL: ProofMethod
PROOF_METHOD_KNAPSACK: ProofMethod
PROOF_METHOD_MOVES_EXHAUSTED: ProofMethod
PROOF_METHOD_DUAL_BOUND: ProofMethod
PROOF_METHOD_ENUMERATION: ProofMethod
PROOF_METHOD_CP_SAT: ProofMethod
PROOF_STATUS_GAP: ProofStatus
PROOF_STATUS_BOUND: ProofStatus
PROOF_STATUS_PROVED: ProofStatus
PHASE_KEEP: Phase
PHASE_PLACE: Phase
PHASE_DISRUPT: Phase
END_REASON_UNSPECIFIED: EndReason
END_REASON_OPTIMAL: EndReason
END_REASON_TIME_LIMIT: EndReason
END_REASON_NO_IMPROVEMENT: EndReason
END_REASON_INFEASIBLE_INPUT: EndReason
END_REASON_CANCELLED: EndReason
END_REASON_ERROR: EndReason

class SolveRequest(_message.Message):
    __slots__ = ("snapshot", "options")
    SNAPSHOT_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    snapshot: Snapshot
    options: SolveOptions
    def __init__(self, snapshot: _Optional[_Union[Snapshot, _Mapping]] = ..., options: _Optional[_Union[SolveOptions, _Mapping]] = ...) -> None: ...

class SolveOptions(_message.Message):
    __slots__ = ("strategy", "time_limit_s", "policy", "alpha", "seed", "deterministic", "workers", "objective", "max_moves", "max_evictions", "max_disruptions_per_owner", "min_gain_per_move")
    STRATEGY_FIELD_NUMBER: _ClassVar[int]
    TIME_LIMIT_S_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    ALPHA_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    DETERMINISTIC_FIELD_NUMBER: _ClassVar[int]
    WORKERS_FIELD_NUMBER: _ClassVar[int]
    OBJECTIVE_FIELD_NUMBER: _ClassVar[int]
    MAX_MOVES_FIELD_NUMBER: _ClassVar[int]
    MAX_EVICTIONS_FIELD_NUMBER: _ClassVar[int]
    MAX_DISRUPTIONS_PER_OWNER_FIELD_NUMBER: _ClassVar[int]
    MIN_GAIN_PER_MOVE_FIELD_NUMBER: _ClassVar[int]
    strategy: str
    time_limit_s: float
    policy: Policy
    alpha: float
    seed: int
    deterministic: bool
    workers: int
    objective: Objective
    max_moves: int
    max_evictions: int
    max_disruptions_per_owner: int
    min_gain_per_move: float
    def __init__(self, strategy: _Optional[str] = ..., time_limit_s: _Optional[float] = ..., policy: _Optional[_Union[Policy, str]] = ..., alpha: _Optional[float] = ..., seed: _Optional[int] = ..., deterministic: _Optional[bool] = ..., workers: _Optional[int] = ..., objective: _Optional[_Union[Objective, str]] = ..., max_moves: _Optional[int] = ..., max_evictions: _Optional[int] = ..., max_disruptions_per_owner: _Optional[int] = ..., min_gain_per_move: _Optional[float] = ...) -> None: ...

class Resources(_message.Message):
    __slots__ = ("cpu_milli", "memory_bytes", "ephemeral_storage_bytes", "pods", "extended")
    class ExtendedEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    CPU_MILLI_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    EPHEMERAL_STORAGE_BYTES_FIELD_NUMBER: _ClassVar[int]
    PODS_FIELD_NUMBER: _ClassVar[int]
    EXTENDED_FIELD_NUMBER: _ClassVar[int]
    cpu_milli: int
    memory_bytes: int
    ephemeral_storage_bytes: int
    pods: int
    extended: _containers.ScalarMap[str, int]
    def __init__(self, cpu_milli: _Optional[int] = ..., memory_bytes: _Optional[int] = ..., ephemeral_storage_bytes: _Optional[int] = ..., pods: _Optional[int] = ..., extended: _Optional[_Mapping[str, int]] = ...) -> None: ...

class Taint(_message.Message):
    __slots__ = ("key", "value", "effect")
    KEY_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    EFFECT_FIELD_NUMBER: _ClassVar[int]
    key: str
    value: str
    effect: str
    def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ..., effect: _Optional[str] = ...) -> None: ...

class Node(_message.Message):
    __slots__ = ("name", "allocatable", "labels", "taints", "unschedulable", "hourly_price_micros", "irremovable_reason", "device_layout")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    ALLOCATABLE_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    TAINTS_FIELD_NUMBER: _ClassVar[int]
    UNSCHEDULABLE_FIELD_NUMBER: _ClassVar[int]
    HOURLY_PRICE_MICROS_FIELD_NUMBER: _ClassVar[int]
    IRREMOVABLE_REASON_FIELD_NUMBER: _ClassVar[int]
    DEVICE_LAYOUT_FIELD_NUMBER: _ClassVar[int]
    name: str
    allocatable: Resources
    labels: _containers.ScalarMap[str, str]
    taints: _containers.RepeatedCompositeFieldContainer[Taint]
    unschedulable: bool
    hourly_price_micros: int
    irremovable_reason: str
    device_layout: str
    def __init__(self, name: _Optional[str] = ..., allocatable: _Optional[_Union[Resources, _Mapping]] = ..., labels: _Optional[_Mapping[str, str]] = ..., taints: _Optional[_Iterable[_Union[Taint, _Mapping]]] = ..., unschedulable: _Optional[bool] = ..., hourly_price_micros: _Optional[int] = ..., irremovable_reason: _Optional[str] = ..., device_layout: _Optional[str] = ...) -> None: ...

class Toleration(_message.Message):
    __slots__ = ("key", "operator", "value", "effect")
    KEY_FIELD_NUMBER: _ClassVar[int]
    OPERATOR_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    EFFECT_FIELD_NUMBER: _ClassVar[int]
    key: str
    operator: str
    value: str
    effect: str
    def __init__(self, key: _Optional[str] = ..., operator: _Optional[str] = ..., value: _Optional[str] = ..., effect: _Optional[str] = ...) -> None: ...

class Requirement(_message.Message):
    __slots__ = ("key", "operator", "values")
    KEY_FIELD_NUMBER: _ClassVar[int]
    OPERATOR_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    key: str
    operator: str
    values: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, key: _Optional[str] = ..., operator: _Optional[str] = ..., values: _Optional[_Iterable[str]] = ...) -> None: ...

class NodeSelectorTerm(_message.Message):
    __slots__ = ("match_expressions", "match_fields")
    MATCH_EXPRESSIONS_FIELD_NUMBER: _ClassVar[int]
    MATCH_FIELDS_FIELD_NUMBER: _ClassVar[int]
    match_expressions: _containers.RepeatedCompositeFieldContainer[Requirement]
    match_fields: _containers.RepeatedCompositeFieldContainer[Requirement]
    def __init__(self, match_expressions: _Optional[_Iterable[_Union[Requirement, _Mapping]]] = ..., match_fields: _Optional[_Iterable[_Union[Requirement, _Mapping]]] = ...) -> None: ...

class NodeSelector(_message.Message):
    __slots__ = ("terms",)
    TERMS_FIELD_NUMBER: _ClassVar[int]
    terms: _containers.RepeatedCompositeFieldContainer[NodeSelectorTerm]
    def __init__(self, terms: _Optional[_Iterable[_Union[NodeSelectorTerm, _Mapping]]] = ...) -> None: ...

class PreferredNodeTerm(_message.Message):
    __slots__ = ("weight", "term")
    WEIGHT_FIELD_NUMBER: _ClassVar[int]
    TERM_FIELD_NUMBER: _ClassVar[int]
    weight: int
    term: NodeSelectorTerm
    def __init__(self, weight: _Optional[int] = ..., term: _Optional[_Union[NodeSelectorTerm, _Mapping]] = ...) -> None: ...

class LabelSelector(_message.Message):
    __slots__ = ("match_labels", "match_expressions")
    class MatchLabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    MATCH_LABELS_FIELD_NUMBER: _ClassVar[int]
    MATCH_EXPRESSIONS_FIELD_NUMBER: _ClassVar[int]
    match_labels: _containers.ScalarMap[str, str]
    match_expressions: _containers.RepeatedCompositeFieldContainer[Requirement]
    def __init__(self, match_labels: _Optional[_Mapping[str, str]] = ..., match_expressions: _Optional[_Iterable[_Union[Requirement, _Mapping]]] = ...) -> None: ...

class PodAffinityTerm(_message.Message):
    __slots__ = ("label_selector", "namespaces", "topology_key", "match_label_keys", "mismatch_label_keys")
    LABEL_SELECTOR_FIELD_NUMBER: _ClassVar[int]
    NAMESPACES_FIELD_NUMBER: _ClassVar[int]
    TOPOLOGY_KEY_FIELD_NUMBER: _ClassVar[int]
    MATCH_LABEL_KEYS_FIELD_NUMBER: _ClassVar[int]
    MISMATCH_LABEL_KEYS_FIELD_NUMBER: _ClassVar[int]
    label_selector: LabelSelector
    namespaces: _containers.RepeatedScalarFieldContainer[str]
    topology_key: str
    match_label_keys: _containers.RepeatedScalarFieldContainer[str]
    mismatch_label_keys: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, label_selector: _Optional[_Union[LabelSelector, _Mapping]] = ..., namespaces: _Optional[_Iterable[str]] = ..., topology_key: _Optional[str] = ..., match_label_keys: _Optional[_Iterable[str]] = ..., mismatch_label_keys: _Optional[_Iterable[str]] = ...) -> None: ...

class PreferredPodTerm(_message.Message):
    __slots__ = ("weight", "term")
    WEIGHT_FIELD_NUMBER: _ClassVar[int]
    TERM_FIELD_NUMBER: _ClassVar[int]
    weight: int
    term: PodAffinityTerm
    def __init__(self, weight: _Optional[int] = ..., term: _Optional[_Union[PodAffinityTerm, _Mapping]] = ...) -> None: ...

class TopologySpreadConstraint(_message.Message):
    __slots__ = ("max_skew", "topology_key", "when_unsatisfiable", "label_selector", "min_domains", "node_affinity_policy", "node_taints_policy", "match_label_keys")
    MAX_SKEW_FIELD_NUMBER: _ClassVar[int]
    TOPOLOGY_KEY_FIELD_NUMBER: _ClassVar[int]
    WHEN_UNSATISFIABLE_FIELD_NUMBER: _ClassVar[int]
    LABEL_SELECTOR_FIELD_NUMBER: _ClassVar[int]
    MIN_DOMAINS_FIELD_NUMBER: _ClassVar[int]
    NODE_AFFINITY_POLICY_FIELD_NUMBER: _ClassVar[int]
    NODE_TAINTS_POLICY_FIELD_NUMBER: _ClassVar[int]
    MATCH_LABEL_KEYS_FIELD_NUMBER: _ClassVar[int]
    max_skew: int
    topology_key: str
    when_unsatisfiable: str
    label_selector: LabelSelector
    min_domains: int
    node_affinity_policy: str
    node_taints_policy: str
    match_label_keys: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, max_skew: _Optional[int] = ..., topology_key: _Optional[str] = ..., when_unsatisfiable: _Optional[str] = ..., label_selector: _Optional[_Union[LabelSelector, _Mapping]] = ..., min_domains: _Optional[int] = ..., node_affinity_policy: _Optional[str] = ..., node_taints_policy: _Optional[str] = ..., match_label_keys: _Optional[_Iterable[str]] = ...) -> None: ...

class HostPort(_message.Message):
    __slots__ = ("protocol", "host_ip", "port")
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    HOST_IP_FIELD_NUMBER: _ClassVar[int]
    PORT_FIELD_NUMBER: _ClassVar[int]
    protocol: str
    host_ip: str
    port: int
    def __init__(self, protocol: _Optional[str] = ..., host_ip: _Optional[str] = ..., port: _Optional[int] = ...) -> None: ...

class Owner(_message.Message):
    __slots__ = ("kind", "name", "uid")
    KIND_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    UID_FIELD_NUMBER: _ClassVar[int]
    kind: str
    name: str
    uid: str
    def __init__(self, kind: _Optional[str] = ..., name: _Optional[str] = ..., uid: _Optional[str] = ...) -> None: ...

class PodClass(_message.Message):
    __slots__ = ("id", "namespace", "labels", "owner", "priority", "requests", "node_selector", "required_node_affinity", "tolerations", "required_pod_affinity", "required_pod_anti_affinity", "topology_spread", "host_ports", "unsupported", "volume_node_affinity", "preferred_node_affinity", "preferred_pod_affinity", "preferred_pod_anti_affinity", "device_requests", "worth", "gang")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class NodeSelectorEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    ID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    REQUESTS_FIELD_NUMBER: _ClassVar[int]
    NODE_SELECTOR_FIELD_NUMBER: _ClassVar[int]
    REQUIRED_NODE_AFFINITY_FIELD_NUMBER: _ClassVar[int]
    TOLERATIONS_FIELD_NUMBER: _ClassVar[int]
    REQUIRED_POD_AFFINITY_FIELD_NUMBER: _ClassVar[int]
    REQUIRED_POD_ANTI_AFFINITY_FIELD_NUMBER: _ClassVar[int]
    TOPOLOGY_SPREAD_FIELD_NUMBER: _ClassVar[int]
    HOST_PORTS_FIELD_NUMBER: _ClassVar[int]
    UNSUPPORTED_FIELD_NUMBER: _ClassVar[int]
    VOLUME_NODE_AFFINITY_FIELD_NUMBER: _ClassVar[int]
    PREFERRED_NODE_AFFINITY_FIELD_NUMBER: _ClassVar[int]
    PREFERRED_POD_AFFINITY_FIELD_NUMBER: _ClassVar[int]
    PREFERRED_POD_ANTI_AFFINITY_FIELD_NUMBER: _ClassVar[int]
    DEVICE_REQUESTS_FIELD_NUMBER: _ClassVar[int]
    WORTH_FIELD_NUMBER: _ClassVar[int]
    GANG_FIELD_NUMBER: _ClassVar[int]
    id: str
    namespace: str
    labels: _containers.ScalarMap[str, str]
    owner: Owner
    priority: int
    requests: Resources
    node_selector: _containers.ScalarMap[str, str]
    required_node_affinity: _containers.RepeatedCompositeFieldContainer[NodeSelectorTerm]
    tolerations: _containers.RepeatedCompositeFieldContainer[Toleration]
    required_pod_affinity: _containers.RepeatedCompositeFieldContainer[PodAffinityTerm]
    required_pod_anti_affinity: _containers.RepeatedCompositeFieldContainer[PodAffinityTerm]
    topology_spread: _containers.RepeatedCompositeFieldContainer[TopologySpreadConstraint]
    host_ports: _containers.RepeatedCompositeFieldContainer[HostPort]
    unsupported: _containers.RepeatedScalarFieldContainer[str]
    volume_node_affinity: _containers.RepeatedCompositeFieldContainer[NodeSelector]
    preferred_node_affinity: _containers.RepeatedCompositeFieldContainer[PreferredNodeTerm]
    preferred_pod_affinity: _containers.RepeatedCompositeFieldContainer[PreferredPodTerm]
    preferred_pod_anti_affinity: _containers.RepeatedCompositeFieldContainer[PreferredPodTerm]
    device_requests: _containers.RepeatedScalarFieldContainer[str]
    worth: int
    gang: str
    def __init__(self, id: _Optional[str] = ..., namespace: _Optional[str] = ..., labels: _Optional[_Mapping[str, str]] = ..., owner: _Optional[_Union[Owner, _Mapping]] = ..., priority: _Optional[int] = ..., requests: _Optional[_Union[Resources, _Mapping]] = ..., node_selector: _Optional[_Mapping[str, str]] = ..., required_node_affinity: _Optional[_Iterable[_Union[NodeSelectorTerm, _Mapping]]] = ..., tolerations: _Optional[_Iterable[_Union[Toleration, _Mapping]]] = ..., required_pod_affinity: _Optional[_Iterable[_Union[PodAffinityTerm, _Mapping]]] = ..., required_pod_anti_affinity: _Optional[_Iterable[_Union[PodAffinityTerm, _Mapping]]] = ..., topology_spread: _Optional[_Iterable[_Union[TopologySpreadConstraint, _Mapping]]] = ..., host_ports: _Optional[_Iterable[_Union[HostPort, _Mapping]]] = ..., unsupported: _Optional[_Iterable[str]] = ..., volume_node_affinity: _Optional[_Iterable[_Union[NodeSelector, _Mapping]]] = ..., preferred_node_affinity: _Optional[_Iterable[_Union[PreferredNodeTerm, _Mapping]]] = ..., preferred_pod_affinity: _Optional[_Iterable[_Union[PreferredPodTerm, _Mapping]]] = ..., preferred_pod_anti_affinity: _Optional[_Iterable[_Union[PreferredPodTerm, _Mapping]]] = ..., device_requests: _Optional[_Iterable[str]] = ..., worth: _Optional[int] = ..., gang: _Optional[str] = ...) -> None: ...

class Gang(_message.Message):
    __slots__ = ("id", "min_count", "leaves_whole", "topology_key")
    ID_FIELD_NUMBER: _ClassVar[int]
    MIN_COUNT_FIELD_NUMBER: _ClassVar[int]
    LEAVES_WHOLE_FIELD_NUMBER: _ClassVar[int]
    TOPOLOGY_KEY_FIELD_NUMBER: _ClassVar[int]
    id: str
    min_count: int
    leaves_whole: bool
    topology_key: str
    def __init__(self, id: _Optional[str] = ..., min_count: _Optional[int] = ..., leaves_whole: _Optional[bool] = ..., topology_key: _Optional[str] = ...) -> None: ...

class DeviceLayout(_message.Message):
    __slots__ = ("id", "devices", "counters")
    class CountersEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    ID_FIELD_NUMBER: _ClassVar[int]
    DEVICES_FIELD_NUMBER: _ClassVar[int]
    COUNTERS_FIELD_NUMBER: _ClassVar[int]
    id: str
    devices: _containers.RepeatedCompositeFieldContainer[Device]
    counters: _containers.ScalarMap[str, int]
    def __init__(self, id: _Optional[str] = ..., devices: _Optional[_Iterable[_Union[Device, _Mapping]]] = ..., counters: _Optional[_Mapping[str, int]] = ...) -> None: ...

class Device(_message.Message):
    __slots__ = ("name", "kind", "counters", "shared", "capacity")
    class CountersEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    class CapacityEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    COUNTERS_FIELD_NUMBER: _ClassVar[int]
    SHARED_FIELD_NUMBER: _ClassVar[int]
    CAPACITY_FIELD_NUMBER: _ClassVar[int]
    name: str
    kind: str
    counters: _containers.ScalarMap[str, int]
    shared: bool
    capacity: _containers.ScalarMap[str, int]
    def __init__(self, name: _Optional[str] = ..., kind: _Optional[str] = ..., counters: _Optional[_Mapping[str, int]] = ..., shared: _Optional[bool] = ..., capacity: _Optional[_Mapping[str, int]] = ...) -> None: ...

class DeviceRequest(_message.Message):
    __slots__ = ("id", "first_available")
    ID_FIELD_NUMBER: _ClassVar[int]
    FIRST_AVAILABLE_FIELD_NUMBER: _ClassVar[int]
    id: str
    first_available: _containers.RepeatedCompositeFieldContainer[DeviceChoice]
    def __init__(self, id: _Optional[str] = ..., first_available: _Optional[_Iterable[_Union[DeviceChoice, _Mapping]]] = ...) -> None: ...

class DeviceChoice(_message.Message):
    __slots__ = ("count", "takes")
    COUNT_FIELD_NUMBER: _ClassVar[int]
    TAKES_FIELD_NUMBER: _ClassVar[int]
    count: int
    takes: _containers.RepeatedCompositeFieldContainer[DeviceTake]
    def __init__(self, count: _Optional[int] = ..., takes: _Optional[_Iterable[_Union[DeviceTake, _Mapping]]] = ...) -> None: ...

class DeviceTake(_message.Message):
    __slots__ = ("device_kind", "amounts")
    class AmountsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    DEVICE_KIND_FIELD_NUMBER: _ClassVar[int]
    AMOUNTS_FIELD_NUMBER: _ClassVar[int]
    device_kind: str
    amounts: _containers.ScalarMap[str, int]
    def __init__(self, device_kind: _Optional[str] = ..., amounts: _Optional[_Mapping[str, int]] = ...) -> None: ...

class DeviceHolding(_message.Message):
    __slots__ = ("node", "device", "pod_uid", "amounts")
    class AmountsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    NODE_FIELD_NUMBER: _ClassVar[int]
    DEVICE_FIELD_NUMBER: _ClassVar[int]
    POD_UID_FIELD_NUMBER: _ClassVar[int]
    AMOUNTS_FIELD_NUMBER: _ClassVar[int]
    node: str
    device: int
    pod_uid: str
    amounts: _containers.ScalarMap[str, int]
    def __init__(self, node: _Optional[str] = ..., device: _Optional[int] = ..., pod_uid: _Optional[str] = ..., amounts: _Optional[_Mapping[str, int]] = ...) -> None: ...

class Pod(_message.Message):
    __slots__ = ("uid", "namespace", "name", "class_id", "node", "movable", "immovable_reason", "deletion_cost", "age_s", "exempt_from_budget")
    UID_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    CLASS_ID_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    MOVABLE_FIELD_NUMBER: _ClassVar[int]
    IMMOVABLE_REASON_FIELD_NUMBER: _ClassVar[int]
    DELETION_COST_FIELD_NUMBER: _ClassVar[int]
    AGE_S_FIELD_NUMBER: _ClassVar[int]
    EXEMPT_FROM_BUDGET_FIELD_NUMBER: _ClassVar[int]
    uid: str
    namespace: str
    name: str
    class_id: str
    node: str
    movable: bool
    immovable_reason: str
    deletion_cost: int
    age_s: int
    exempt_from_budget: bool
    def __init__(self, uid: _Optional[str] = ..., namespace: _Optional[str] = ..., name: _Optional[str] = ..., class_id: _Optional[str] = ..., node: _Optional[str] = ..., movable: _Optional[bool] = ..., immovable_reason: _Optional[str] = ..., deletion_cost: _Optional[int] = ..., age_s: _Optional[int] = ..., exempt_from_budget: _Optional[bool] = ...) -> None: ...

class DisruptionBudget(_message.Message):
    __slots__ = ("namespace", "name", "selector", "disruptions_allowed")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    SELECTOR_FIELD_NUMBER: _ClassVar[int]
    DISRUPTIONS_ALLOWED_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    name: str
    selector: LabelSelector
    disruptions_allowed: int
    def __init__(self, namespace: _Optional[str] = ..., name: _Optional[str] = ..., selector: _Optional[_Union[LabelSelector, _Mapping]] = ..., disruptions_allowed: _Optional[int] = ...) -> None: ...

class Reservation(_message.Message):
    __slots__ = ("name", "node", "held")
    NAME_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    HELD_FIELD_NUMBER: _ClassVar[int]
    name: str
    node: str
    held: Resources
    def __init__(self, name: _Optional[str] = ..., node: _Optional[str] = ..., held: _Optional[_Union[Resources, _Mapping]] = ...) -> None: ...

class ForbiddenPair(_message.Message):
    __slots__ = ("class_id", "node")
    CLASS_ID_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    class_id: str
    node: str
    def __init__(self, class_id: _Optional[str] = ..., node: _Optional[str] = ...) -> None: ...

class Snapshot(_message.Message):
    __slots__ = ("id", "nodes", "pod_classes", "pods", "disruption_budgets", "reservations", "forbidden_pairs", "device_layouts", "device_requests", "device_holdings", "gangs")
    ID_FIELD_NUMBER: _ClassVar[int]
    NODES_FIELD_NUMBER: _ClassVar[int]
    POD_CLASSES_FIELD_NUMBER: _ClassVar[int]
    PODS_FIELD_NUMBER: _ClassVar[int]
    DISRUPTION_BUDGETS_FIELD_NUMBER: _ClassVar[int]
    RESERVATIONS_FIELD_NUMBER: _ClassVar[int]
    FORBIDDEN_PAIRS_FIELD_NUMBER: _ClassVar[int]
    DEVICE_LAYOUTS_FIELD_NUMBER: _ClassVar[int]
    DEVICE_REQUESTS_FIELD_NUMBER: _ClassVar[int]
    DEVICE_HOLDINGS_FIELD_NUMBER: _ClassVar[int]
    GANGS_FIELD_NUMBER: _ClassVar[int]
    id: str
    nodes: _containers.RepeatedCompositeFieldContainer[Node]
    pod_classes: _containers.RepeatedCompositeFieldContainer[PodClass]
    pods: _containers.RepeatedCompositeFieldContainer[Pod]
    disruption_budgets: _containers.RepeatedCompositeFieldContainer[DisruptionBudget]
    reservations: _containers.RepeatedCompositeFieldContainer[Reservation]
    forbidden_pairs: _containers.RepeatedCompositeFieldContainer[ForbiddenPair]
    device_layouts: _containers.RepeatedCompositeFieldContainer[DeviceLayout]
    device_requests: _containers.RepeatedCompositeFieldContainer[DeviceRequest]
    device_holdings: _containers.RepeatedCompositeFieldContainer[DeviceHolding]
    gangs: _containers.RepeatedCompositeFieldContainer[Gang]
    def __init__(self, id: _Optional[str] = ..., nodes: _Optional[_Iterable[_Union[Node, _Mapping]]] = ..., pod_classes: _Optional[_Iterable[_Union[PodClass, _Mapping]]] = ..., pods: _Optional[_Iterable[_Union[Pod, _Mapping]]] = ..., disruption_budgets: _Optional[_Iterable[_Union[DisruptionBudget, _Mapping]]] = ..., reservations: _Optional[_Iterable[_Union[Reservation, _Mapping]]] = ..., forbidden_pairs: _Optional[_Iterable[_Union[ForbiddenPair, _Mapping]]] = ..., device_layouts: _Optional[_Iterable[_Union[DeviceLayout, _Mapping]]] = ..., device_requests: _Optional[_Iterable[_Union[DeviceRequest, _Mapping]]] = ..., device_holdings: _Optional[_Iterable[_Union[DeviceHolding, _Mapping]]] = ..., gangs: _Optional[_Iterable[_Union[Gang, _Mapping]]] = ...) -> None: ...

class Placement(_message.Message):
    __slots__ = ("pod_uid", "node", "unit", "turn", "devices")
    POD_UID_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    UNIT_FIELD_NUMBER: _ClassVar[int]
    TURN_FIELD_NUMBER: _ClassVar[int]
    DEVICES_FIELD_NUMBER: _ClassVar[int]
    pod_uid: str
    node: str
    unit: str
    turn: int
    devices: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, pod_uid: _Optional[str] = ..., node: _Optional[str] = ..., unit: _Optional[str] = ..., turn: _Optional[int] = ..., devices: _Optional[_Iterable[int]] = ...) -> None: ...

class Move(_message.Message):
    __slots__ = ("pod_uid", "from_node", "to_node", "unit", "turn", "devices")
    POD_UID_FIELD_NUMBER: _ClassVar[int]
    FROM_NODE_FIELD_NUMBER: _ClassVar[int]
    TO_NODE_FIELD_NUMBER: _ClassVar[int]
    UNIT_FIELD_NUMBER: _ClassVar[int]
    TURN_FIELD_NUMBER: _ClassVar[int]
    DEVICES_FIELD_NUMBER: _ClassVar[int]
    pod_uid: str
    from_node: str
    to_node: str
    unit: str
    turn: int
    devices: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, pod_uid: _Optional[str] = ..., from_node: _Optional[str] = ..., to_node: _Optional[str] = ..., unit: _Optional[str] = ..., turn: _Optional[int] = ..., devices: _Optional[_Iterable[int]] = ...) -> None: ...

class Eviction(_message.Message):
    __slots__ = ("pod_uid", "node", "unit")
    POD_UID_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    UNIT_FIELD_NUMBER: _ClassVar[int]
    pod_uid: str
    node: str
    unit: str
    def __init__(self, pod_uid: _Optional[str] = ..., node: _Optional[str] = ..., unit: _Optional[str] = ...) -> None: ...

class PodPrice(_message.Message):
    __slots__ = ("pod_uids", "pod", "run")
    POD_UIDS_FIELD_NUMBER: _ClassVar[int]
    POD_FIELD_NUMBER: _ClassVar[int]
    RUN_FIELD_NUMBER: _ClassVar[int]
    pod_uids: _containers.RepeatedScalarFieldContainer[str]
    pod: int
    run: int
    def __init__(self, pod_uids: _Optional[_Iterable[str]] = ..., pod: _Optional[int] = ..., run: _Optional[int] = ...) -> None: ...

class RequirementPrice(_message.Message):
    __slots__ = ("priority", "phase", "price")
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    PHASE_FIELD_NUMBER: _ClassVar[int]
    PRICE_FIELD_NUMBER: _ClassVar[int]
    priority: int
    phase: Phase
    price: int
    def __init__(self, priority: _Optional[int] = ..., phase: _Optional[_Union[Phase, str]] = ..., price: _Optional[int] = ...) -> None: ...

class DualBound(_message.Message):
    __slots__ = ("scale", "pods", "requirements", "device_weights")
    SCALE_FIELD_NUMBER: _ClassVar[int]
    PODS_FIELD_NUMBER: _ClassVar[int]
    REQUIREMENTS_FIELD_NUMBER: _ClassVar[int]
    DEVICE_WEIGHTS_FIELD_NUMBER: _ClassVar[int]
    scale: int
    pods: _containers.RepeatedCompositeFieldContainer[PodPrice]
    requirements: _containers.RepeatedCompositeFieldContainer[RequirementPrice]
    device_weights: _containers.RepeatedCompositeFieldContainer[DeviceWeights]
    def __init__(self, scale: _Optional[int] = ..., pods: _Optional[_Iterable[_Union[PodPrice, _Mapping]]] = ..., requirements: _Optional[_Iterable[_Union[RequirementPrice, _Mapping]]] = ..., device_weights: _Optional[_Iterable[_Union[DeviceWeights, _Mapping]]] = ...) -> None: ...

class DeviceWeights(_message.Message):
    __slots__ = ("weights",)
    class WeightsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    WEIGHTS_FIELD_NUMBER: _ClassVar[int]
    weights: _containers.ScalarMap[str, int]
    def __init__(self, weights: _Optional[_Mapping[str, int]] = ...) -> None: ...

class Certificate(_message.Message):
    __slots__ = ("status", "method", "dual_bound")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    METHOD_FIELD_NUMBER: _ClassVar[int]
    DUAL_BOUND_FIELD_NUMBER: _ClassVar[int]
    status: ProofStatus
    method: ProofMethod
    dual_bound: DualBound
    def __init__(self, status: _Optional[_Union[ProofStatus, str]] = ..., method: _Optional[_Union[ProofMethod, str]] = ..., dual_bound: _Optional[_Union[DualBound, _Mapping]] = ...) -> None: ...

class TierResult(_message.Message):
    __slots__ = ("priority", "placed_before", "placed", "upper_bound", "optimal", "disruption", "disruption_lower_bound", "place", "disrupt")
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    PLACED_BEFORE_FIELD_NUMBER: _ClassVar[int]
    PLACED_FIELD_NUMBER: _ClassVar[int]
    UPPER_BOUND_FIELD_NUMBER: _ClassVar[int]
    OPTIMAL_FIELD_NUMBER: _ClassVar[int]
    DISRUPTION_FIELD_NUMBER: _ClassVar[int]
    DISRUPTION_LOWER_BOUND_FIELD_NUMBER: _ClassVar[int]
    PLACE_FIELD_NUMBER: _ClassVar[int]
    DISRUPT_FIELD_NUMBER: _ClassVar[int]
    priority: int
    placed_before: int
    placed: int
    upper_bound: int
    optimal: bool
    disruption: int
    disruption_lower_bound: int
    place: Certificate
    disrupt: Certificate
    def __init__(self, priority: _Optional[int] = ..., placed_before: _Optional[int] = ..., placed: _Optional[int] = ..., upper_bound: _Optional[int] = ..., optimal: _Optional[bool] = ..., disruption: _Optional[int] = ..., disruption_lower_bound: _Optional[int] = ..., place: _Optional[_Union[Certificate, _Mapping]] = ..., disrupt: _Optional[_Union[Certificate, _Mapping]] = ...) -> None: ...

class GainPoint(_message.Message):
    __slots__ = ("moves", "placed")
    MOVES_FIELD_NUMBER: _ClassVar[int]
    PLACED_FIELD_NUMBER: _ClassVar[int]
    moves: int
    placed: int
    def __init__(self, moves: _Optional[int] = ..., placed: _Optional[int] = ...) -> None: ...

class NodesInUse(_message.Message):
    __slots__ = ("before", "after", "lower_bound", "moves_lower_bound", "price_before_micros", "price_after_micros", "price_lower_bound_micros")
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    LOWER_BOUND_FIELD_NUMBER: _ClassVar[int]
    MOVES_LOWER_BOUND_FIELD_NUMBER: _ClassVar[int]
    PRICE_BEFORE_MICROS_FIELD_NUMBER: _ClassVar[int]
    PRICE_AFTER_MICROS_FIELD_NUMBER: _ClassVar[int]
    PRICE_LOWER_BOUND_MICROS_FIELD_NUMBER: _ClassVar[int]
    before: int
    after: int
    lower_bound: int
    moves_lower_bound: int
    price_before_micros: int
    price_after_micros: int
    price_lower_bound_micros: int
    def __init__(self, before: _Optional[int] = ..., after: _Optional[int] = ..., lower_bound: _Optional[int] = ..., moves_lower_bound: _Optional[int] = ..., price_before_micros: _Optional[int] = ..., price_after_micros: _Optional[int] = ..., price_lower_bound_micros: _Optional[int] = ...) -> None: ...

class Plan(_message.Message):
    __slots__ = ("snapshot_id", "placements", "moves", "evictions", "tiers", "optimal", "gain_by_moves", "nodes_in_use")
    SNAPSHOT_ID_FIELD_NUMBER: _ClassVar[int]
    PLACEMENTS_FIELD_NUMBER: _ClassVar[int]
    MOVES_FIELD_NUMBER: _ClassVar[int]
    EVICTIONS_FIELD_NUMBER: _ClassVar[int]
    TIERS_FIELD_NUMBER: _ClassVar[int]
    OPTIMAL_FIELD_NUMBER: _ClassVar[int]
    GAIN_BY_MOVES_FIELD_NUMBER: _ClassVar[int]
    NODES_IN_USE_FIELD_NUMBER: _ClassVar[int]
    snapshot_id: str
    placements: _containers.RepeatedCompositeFieldContainer[Placement]
    moves: _containers.RepeatedCompositeFieldContainer[Move]
    evictions: _containers.RepeatedCompositeFieldContainer[Eviction]
    tiers: _containers.RepeatedCompositeFieldContainer[TierResult]
    optimal: bool
    gain_by_moves: _containers.RepeatedCompositeFieldContainer[GainPoint]
    nodes_in_use: NodesInUse
    def __init__(self, snapshot_id: _Optional[str] = ..., placements: _Optional[_Iterable[_Union[Placement, _Mapping]]] = ..., moves: _Optional[_Iterable[_Union[Move, _Mapping]]] = ..., evictions: _Optional[_Iterable[_Union[Eviction, _Mapping]]] = ..., tiers: _Optional[_Iterable[_Union[TierResult, _Mapping]]] = ..., optimal: _Optional[bool] = ..., gain_by_moves: _Optional[_Iterable[_Union[GainPoint, _Mapping]]] = ..., nodes_in_use: _Optional[_Union[NodesInUse, _Mapping]] = ...) -> None: ...

class Progress(_message.Message):
    __slots__ = ("priority", "placed", "upper_bound", "disruption", "disruption_lower_bound", "stage")
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    PLACED_FIELD_NUMBER: _ClassVar[int]
    UPPER_BOUND_FIELD_NUMBER: _ClassVar[int]
    DISRUPTION_FIELD_NUMBER: _ClassVar[int]
    DISRUPTION_LOWER_BOUND_FIELD_NUMBER: _ClassVar[int]
    STAGE_FIELD_NUMBER: _ClassVar[int]
    priority: int
    placed: int
    upper_bound: int
    disruption: int
    disruption_lower_bound: int
    stage: str
    def __init__(self, priority: _Optional[int] = ..., placed: _Optional[int] = ..., upper_bound: _Optional[int] = ..., disruption: _Optional[int] = ..., disruption_lower_bound: _Optional[int] = ..., stage: _Optional[str] = ...) -> None: ...

class Refusal(_message.Message):
    __slots__ = ("subject", "reason", "detail")
    SUBJECT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    subject: str
    reason: str
    detail: str
    def __init__(self, subject: _Optional[str] = ..., reason: _Optional[str] = ..., detail: _Optional[str] = ...) -> None: ...

class Durations(_message.Message):
    __slots__ = ("decode_s", "solve_s", "verify_s", "total_s")
    DECODE_S_FIELD_NUMBER: _ClassVar[int]
    SOLVE_S_FIELD_NUMBER: _ClassVar[int]
    VERIFY_S_FIELD_NUMBER: _ClassVar[int]
    TOTAL_S_FIELD_NUMBER: _ClassVar[int]
    decode_s: float
    solve_s: float
    verify_s: float
    total_s: float
    def __init__(self, decode_s: _Optional[float] = ..., solve_s: _Optional[float] = ..., verify_s: _Optional[float] = ..., total_s: _Optional[float] = ...) -> None: ...

class SolveUpdate(_message.Message):
    __slots__ = ("plan", "end_reason", "last", "durations", "refusals", "message", "strategy", "progress")
    PLAN_FIELD_NUMBER: _ClassVar[int]
    END_REASON_FIELD_NUMBER: _ClassVar[int]
    LAST_FIELD_NUMBER: _ClassVar[int]
    DURATIONS_FIELD_NUMBER: _ClassVar[int]
    REFUSALS_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    STRATEGY_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    plan: Plan
    end_reason: EndReason
    last: bool
    durations: Durations
    refusals: _containers.RepeatedCompositeFieldContainer[Refusal]
    message: str
    strategy: str
    progress: Progress
    def __init__(self, plan: _Optional[_Union[Plan, _Mapping]] = ..., end_reason: _Optional[_Union[EndReason, str]] = ..., last: _Optional[bool] = ..., durations: _Optional[_Union[Durations, _Mapping]] = ..., refusals: _Optional[_Iterable[_Union[Refusal, _Mapping]]] = ..., message: _Optional[str] = ..., strategy: _Optional[str] = ..., progress: _Optional[_Union[Progress, _Mapping]] = ...) -> None: ...
