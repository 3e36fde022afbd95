"""The best of all plans for a tiny cluster, by trying each of them."""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

from benchmarks.gangs.instance import NOWHERE, GangInstance, Workload
from benchmarks.optimizer.measurement import Value


class _Choice(NamedTuple):
    """What may come of a workload: its pods by node, and what that is worth.

    Of two with the same pods by node, the greater is better by itself.
    """

    evicted: int
    disruption: int
    by_node: tuple[int, ...]


MOVE, EVICTION = 2, 3
"""What a pod loses that is moved, or evicted (Algorithm 1, line 13)."""


def best_value(instance: GangInstance) -> Value:
    """Return the value of the best of all plans under the strict policy, by trying each of them."""
    every = [list(_choices(one, len(instance.nodes))) for one in instance.workloads]
    return max(_value(instance, chosen) for chosen in product(*every) if _has_room(instance, chosen))


def _choices(workload: Workload, nodes: int) -> Iterator[_Choice]:
    """Yield what may come of a workload: of those with the same pods by node, the best."""
    best: dict[tuple[int, ...], _Choice] = {}
    for ends in product(range(NOWHERE, nodes), repeat=len(workload.homes)):
        if _keeps(workload, ends):
            by_node = tuple(ends.count(node) for node in range(nodes))
            pairs = [(home, end) for home, end in zip(workload.homes, ends, strict=True) if NOWHERE != home != end]
            evicted = sum(end == NOWHERE for _, end in pairs)
            made = _Choice(-evicted, -MOVE * (len(pairs) - evicted) - EVICTION * evicted, by_node)
            best[by_node] = max(best.get(by_node, made), made)
    yield from best.values()


def _keeps(workload: Workload, ends: Sequence[int]) -> bool:
    """Return whether enough pods of a gang have a node or none has, or it is as it was."""
    if ends == workload.homes:
        return True
    there = len(ends) - ends.count(NOWHERE)
    if 0 < there < workload.least:
        return False
    leave = [home != end for home, end in zip(workload.homes, ends, strict=True) if home != NOWHERE]
    return not workload.leaves_whole or all(leave) or not any(leave)


def _has_room(instance: GangInstance, chosen: Sequence[_Choice]) -> bool:
    needs = [one.need for one in instance.workloads]
    return all(
        sum(need[resource] * one.by_node[node] for need, one in zip(needs, chosen, strict=True)) <= has
        for node, room in enumerate(instance.nodes)
        for resource, has in enumerate(room)
    )


def _value(instance: GangInstance, chosen: Sequence[_Choice]) -> Value:
    """Return the value of a plan as the benchmark of plans counts it."""
    pairs = list(zip(instance.workloads, chosen, strict=True))
    tiers = []
    for priority in instance.priorities:
        tier = [(one, choice) for one, choice in pairs if one.priority >= priority]
        evicted = sum(choice.evicted for one, choice in tier if one.priority == priority)
        placed = sum(sum(choice.by_node) for _, choice in tier)
        tiers.append((evicted, placed, sum(choice.disruption for _, choice in tier)))
    return tuple(tiers)
