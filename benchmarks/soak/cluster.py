"""The cluster of a soak: nodes, workloads of two priorities, budgets, a service.

What a turn has changed is put back after it, so that hours later the cluster is still
the same and only what leaks has grown.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import count

from benchmarks.faults.workloads import budget_manifest
from stowage_testbed.amounts.resources import MOST_PODS, Resources
from stowage_testbed.api.client import Manifest
from stowage_testbed.api.objects import make_manifest
from stowage_testbed.cluster.node_pool import NodePool
from stowage_testbed.cluster.nodes import create_nodes
from stowage_testbed.helm import Release
from stowage_testbed.observe.condition import ConditionResult
from stowage_testbed.observe.pod import ObservedPod, read_pod
from stowage_testbed.observe.pod_body import (
    allocatable_of,
    node_of,
    requests_of,
    takes_room,
)
from stowage_testbed.observe.state import State
from stowage_testbed.run.context import RunContext
from stowage_testbed.run.environment import (
    ScenarioEnvironment,
    await_account,
    collect_pods,
    make_namespace,
)
from stowage_testbed.scenario.manifests import (
    make_controller,
    make_priority_class,
)
from stowage_testbed.scenario.model import Workload

NAMESPACE = "soak"
PODS_A_NODE = 3
PODS_A_WORKLOAD = 15
LOW, HIGH = -10, 100
GIB = 1 << 30
NODE = NodePool("node", 1, Resources(cpu=4500, memory=16 * GIB, pods=MOST_PODS))
STEADY = Workload("steady", PODS_A_WORKLOAD, Resources(cpu=1000, memory=GIB))
BEYOND_MILLI = 100
"""A large pod asks for so much more CPU than any node has free."""

LEAST_ON_A_NODE = 2
"""With fewer steady pods a node could be so empty that no larger pod exists."""

CROWDING_ROUNDS = 10
"""A new pod goes to the emptiest node of those that the scheduler looks at, which are
some four of ten, so filling the emptiest nodes takes a few rounds."""

WEB = Workload("web", 3, Resources(cpu=100, memory=GIB // 8), kind="Deployment")
KEPT = frozenset({"steady", "web"})
"""Workloads that stay all the time, by the first word of their names."""

EXTRA_KINDS = {
    "PackingPlan": "",
    "PodDisruptionBudget": NAMESPACE,
    "Reservation": "",
    "ResourceQuota": NAMESPACE,
}
"""What turns bring, and where it is. Plans of the scheduler's own it clears itself."""

OWN_PLAN = "plan-"
BUDGET = "steady-budget"


