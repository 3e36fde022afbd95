"""Instances and solves as rows, and their tasks; pods and nodes are numbers in the order of arrival and of names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from time import perf_counter
from typing import Any, Generic, TypeVar

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.amounts.message import message_of
from stowage_testbed.base.errors import StowageError
from stowage_testbed.observe.pod import WORKLOAD_LABEL
from stowage_testbed.optimizer_service.service import call_failed
from stowage_testbed.reproduce.sweep.execution import Tools
from stowage_testbed.scenario.instances import REQUIRED, Case
from stowage_testbed.scenario.manifests import make_nodes
from stowage_testbed.scenario.model import Scenario
from stowage_testbed.scenario.simulation import NAMESPACE

PENDING = -1

Where = tuple[int, ...]
"""The node of each pod."""

OVERRAN = "the solver overran its time limit"
"""How the service says that it killed a solve, by the wall clock."""

SEED = 1


@dataclass(frozen=True, slots=True)
class Instance:
    """An instance on which a heuristic leaves pods out; every plan begins with ``start``, where it left them."""

    case: str
    nodes: int
    pods_per_node: int
    priorities: int
    usage_percent: int
    number: int
    seed: int
    seeds_tried: int
    pod_priority: tuple[int, ...]
    start: Where

    def placed_by_priority(self, where: Where) -> tuple[int, ...]:
        """Return how many pods have a node, by priority, the highest first."""
        pairs = zip(self.pod_priority, where, strict=True)
        counts = Counter(priority for priority, node in pairs if node != PENDING)
        return tuple(counts[one] for one in sorted(set(self.pod_priority), reverse=True))


InstanceT = TypeVar("InstanceT", bound=Instance)


@dataclass(frozen=True, slots=True)
class TierRow:
    """What a plan claims of one tier; see the contract's TierResult."""

    priority: int
    placed_before: int
    placed: int
    upper_bound: int
    optimal: bool
    disruption: int
    disruption_lower_bound: int

    @classmethod
    def of(cls, tier: pb.TierResult) -> TierRow:
        """Return the claims of a plan about a tier."""
        return cls(*(getattr(tier, one.name) for one in fields(cls)))


@dataclass(frozen=True, slots=True)
class ResultRow:
    """One strategy on one instance; ``plan`` is where the pods are once it is carried out.

    ``optimal``: it proved that no plan places more, and none as many with less disruption. ``wall_s`` is from the call
    to its last answer, ``solve_s`` the solve alone.
    """

    case: str
    strategy: str
    limit_s: float
    cores: int
    end_reason: str
    message: str
    optimal: bool
    plan: Where
    moves: int
    evictions: int
    tiers: tuple[TierRow, ...]
    wall_s: float
    solve_s: float


def facts_of(case: Case, scenario: Scenario, attempt: int, start: Where) -> dict[str, Any]:
    """Return the fields of the `Instance` that a try has found."""
    return {
        "case": case.id,
        "nodes": case.cell.nodes,
        "pods_per_node": case.cell.pods_per_node,
        "priorities": case.cell.priorities,
        "usage_percent": case.cell.usage_percent,
        "number": case.number,
        "seed": case.seed(attempt),
        "seeds_tried": attempt + 1,
        "pod_priority": tuple(one.priority for one in scenario.workload for _ in range(one.replicas)),
        "start": start,
    }


def numbered(scenario: Scenario, nodes: Mapping[str, str | None]) -> Where:
    """Return where the pods are, by their number, from their nodes by full name."""
    numbers = {name: number for number, name in enumerate(node_names(scenario))}
    return tuple(numbers.get(nodes[f"{NAMESPACE}/{name}"] or "", PENDING) for name in pod_names(scenario))


def pod_names(scenario: Scenario) -> list[str]:
    """Return the names of the pods in the order of arrival."""
    return [f"{one.name}-{number}" for one in scenario.workload for number in range(one.replicas)]


def node_names(scenario: Scenario) -> list[str]:
    """Return the names of the nodes in their order."""
    return [name for pool in scenario.nodes for name in pool.node_names()]


@dataclass(frozen=True, slots=True)
class SelectTask(Generic[InstanceT]):
    """Find the instance of a case: the first try on which the heuristic leaves a pod out; no row after so many."""

    case: Case
    tries: int
    attempt: Callable[[Case, int, Tools], InstanceT | None]

    @property
    def id(self) -> str:
        """Return the case's name."""
        return self.case.id

    def execute(self, tools: Tools) -> tuple[InstanceT, ...]:
        """Return the first instance that has a pending pod."""
        for number in range(self.tries):
            found = self.attempt(self.case, number, tools)
            if found is not None:
                return (found,)
        return ()


