"""A scenario file as it is written: reading, JSON Schema, reference page and `explain` come from its classes."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, Literal, Required, get_type_hints

from annotated_types import MaxLen, MinLen
from pydantic import with_config
from typing_extensions import TypedDict

from stowage_testbed.scenario.expected import Expectations
from stowage_testbed.scenario.model import Catch, InstanceSpec, OptimizerSettings, Workload
from stowage_testbed.scenario.reading import read_docstring
from stowage_testbed.scenario.steps.action import Action
from stowage_testbed.scenario.steps.applying import Apply, ApplyInTurn, Delete
from stowage_testbed.scenario.steps.arriving import Burst
from stowage_testbed.scenario.steps.changing import Evict, Patch, Scale, Usage
from stowage_testbed.scenario.steps.checking import Check, Checkpoint
from stowage_testbed.scenario.steps.devices import RemoveDevices, RestoreDevices, TaintDevices
from stowage_testbed.scenario.steps.interrupting import Interrupt
from stowage_testbed.scenario.steps.nodes import (
    AddNodes,
    Cordon,
    Drain,
    Node,
    RemoveNodes,
    TaintNodes,
    Uncordon,
    UntaintNodes,
)
from stowage_testbed.scenario.steps.overloading import Measure, Overload
from stowage_testbed.scenario.steps.placing import Place
from stowage_testbed.scenario.steps.releasing import AskForPlan, Pack, Release
from stowage_testbed.scenario.steps.replaying import Replay
from stowage_testbed.scenario.steps.waiting import Wait
from stowage_testbed.scenario.types import (
    READ,
    Anything,
    Filled,
    GateName,
    GroupVersion,
    Label,
    MetricName,
    ParameterName,
    ScenarioName,
    Seconds,
    Texts,
    Written,
)

_KINDS: tuple[type[Action], ...] = (
    *(Apply, ApplyInTurn, Delete, Scale, Patch, Evict, Usage, AskForPlan, Place, Release, Pack),
    *(Cordon, Uncordon, Drain, TaintNodes, UntaintNodes, AddNodes, RemoveNodes),
    *(TaintDevices, RemoveDevices, RestoreDevices, Interrupt),
    *(Burst, Replay, Wait, Check, Checkpoint, Measure, Overload),
)
ACTIONS = {one.kind: one for one in _KINDS}
"""Each kind of step by its key in a file, in the order in which the schema lists them."""


def _hint(kind: type[Action]) -> Any:
    """Return the type of what stands at a step's key."""
    if not kind.bare:
        return kind
    first = fields(kind)[0].name  # type: ignore[arg-type] # every kind is a dataclass
    return Annotated[kind, Written(get_type_hints(kind, include_extras=True)[first], kind)]


def _take_one(written: Mapping[str, Action]) -> Action:
    if len(written) == 1:
        return next(iter(written.values()))
    if not written:
        raise ValueError("is empty; write a kind of step, or remove it")
    raise ValueError(f"has the keys {' and '.join(map(repr, written))}; keep one and move the others")


OneStep = TypedDict("OneStep", {kind: _hint(action) for kind, action in ACTIONS.items()}, total=False)  # type: ignore[misc] # as many as there are
OneStep.__doc__ = "A step: a mapping with one key, its kind."
OneStep.descriptions = {kind: read_docstring(action) for kind, action in ACTIONS.items()}  # type: ignore[attr-defined] # for the schema
_LIMITED = ["end", *(kind for kind, action in ACTIONS.items() if action.deadline)]
Timeouts = TypedDict("Timeouts", dict.fromkeys(_LIMITED, Seconds), total=False)  # type: ignore[misc] # as many as there are
Timeouts.descriptions = dict.fromkeys(_LIMITED, "Deadline in seconds.")  # type: ignore[attr-defined] # for the schema
Timeouts.__doc__ = "Deadlines by kind of step; `end` is of what is expected of the end."


@with_config(extra="allow")
class Metadata(TypedDict, total=False):
    """What is said of an object, and whatever else Kubernetes knows."""

    name: Filled
    """Its name in the cluster; without it, its name here."""
    namespace: Filled
    """A namespace of its own; without it, the run's."""
    labels: Texts
    """Labels of the object."""
    annotations: Texts
    """Annotations of the object."""


