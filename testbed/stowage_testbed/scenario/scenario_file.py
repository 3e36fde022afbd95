"""A scenario file as it is written: every section, and what each of them means.

From this one class come the JSON Schema, the reference page and what `stowage scenario
explain` says of the language.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, make_dataclass
from typing import Annotated, Any, Literal

from stowage_testbed.declaration import form, setting
from stowage_testbed.scenario.expectations import Expectations, MetricName
from stowage_testbed.scenario.manifest_forms import Anything, Filled, WrittenObject
from stowage_testbed.scenario.model import Arrival, CatchItem, CaughtThing, InstanceSpec, OptimizerSettings, Workload
from stowage_testbed.scenario.steps.action import Seconds
from stowage_testbed.scenario.steps.kinds import ACTIONS
from stowage_testbed.scenario.steps.nodes import Node
from stowage_testbed.scenario.steps.scheduling import Release
from stowage_testbed.scenario.words import HALVES, STEPS, Label

Catch = Annotated[
    CatchItem,
    form(
        written=Literal["events", "logs"] | Annotated[CaughtThing, form(minProperties=1, maxProperties=1)],
        parse=CatchItem.read,
    ),
]
Labels = Annotated[tuple[Label, ...], form(uniqueItems=True)]
ParameterName = Annotated[str, form(format="parameter-name")]

_ACTIONS = {kind.replace("-", "_"): action for kind, action in ACTIONS.items()}
_STEP = make_dataclass("OneStep", [(name, action.hint(), None) for name, action in _ACTIONS.items()])
Step = Annotated[Anything, form(name="step", written=_STEP, minProperties=1, maxProperties=1)]
_END = setting("For what is expected of the end to come true.")
_TIMEOUTS = make_dataclass(
    "Timeouts",
    [("end", Annotated[Seconds, _END], None)]
    + [
        (name, Annotated[Seconds, setting(limit.description, key=action.kind)], None)
        for name, action in _ACTIONS.items()
        if (limit := action.deadline)
    ],
)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A value that variants may change."""

    type: Annotated[
        Literal["integer", "number", "text", "list", "mapping"], setting("What values the parameter takes.")
    ]
    default: Annotated[Any, setting("The value in the default run.")]
    description: Annotated[Filled, setting("What the parameter means.")] = ""


@dataclass(frozen=True, slots=True)
class Variant:
    """A further run of a scenario."""

    set: Annotated[Anything, setting("New values of parameters.")]
    labels: Annotated[Labels | None, setting("Labels in the place of the scenario's own.")] = None


@dataclass(frozen=True, slots=True)
class ScenarioFile:
    """What is put on a cluster, what is done to it, and what must come of it.

    Without steps there are two checkpoints: first the deterministic scheduler alone,
    then with the optimiser.
    """

    name: Annotated[
        str,
        setting(
            "The topic and the behaviour; the same as the file's path, as in paper/figure-1.",
            required=True,
            format="scenario-name",
        ),
    ] = ""
    description: Annotated[Filled, setting("One sentence that a stranger understands.", required=True)] = ""
    source: Annotated[Filled, setting("Where the figures of this scenario come from.")] = ""
    labels: Annotated[Labels, setting("Words to select scenarios by, as in `stowage run --label smoke`.")] = ()
    parameters: Annotated[
        Mapping[ParameterName, Parameter],
        setting(
            "Values that variants may change. A parameter is used as ${name}, inside "
            'braces or brackets as "${name}"; one that is never used is an error.'
        ),
    ] = field(default_factory=dict)
    nodes: Annotated[
        tuple[Node, ...], setting("The nodes, one entry for each kind, created in this order.", minItems=1)
    ] = ()
    workload: Annotated[
        tuple[Annotated[Workload, form(name="workload")], ...],
        setting("The controllers whose pods are to be placed, applied in this order.", minItems=1),
    ] = ()
    instance: Annotated[
        InstanceSpec | None,
        setting(
            "A generated instance of the paper's evaluation; stands in the place of "
            "nodes and workload. Nodes are called node-0 and so on, workloads "
            "rs-01-p<priority> and so on."
        ),
    ] = None
    order: Annotated[
        tuple[str, ...],
        setting("The names of the workloads in the order of arrival; without it, as listed.", only=HALVES, minItems=1),
    ] = ()
    arrival: Annotated[
        Arrival,
        setting(
            "sequential: the next workload is applied when every pod of the last one "
            "is bound or found unschedulable. burst: all workloads are applied at "
            "once.",
            only=HALVES,
        ),
    ] = "sequential"
    optimizer: Annotated[OptimizerSettings, setting("How the optimiser is started and bounded, where one runs.")] = (
        field(default_factory=OptimizerSettings)
    )
    version: Annotated[
        Literal[1] | None, setting("Version of the scenario language; a scenario with steps names it.")
    ] = None
    objects: Annotated[
        Mapping[Label, Annotated[Anything, form(name="object", written=WrittenObject)]],
        setting(
            "What steps apply besides the workload, by name: manifests of any kind "
            "that the API server serves, as Kubernetes knows them. The name may be "
            "left out, and the apiVersion, which is the server's choice then. Kinds "
            "that have namespaces are put into the run's own.",
            only=STEPS,
            minProperties=1,
        ),
    ] = field(default_factory=dict)
    scheduler: Annotated[
        Release, setting("The release that places the pods, until a step `release` brings another.", only=STEPS)
    ] = field(default_factory=Release)
    steps: Annotated[
        tuple[Step, ...],
        setting(
            "What happens, in this order; each step is a mapping with one key, its "
            "kind. With steps nothing happens that no step says.",
            minItems=1,
        ),
    ] = ()
    timeouts: Annotated[
        Mapping[str, float],
        form(written=_TIMEOUTS),
        setting("Deadlines in seconds by kind of step, in the place of the defaults.", only=STEPS),
    ] = field(default_factory=dict)
    catch: Annotated[
        tuple[Catch, ...], setting("What to collect when a step or a check fails.", only=STEPS, minItems=1)
    ] = ()
    headlines: Annotated[
        tuple[MetricName, ...],
        setting(
            "The metrics of which `stowage compare` gives a verdict, the one that "
            "leads its report first; without it, speed, result and spread of the pods, "
            "recovery, and what `metrics` has bounds of.",
            only=STEPS,
            minItems=1,
            maxItems=6,
        ),
    ] = ()
    expect: Annotated[
        Expectations, setting("What must come of the scenario. What is not named is not checked.", required=True)
    ] = field(default_factory=Expectations)
    variants: Annotated[
        Mapping[Label, Variant],
        setting(
            "Further runs of the same scenario under the name <name>@<variant>, by other values of its parameters."
        ),
    ] = field(default_factory=dict)
