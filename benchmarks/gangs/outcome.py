"""What came of a cluster: gangs of which enough pods have a node, and victims."""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from benchmarks.gangs.instance import NOWHERE, GangInstance, Where, node_name
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.objective import EVICTION, MOVE


@dataclass(frozen=True, slots=True)
class Outcome:
    """Where a scheduler left a cluster.

    Parameters
    ----------
    gang_pods, gangs, pods
        By priority, highest first: pods with a node in gangs of which enough have one, these gangs, and all pods with
        a node.
    value
        What plans maximize, one priority after the other: pods that ran and have a node, all with a node, and what is
        lost by moves and evictions.
    lost
        Pods that ran and have no node.
    left_behind
        Pods that run in a gang of which enough ran and no longer do.
    disrupted
        Pods that ran and were taken off their node, wherever they are now.
    """

    gang_pods: tuple[int, ...]
    gangs: tuple[int, ...]
    pods: tuple[int, ...]
    value: tuple[tuple[int, int, int], ...]
    lost: int
    left_behind: int
    disrupted: int

    @property
    def victims(self) -> int:
        """The pods that ran and have no node, and those that are of no use without them."""
        return self.lost + self.left_behind


def outcome_of(instance: GangInstance, where: Where, disrupted: Collection[str]) -> Outcome:
    """Return what came of ``instance``, of whose pods some were taken off their node."""
    gang_pods, gangs, pods, kept, cost = (Counter[int]() for _ in range(5))
    lost = left_behind = left_node = 0
    for one in instance.workloads:
        ran = {pod: node_name(home) for pod, home in zip(one.pods, one.homes, strict=True) if home != NOWHERE}
        running = sum(bool(where.get(pod)) for pod in ran)
        staying = sum(where.get(pod) == home for pod, home in ran.items())
        there = sum(bool(where.get(pod)) for pod in one.pods)
        pods[one.priority] += there
        kept[one.priority] += running
        cost[one.priority] += EVICTION * (len(ran) - running) + MOVE * (running - staying)
        lost += len(ran) - running
        left_node += sum(pod in disrupted for pod in ran)
        if one.least and there >= one.least:
            gangs[one.priority] += 1
            gang_pods[one.priority] += there
        elif one.least and len(ran) >= one.least:
            left_behind += running

    def by_tier(counted: Mapping[int, int]) -> tuple[int, ...]:
        return tuple(counted[priority] for priority in instance.priorities)

    value = zip(by_tier(kept), by_tier(pods), (-one for one in by_tier(cost)), strict=True)
    return Outcome(by_tier(gang_pods), by_tier(gangs), by_tier(pods), tuple(value), lost, left_behind, left_node)


def where_after(instance: GangInstance, plan: pb.Plan) -> Where:
    """Return where the pods are when a plan is carried out."""
    where: dict[str, str | None] = {
        pod: node_name(home) if home != NOWHERE else None
        for one in instance.workloads
        for pod, home in zip(one.pods, one.homes, strict=True)
    }
    where.update((one.pod_uid, one.node) for one in plan.placements)
    where.update((one.pod_uid, one.to_node) for one in plan.moves)
    where.update((one.pod_uid, None) for one in plan.evictions)
    return where
