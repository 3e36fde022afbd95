"""Steps that create, change and delete workloads, objects and plans, and choose what places pods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from annotated_types import Gt, Interval, Le, MinLen

from stowage_testbed.scenario.objects import ObjectSpec, is_file
from stowage_testbed.scenario.steps.action import Action, Demand, Where, join_names, write_plain
from stowage_testbed.scenario.types import Anything, AppliedNames, Cpu, Hidden, Label, Memory, Of, Some, Sort, Written

ALL = "all"  # In the place of names: every workload that no burst is made of


@dataclass(frozen=True, slots=True)
class Apply(Action):
    """Create workloads and objects in order; `all`: those that no burst is made of.

    A path, of a YAML file or with a slash at its end of a folder, stands for the objects there, and begins in the
    folder of the scenario. Those with a ``generateName`` only are others each time. A manifest of an object that is
    there already changes it, as `kubectl apply --server-side` does.

    Attributes
    ----------
    changes
        What the files say of objects that earlier steps have created, by name.
    """

    kind = "apply"
    bare = True
    names: AppliedNames
    changes: Annotated[Mapping[str, ObjectSpec], Hidden()] = field(default_factory=dict, repr=False)

    def in_words(self) -> str:
        """Return what it does, whether names or files are written."""
        return f"create {join_names(self.names)}"

    def uses(self) -> Iterator[tuple[Where, str, Sort]]:
        """Yield the names of workloads and objects, files left out."""
        for place, name, sort in Action.uses(self):
            if name != ALL and not is_file(name):
                yield place, name, sort

    def ask(self, demand: Demand) -> None:
        demand.apply(name for name in self.names if name not in self.changes)
        for name, changed in self.changes.items():
            demand[name] = changed.pods

    @property
    def brings(self) -> tuple[str, ...]:
        return self.names


@dataclass(frozen=True, slots=True)
class ApplyInTurn(Apply):
    """Create workloads and objects one after the other, as `apply` does.

    Each is created when all pods before it have a node or are found unschedulable.
    """

    kind = "apply-in-turn"
    deadline = "settle"


@dataclass(frozen=True, slots=True)
class Delete(Action):
    """Delete workloads with their pods, and objects."""

    kind = "delete"
    bare = True
    names: AppliedNames

    def ask(self, demand: Demand) -> None:
        for name in self.names:
            demand[name] = 0

    @property
    def removes(self) -> tuple[str, ...]:
        return self.names


@dataclass(frozen=True, slots=True)
class Scale(Action):
    """Set a workload's number of pods."""

    kind = "scale"
    workload: Annotated[str, Of("controller")]
    """Whose."""
    to: Annotated[int, Interval(ge=0, le=100000)]
    """How many pods it shall have."""

    def ask(self, demand: Demand) -> None:
        demand[self.workload] = self.to


@dataclass(frozen=True, slots=True)
class Patch(Action):
    """Change any part of an object, as `kubectl patch` does: a rollout, a gate, a resize, a quota, a node's label.

    Lists whose elements Kubernetes tells apart by a key, such as containers, are merged element by element.
    """

    kind = "patch"
    object: Annotated[str, Of("applied")]
    """A workload or object of the scenario, or `Kind/name`, as in `Node/node-0` or `Pod/db-1`."""
    change: Annotated[Anything, MinLen(1)]
    """The fields that it shall have; null removes one."""
    subresource: Literal["", "status", "resize", "scale"] = ""
    """The part that takes the change; `resize` for the resources of a running pod, which a fake node grants at once."""

    def uses(self) -> Iterator[tuple[Where, str, Sort]]:
        """Yield the name, unless it names any object of the cluster."""
        return (one for one in Action.uses(self) if "/" not in one[1])

    def ask(self, demand: Demand) -> None:
        spec = self.change.get("spec")
        replicas = spec.get("replicas") if isinstance(spec, Mapping) else None
        if isinstance(replicas, int):
            demand[self.object] = replicas


@dataclass(frozen=True, slots=True)
class Evict(Action):
    """Evict running pods of a workload, as a drain does; its controller replaces them."""

    kind = "evict"
    workload: Annotated[str, Of("controller")]
    """Whose."""
    pods: Some = 1
    """How many, the first by name."""
    node: Annotated[str, Of("node")] = ""
    """Only pods on this node; without it on any."""