@dataclass(frozen=True, slots=True)
class SolveTask:
    """One strategy with one limit on one instance, by the paper's policy, or ``deterministic`` on one core."""

    case: Case
    instance: Instance
    strategy: str
    limit_s: float
    deterministic: bool = False

    @property
    def id(self) -> str:
        """Return instance, strategy and limit as one name."""
        steps = " in steps" if self.deterministic else ""
        return f"{self.case.id} {self.strategy} {self.limit_s:g} s{steps}"

    def execute(self, tools: Tools) -> tuple[ResultRow, ...]:
        """Return what the strategy made of it."""
        scenario = self.case.scenario(self.instance.seeds_tried - 1)
        start, cores = self.instance.start, 1 if self.deterministic else tools.cores
        names, nodes = pod_names(scenario), node_names(scenario)
        placed = {name: None if at == PENDING else nodes[at] for name, at in zip(names, start, strict=True)}
        options = pb.SolveOptions(
            strategy=self.strategy,
            time_limit_s=self.limit_s,
            policy=pb.POLICY_PAPER,
            seed=SEED,
            deterministic=self.deterministic,
            workers=cores,
        )
        service, snapshot = tools.service, snapshot_of(scenario, placed)
        began = perf_counter()
        try:
            last = service.last_answer(pb.SolveRequest(snapshot=snapshot, options=options))
        except StowageError as error:
            raise call_failed(self.case.id, self.strategy, str(error)) from None
        wall_s = perf_counter() - began
        if self.deterministic and last.message.startswith(OVERRAN):
            why = f"{self.id}: the machine was too busy for its steps within {self.limit_s:g} s"
            raise StowageError(f"{why}; raise --limits, or use fewer --workers")
        plan = last.plan
        row = ResultRow(
            case=self.case.id,
            strategy=self.strategy,
            limit_s=self.limit_s,
            cores=cores,
            end_reason=pb.EndReason.Name(last.end_reason).removeprefix("END_REASON_"),
            message=last.message,
            optimal=plan.optimal,
            plan=carried_out(start, plan, names, nodes),
            moves=len(plan.moves),
            evictions=len(plan.evictions),
            tiers=tuple(map(TierRow.of, plan.tiers)),
            wall_s=wall_s,
            solve_s=last.durations.solve_s,
        )
        return (row,)


def carried_out(start: Where, plan: pb.Plan, names: Sequence[str], nodes: Sequence[str]) -> Where:
    """Return where the pods are when ``plan`` is carried out from ``start``; a pod's UID is its name."""
    where = dict(zip(names, start, strict=True))
    numbers = {name: number for number, name in enumerate(nodes)}
    for placement in plan.placements:
        where[placement.pod_uid] = numbers[placement.node]
    for move in plan.moves:
        where[move.pod_uid] = numbers[move.to_node]
    for eviction in plan.evictions:
        where[eviction.pod_uid] = PENDING
    return tuple(where[name] for name in names)


def snapshot_of(scenario: Scenario, placements: Mapping[str, str | None]) -> pb.Snapshot:
    """Return the snapshot of a filled cluster; ``placements`` has the node of each ``<workload>-<number>``, or None."""
    sizes = {name: pool.resources for pool in scenario.nodes for name in pool.node_names()}
    snapshot = pb.Snapshot(id=f"{scenario.name}-{scenario.instance.seed if scenario.instance else 0}")
    for node in make_nodes(scenario):
        name, labels = node["metadata"]["name"], node["metadata"]["labels"]
        snapshot.nodes.add(name=name, allocatable=message_of(sizes[name]), labels=labels)
    for workload in scenario.workload:
        name = workload.name
        terms = workload.pod.get("affinity", {}).get("nodeAffinity", {}).get(REQUIRED, {}).get("nodeSelectorTerms", ())
        snapshot.pod_classes.add(
            id=name,
            namespace=NAMESPACE,
            labels={**workload.labels, WORKLOAD_LABEL: name},
            owner=pb.Owner(kind=workload.kind, name=name, uid=f"owner-{name}"),
            priority=workload.priority,
            requests=message_of(workload.requests),
            required_node_affinity=[
                pb.NodeSelectorTerm(match_expressions=[pb.Requirement(**one) for one in term["matchExpressions"]])
                for term in terms
            ],
        )
        for number in range(workload.replicas):
            pod = f"{name}-{number}"
            at = placements[pod] or ""
            snapshot.pods.add(uid=pod, namespace=NAMESPACE, name=pod, class_id=name, node=at, movable=True)
    return snapshot
