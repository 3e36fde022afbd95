"""Steps that create, change and delete workloads, objects and plans."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

from stowage_testbed.amounts.quantity import Cpu, Memory, format_cpu, format_memory
from stowage_testbed.declaration import make_object, setting
from stowage_testbed.scenario.issues import DocumentIssue
from stowage_testbed.scenario.objects import is_file
from stowage_testbed.scenario.steps.action import (
    Action,
    Deadline,
    Names,
    NameUsed,
    Surroundings,
    join_names,
    list_names_used,
    show_count,
)
from stowage_testbed.scenario.steps.demand import Demand

ALL = "all"
"""In the place of names: every workload that no burst is made of."""


@dataclass(frozen=True, slots=True)
class Apply(Action):
    """Create workloads and objects in order; `all`: those that no burst is made of.

    A path, of a YAML file or with a slash at its end of a folder, stands for the
    objects there, and begins in the folder of the scenario. Those with a
    ``generateName`` only are others each time.
    """

    kind = "apply"
    bare = True
    names: Annotated[Names, setting("What.", names="applied")]

    @classmethod
    def read(cls, plain: Any, surroundings: Surroundings) -> Self:
        if plain == ALL:
            return make_object(cls, {"names": tuple(surroundings.controllers)})
        return make_object(cls, {"names": plain})

    @classmethod
    def references(cls, plain: Any) -> Iterator[NameUsed]:
        for one in () if plain == ALL else list_names_used(cls, plain):
            if not is_file(one.name):
                yield one

    def in_words(self) -> str:
        return f"create {join_names(self.names)}"

    def ask(self, demand: Demand) -> None:
        demand.apply(self.names)

    @property
    def brings(self) -> tuple[str, ...]:
        return self.names


@dataclass(frozen=True, slots=True)
class ApplyInTurn(Apply):
    """Create workloads and objects one after the other, as `apply` does.

    Each is created when all pods before it have a node or are found unschedulable.
    """

    kind = "apply-in-turn"
    deadline = Deadline("For the pods of each that is applied in turn.", "settle")

    def in_words(self) -> str:
        return f"create {join_names(self.names)}, each when all pods before it have a node or are found unschedulable"


@dataclass(frozen=True, slots=True)
class Delete(Action):
    """Delete workloads with their pods, and objects."""

    kind = "delete"
    bare = True
    names: Annotated[Names, setting("What.", names="applied")]

    def in_words(self) -> str:
        return f"delete {join_names(self.names)}"

    def ask(self, demand: Demand) -> None:
        for name in self.names:
            demand.set(name, 0)

    @property
    def removes(self) -> tuple[str, ...]:
        return self.names


@dataclass(frozen=True, slots=True)
class Scale(Action):
    """Set a workload's number of pods."""

    kind = "scale"
    workload: Annotated[str, setting("Whose.", names="controller")]
    to: Annotated[int, setting("How many pods it shall have.", minimum=0, maximum=100000)]

    def in_words(self) -> str:
        return f"scale {self.workload} to {show_count(self.to, 'pod')}"

    def ask(self, demand: Demand) -> None:
        demand.set(self.workload, self.to)


@dataclass(frozen=True, slots=True)
class Evict(Action):
    """Evict running pods of a workload, as a drain does; its controller replaces them.

    With ``node`` only pods on that node.
    """

    kind = "evict"
    workload: Annotated[str, setting("Whose.", names="controller")]
    pods: Annotated[int, setting("How many, the first by name.", minimum=1)] = 1
    node: Annotated[str, setting("Only pods on this node; without it on any.", names="node")] = ""

    def in_words(self) -> str:
        where = f" on {self.node}" if self.node else ""
        return f"evict {show_count(self.pods, 'bound pod')} of {self.workload}{where}"


@dataclass(frozen=True, slots=True)
class Usage(Action):
    """Set what each pod that a workload has now uses from now on.

    ``None`` leaves a resource as it was.
    """

    kind = "usage"
    workload: Annotated[str, setting("Whose.", names="pods")]
    cpu_milli: Annotated[Cpu | None, setting("CPU that each pod uses, as in 250m.", key="cpu")] = None
    memory_bytes: Annotated[Memory | None, setting("Memory that each pod uses, as in 64Mi.", key="memory")] = None

    @classmethod
    def issues(cls, plain: Any) -> Iterator[DocumentIssue]:
        if not {"cpu", "memory"} & set(plain):
            message = "usage of what? write `cpu`, `memory` or both"
            yield DocumentIssue((), message)

    def in_words(self) -> str:
        parts = []
        if self.cpu_milli is not None:
            parts.append(f"cpu {format_cpu(self.cpu_milli)}")
        if self.memory_bytes is not None:
            parts.append(f"memory {format_memory(self.memory_bytes)}")
        return f"let each pod that {self.workload} has now use {' and '.join(parts)}"


@dataclass(frozen=True, slots=True)
class AskForPlan(Action):
    """Create a PackingPlan, as `kubectl create` does."""

    kind = "ask-for-plan"
    plan: Annotated[str, setting("Its name.", format="label")]
    execution_mode: Annotated[Literal["Execute", "DryRun"], setting("Whether it is carried out, or only made.")] = (
        "Execute"
    )
    time_limit_s: Annotated[
        float | None,
        setting(
            "Time limit of its solve in seconds; without it the optimiser's own.", exclusiveMinimum=0, maximum=3600
        ),
    ] = None

    def in_words(self) -> str:
        end = "carried out" if self.execution_mode == "Execute" else "made, not carried out"
        text = f"ask for a plan named {self.plan} that is {end}"
        if self.time_limit_s is not None:
            text += f", solved in {self.time_limit_s:g} s"
        return text

    @property
    def brings(self) -> tuple[str, ...]:
        return (self.plan,)