@dataclass(frozen=True, slots=True)
class Usage(Action):
    """Set what each pod that a workload has now uses from now on."""

    kind = "usage"
    workload: Annotated[str, Of("pods")]
    """Whose."""
    cpu: Cpu | None = None
    """CPU that each pod uses, as in 250m; without it, it stays as it was."""
    memory: Memory | None = None
    """Memory that each pod uses, as in 64Mi; without it, it stays as it was."""

    def __post_init__(self) -> None:
        if self.cpu is None and self.memory is None:
            raise ValueError("usage of what? write `cpu`, `memory` or both")


@dataclass(frozen=True, slots=True)
class AskForPlan(Action):
    """Create a PackingPlan, as `kubectl create` does."""

    kind = "ask-for-plan"
    plan: Label
    """Its name."""
    execution_mode: Literal["Execute", "DryRun"] = "Execute"
    """Whether it is carried out, or only made."""
    time_limit_s: Annotated[float, Gt(0), Le(3600)] | None = None
    """Time limit of its solve in seconds; without it the optimiser's own."""

    @property
    def brings(self) -> tuple[str, ...]:
        return (self.plan,)


def _list_nodes(written: Mapping[str, int] | tuple[str, ...]) -> tuple[str, ...]:
    """Return a node for each pod; of those that are counted in the order of names."""
    if isinstance(written, Mapping):
        return tuple(node for node, count in written.items() for _ in range(count))
    return written


NodesOfPods = Annotated[
    tuple[str, ...],
    Written(Annotated[Mapping[str, Some], MinLen(1)] | Annotated[tuple[str, ...], MinLen(1)], _list_nodes),
]


@dataclass(frozen=True, slots=True)
class Place(Action):
    """Create workloads and bind pods of them to nodes, past the scheduler.

    All nodes are closed for new pods meanwhile. Of each workload it has how many pods each node has, or a node for each
    pod in the order of the pods' names, "" for none. Pods that get no node here are for the scheduler afterwards.
    """

    kind = "place"
    bare = True
    deadline = "settle"
    nodes: Annotated[Mapping[str, NodesOfPods], MinLen(1)]

    def uses(self) -> Iterator[tuple[Where, str, Sort]]:
        """Yield the workloads and the nodes of their pods."""
        for name, nodes in self.nodes.items():
            yield (name,), name, "applied"
            yield from (((name,), node, "node") for node in nodes if node)

    def ask(self, demand: Demand) -> None:
        demand.apply(self.nodes)

    @property
    def brings(self) -> tuple[str, ...]:
        return tuple(self.nodes)


Profile = Literal["default", "deterministic", "optimizer", "optimizer-deterministic", "score-cache"]
"""The chart's profiles."""

RESERVING_PROFILES: tuple[Profile, ...] = ("optimizer", "optimizer-deterministic")
"""Profiles of the chart with the plugins of plans and reservations."""


@dataclass(frozen=True, slots=True)
class Release(Action):
    """Install the chart's release, or bring it to these settings, so that it serves.

    A scheduler under comparison serves in its stead.
    """

    kind = "release"
    profile: Profile = "deterministic"
    """A profile of the chart."""
    optimizer: bool = False
    """Whether the optimiser runs beside the scheduler; it needs a profile that knows it."""
    values: Anything = field(default_factory=dict)
    """Helm values of the chart, over all others."""

    def __post_init__(self) -> None:
        if self.optimizer and self.profile not in RESERVING_PROFILES:
            known = " or ".join(RESERVING_PROFILES)
            raise ValueError(f"`profile` {self.profile} does not know the optimiser; choose {known}")

    @property
    def can_be_kept(self) -> bool:
        """Whether its scheduler is as new once its pods and nodes are gone.

        One that makes plans counts and waits by its past.
        """
        return self.profile not in RESERVING_PROFILES

    def in_words(self) -> str:
        """Return what it does: the release has no step of its own in most files."""
        text = f"have the chart's release serve with profile {self.profile}"
        more = {key: value for key, value in write_plain(self).items() if key != "profile"}
        return f"{text}, {more}" if more else text


@dataclass(frozen=True, slots=True)
class Pack(Action):
    """Have the optimiser pack what is there, and wait until it is done.

    Where it is asked by hand only, it is asked once.
    """

    kind = "pack"
