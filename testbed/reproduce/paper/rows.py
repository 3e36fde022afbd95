"""What is known of an instance, and of one attempt to improve on it.

Pods and nodes are numbers: a pod its place in the order of arrival, a node its place in
the order of names. `PENDING` stands for the node of a pod that has none.
"""

from __future__ import annotations

from dataclasses import dataclass

PENDING = -1

Where = tuple[int, ...]
"""The node of each pod."""


@dataclass(frozen=True, slots=True)
class InstanceRow:
    """An instance on which the deterministic scheduler leaves pods pending.

    Attributes
    ----------
    case
        Names it.
    nodes, pods_per_node, priorities, usage_percent
        The cell of the paper's grid.
    number
        Among those of its cell, from 0.
    seed
        What it was generated from; 63 bits.
    seeds_tried
        Until the scheduler left a pod pending.
    node_cpu_milli, node_memory_bytes
        Of each node: all are equal.
    pod_priority, pod_cpu_milli, pod_memory_bytes
        Of each pod; the largest priority matters most.
    start
        Where the deterministic scheduler leaves the pods, without preemption: what
        every plan begins with.
    stock
        Where the stock scheduler leaves them, with preemption; a pod that was preempted
        and came back counts as the same.
    stock_preempted
        How many were preempted at least once.
    simulated_s
        What the deterministic scheduler took for the last seed, in seconds.
    """

    case: str
    nodes: int
    pods_per_node: int
    priorities: int
    usage_percent: int
    number: int
    seed: int
    seeds_tried: int
    node_cpu_milli: int
    node_memory_bytes: int
    pod_priority: tuple[int, ...]
    pod_cpu_milli: tuple[int, ...]
    pod_memory_bytes: tuple[int, ...]
    start: Where
    stock: Where
    stock_preempted: int
    simulated_s: float


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


@dataclass(frozen=True, slots=True)
class ResultRow:
    """One strategy on one instance, from the deterministic scheduler's placements.

    Attributes
    ----------
    case
        The instance's.
    strategy, limit_s, cores
        Who solved it, with what limit in seconds and how many threads.
    end_reason, message
        As the optimiser said them.
    optimal
        Whether it proved that no plan places more, and none as many with less
        disturbance.
    plan
        Where the pods are when the plan is carried out.
    moves, evictions
        Of the plan.
    wall_s, solve_s
        From the call to its last answer; and the solve alone.
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
