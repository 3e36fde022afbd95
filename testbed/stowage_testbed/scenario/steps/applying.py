"""Steps that create workloads and objects, and delete them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated

from stowage_testbed.scenario.manifests import make_controllers
from stowage_testbed.scenario.objects import ObjectSpec, is_file
from stowage_testbed.scenario.steps.action import Action, Demand, Where, join_names
from stowage_testbed.scenario.steps.context import StepContext, delete_object
from stowage_testbed.scenario.steps.waiting import some_pods
from stowage_testbed.scenario.types import AppliedNames, Hidden, Sort

ALL = "all"  # In the place of names: every workload that no burst is made of


@dataclass(frozen=True, slots=True)
class Apply(Action):
    """Create workloads and objects in order; `all`: those that no burst is made of.

    A path, of a YAML file or with a slash at its end of a folder, stands for the objects there, and begins in the
    folder of the scenario. Those with a ``generateName`` only are others each time. A manifest of an object that is
    there already changes it, as `kubectl apply --server-side` does.
    """

    kind = "apply"
    bare = True
    names: AppliedNames
    # What the files say of objects that earlier steps have created, by name.
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

    def carry_out(self, context: StepContext) -> None:
        for name in self.names:
            self._create(context, name)

    def _create(self, context: StepContext, name: str) -> None:
        if workload := context.workloads.get(name):
            context.create_groups(workload)
            for manifest in make_controllers(workload, context.namespace):
                context.create(manifest)
        elif item := self.changes.get(name) or context.scenario.objects.get(name):
            context.create_object(item)


@dataclass(frozen=True, slots=True)
class ApplyInTurn(Apply):
    """Create workloads and objects one after the other, as `apply` does.

    Each is created when all pods before it have a node or are found unschedulable.
    """

    kind = "apply-in-turn"
    deadline = "settle"

    def carry_out(self, context: StepContext) -> None:
        wanted, brought = context.demand.total(), context.scenario.pods_by_name
        for name in self.names:
            self._create(context, name)
            wanted += brought.get(name, 0)
            settled = some_pods(context.namespace, (), wanted, "settled")
            context.wait_for("all pods to have a node or be found unschedulable", settled)


@dataclass(frozen=True, slots=True)
class Delete(Action):
    """Delete workloads with their pods, and objects."""

    kind = "delete"
    bare = True
    names: AppliedNames

    def ask(self, demand: Demand) -> None:
        for name in self.names:
            demand.pop(name, None)

    def carry_out(self, context: StepContext) -> None:
        for name in self.names:
            item, workload = context.scenario.objects.get(name), context.workloads.get(name)
            if item is not None:
                delete_object(context.objects, item, context.namespace)
                continue
            if workload is not None:
                for one in workload.controller_names:
                    context.objects.delete(workload.kind, one, namespace=context.namespace)
            if workload is None or context.made[name]:
                for pod in context.pods_of(name):
                    context.objects.delete("Pod", pod.name, namespace=context.namespace)