@with_config(extra="allow")
class Manifest(TypedDict, total=False):
    """An object of any kind, and whatever else Kubernetes knows of it."""

    kind: Required[Filled]
    """What it is."""
    apiVersion: Filled
    """Group and version, as in policy/v1."""
    metadata: Metadata
    """Labels, annotations, and whatever else Kubernetes knows."""
    spec: Anything
    """As Kubernetes knows it."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A value that variants may change."""

    type: Literal["integer", "number", "text", "list", "mapping"]
    """What values the parameter takes."""
    default: Any
    """The value in the default run."""
    description: Filled = ""
    """What the parameter means."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A further run of a scenario."""

    set: Anything
    """New values of parameters."""
    labels: tuple[Label, ...] | None = None
    """Labels in the place of the scenario's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioFile:
    """What is put on a cluster, what is done to it, and what must come of it."""

    __pydantic_config__ = READ

    version: Literal[1]
    """Version of the scenario language."""
    name: ScenarioName
    """The topic and the behaviour; the same as the file's path, as in paper/figure-1."""
    description: Filled
    """One sentence that a stranger understands."""
    source: Filled = ""
    """Where the figures of this scenario come from."""
    labels: tuple[Label, ...] = ()
    """Words to select scenarios by, as in `stowage run --label smoke`."""
    featureGates: Mapping[GateName, bool] = field(default_factory=dict)  # noqa: N815 - as in Kubernetes' own files
    """Feature gates to switch on or off in the run's cluster and its scheduler, as in {GenericWorkload: true}."""
    apiGroups: tuple[GroupVersion, ...] = ()  # noqa: N815
    """Versions of API groups that are not served by default, as in scheduling.k8s.io/v1beta1. Those that a gate is of
    no use without need not be named."""
    parameters: Mapping[ParameterName, Parameter] = field(default_factory=dict)
    """Values that variants may change. A parameter is used as ${name}, inside braces or brackets as "${name}"; one that
    is never used is an error."""
    nodes: Annotated[tuple[Node, ...], MinLen(1)] = ()
    """The nodes, one entry for each kind, created in this order."""
    workload: Annotated[tuple[Workload, ...], MinLen(1)] = ()
    """The controllers whose pods are to be placed."""
    instance: InstanceSpec | None = None
    """A generated instance of the paper's evaluation; stands in the place of nodes and workload. Nodes are called
    node-0 and so on, workloads rs-01-p<priority> and so on."""
    objects: Mapping[Label, Annotated[Anything, Written(Manifest, dict)]] = field(default_factory=dict)
    """What steps apply besides the workload, by name: manifests of any kind that the API server serves, as Kubernetes
    knows them. The name may be left out, and the apiVersion of Kubernetes' own kinds and of those that the scenario
    defines, which is the server's choice then. Kinds that have namespaces are put into the run's own."""
    scheduler: Release = field(default_factory=Release)
    """The release that places the pods, until a step `release` brings another."""
    optimizer: OptimizerSettings = field(default_factory=OptimizerSettings)
    """How the optimiser is started and bounded, where one runs."""
    steps: Annotated[tuple[Annotated[Action, Written(OneStep, _take_one)], ...], MinLen(1)]
    """What happens, in this order; each step is a mapping with one key, its kind. Nothing happens that no step says."""
    timeouts: Annotated[Mapping[str, float], Written(Timeouts, dict)] = field(default_factory=dict)
    """Deadlines in seconds by kind of step, in the place of the defaults."""
    catch: Annotated[tuple[Catch, ...], MinLen(1)] = ()
    """What to collect when a step or a check fails."""
    headlines: Annotated[tuple[MetricName, ...], MinLen(1), MaxLen(6)] = ()
    """The metrics of which `stowage compare` gives a verdict, the one that leads its report first; without it, speed,
    result and spread of the pods, recovery, and what `metrics` has bounds of."""
    expect: Expectations
    """What must come of the scenario. What is not named is not checked."""
    variants: Mapping[Label, Variant] = field(default_factory=dict)
    """Further runs of the same scenario under the name <name>@<variant>, by other values of its parameters."""