@dataclass(slots=True)
class SoakCluster:
    """A cluster that is up, with the soak's workloads, under a release that serves.

    Parameters
    ----------
    nodes
        How many.
    rng
        Everything that is drawn is drawn from it.
    """

    run: RunContext
    release: Release
    nodes: int
    rng: random.Random
    _pools: Iterator[int] = field(default_factory=count)
    _numbers: Iterator[int] = field(default_factory=count)

    @property
    def environment(self) -> ScenarioEnvironment:
        """Return its namespace, and the nodes that there are now."""
        return ScenarioEnvironment(NAMESPACE, tuple(sorted(self.node_bodies())))

    @property
    def steady(self) -> list[Workload]:
        """Return the workloads that are there all the time."""
        number = max(1, self.nodes * PODS_A_NODE // PODS_A_WORKLOAD)
        return [
            replace(
                STEADY,
                name=f"{STEADY.name}-{index:04}",
                priority=LOW if index % 4 == 0 else 0,
            )
            for index in range(number)
        ]

    def create(self) -> None:
        """Create all of it, and wait until every pod has a node."""
        make_namespace(self.run, NAMESPACE)
        for priority in (LOW, HIGH):
            self.run.objects.create(make_priority_class(priority))
        self.add_nodes(self.nodes)
        await_account(self.run, NAMESPACE)
        self._create_budgets()
        for workload in (*self.steady, WEB):
            self.apply(workload)
        self.run.objects.create(_autoscaler())
        self._await_steady(frozenset())
        self.crowd()

    def large(self, name: str, replicas: int, priority: int = 0) -> Workload:
        """Return pods larger than any free room: they fit if others go elsewhere."""
        cpu_milli = max(self._free_milli().values()) + BEYOND_MILLI
        asked = Resources(cpu=cpu_milli, memory=GIB)
        return Workload(name, replicas, asked, priority=priority)

    def crowd(self) -> None:
        """Fill the emptiest nodes: as many steady pods of the fullest start anew.

        What a turn's plans have moved is not moved back, so that after a few turns
        large pods would find room by themselves and nothing would be tried.
        """
        for _ in range(CROWDING_ROUNDS):
            steady: dict[str, list[str]] = {name: [] for name in self.node_bodies()}
            for pod in self.run.observer.read(lambda state: state.pods(NAMESPACE)):
                if _is_steady(pod) and pod.node in steady:
                    steady[pod.node].append(pod.name)
            lacking = sum(max(0, LEAST_ON_A_NODE - len(p)) for p in steady.values())
            if not lacking:
                return
            fullest = sorted(steady.values(), key=len, reverse=True)
            leaving = frozenset(pods[0] for pods in fullest[:lacking])
            for name in leaving:
                self.run.objects.delete("Pod", name, namespace=NAMESPACE, at_once=True)
            self._await_steady(leaving)

    def add_nodes(self, number: int) -> None:
        """Add nodes under names that were never used; they are ready on return."""
        prefix = f"{NODE.name_prefix}-{next(self._pools)}"
        pool = replace(NODE, name_prefix=prefix, count=number)
        timeout_s = self.run.timeouts.nodes_s(number)
        create_nodes(self.run.api, [pool], timeout_s=timeout_s)

    def apply(self, workload: Workload) -> None:
        """Create a workload of this namespace."""
        self.run.objects.create(make_controller(workload, NAMESPACE))

    def fresh_name(self, word: str) -> str:
        """Return a name that was never used."""
        return f"{word}-{next(self._numbers)}"

    def node_bodies(self) -> dict[str, Manifest]:
        """Return the fake nodes by name."""
        bodies = self.run.observer.read(lambda state: state.bodies("Node"))
        found = {str(body["metadata"]["name"]): dict(body) for body in bodies}
        return {name: one for name, one in found.items() if name.startswith("node-")}

    def _free_milli(self) -> dict[str, int]:
        """Return the CPU that each open node has left."""
        free = {
            name: allocatable_of(body)["cpu"]
            for name, body in self.node_bodies().items()
            if not body["spec"].get("unschedulable")
        }
        for body in self.run.observer.read(lambda state: state.bodies("Pod")):
            if node_of(body) in free and takes_room(body):
                free[node_of(body)] -= requests_of(body).get("cpu", 0)
        return free

    def _await_steady(self, leaving: frozenset[str]) -> None:
        """Wait until these pods have gone and all steady ones have nodes."""
        wanted = sum(one.pods for one in self.steady)

        def condition(state: State) -> ConditionResult:
            pods = [pod for pod in state.pods(NAMESPACE) if _is_steady(pod)]
            old = leaving.intersection(pod.name for pod in pods)
            placed = sum(pod.bound for pod in pods)
            holds = len(pods) == wanted == placed and not old
            return ConditionResult(
                holds, f"{placed} of {wanted}; {len(old)} have yet to go"
            )

        self.run.observer.wait_for(
            "the steady pods to have nodes",
            condition,
            timeout_s=self.run.timeouts.settle_base_s + wanted,
        )

    def restore(self) -> None:
        """Put back what the turn has changed, and take away what it has brought."""
        objects = self.run.objects
        for kind, where in EXTRA_KINDS.items():
            for body in objects.list_all(kind, where):
                name = body["metadata"]["name"]
                if not name.startswith((BUDGET, OWN_PLAN)):
                    objects.delete(kind, name, namespace=where)
        self._restore_workloads()
        self._restore_nodes()

    def _restore_workloads(self) -> None:
        objects = self.run.objects
        there = {
            str(body["metadata"]["name"]): body
            for body in objects.list_all("ReplicaSet", NAMESPACE)
        }
        for name in there:
            if name.partition("-")[0] not in KEPT:
                objects.delete("ReplicaSet", name, namespace=NAMESPACE)
        for workload in self.steady:
            body = there.get(workload.name)
            if body is None:
                self.apply(workload)
            elif body["spec"]["replicas"] != workload.replicas:
                change = {"spec": {"replicas": workload.replicas}}
                objects.patch("ReplicaSet", workload.name, change, namespace=NAMESPACE)
        pods = self.run.observer.read(lambda state: state.bodies("Pod", NAMESPACE))
        for pod in map(read_pod, pods):
            if not pod.owner_kind:
                objects.delete("Pod", pod.name, namespace=NAMESPACE, at_once=True)

    def _restore_nodes(self) -> None:
        there = self.node_bodies()
        changed = [name for name, body in there.items() if _is_changed(body)]
        for name in changed:
            # A node that was shrunk or closed leaves, as an upgrade would have it.
            self.run.objects.delete("Node", name)
            collect_pods(self.run, NAMESPACE, name)
        missing = self.nodes - len(there) + len(changed)
        if missing > 0:
            self.add_nodes(missing)

    def _create_budgets(self) -> None:
        for workload in self.steady[::3]:
            name = f"{BUDGET}-{workload.name}"
            self.run.objects.create(
                budget_manifest(name, NAMESPACE, workload.name, max_unavailable=1)
            )


def _is_steady(pod: ObservedPod) -> bool:
    return pod.workload.startswith(STEADY.name)


def _is_changed(body: Manifest) -> bool:
    spec, memory = body["spec"], body["status"]["allocatable"]["memory"]
    closed = spec.get("unschedulable") or spec.get("taints")
    return bool(closed) or memory != NODE.resources.quantities()["memory"]


def _autoscaler() -> Manifest:
    metric = {
        "type": "Resource",
        "resource": {
            "name": "cpu",
            "target": {"type": "Utilization", "averageUtilization": 50},
        },
    }
    spec = {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": WEB.kind, "name": WEB.name},
        "minReplicas": WEB.replicas,
        "maxReplicas": 5 * WEB.replicas,
        "metrics": [metric],
    }
    return make_manifest(
        "autoscaling/v2", "HorizontalPodAutoscaler", WEB.name, NAMESPACE, spec=spec
    )
