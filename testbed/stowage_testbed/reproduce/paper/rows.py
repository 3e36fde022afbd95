"""An instance of the paper's evaluation."""

from __future__ import annotations

from dataclasses import dataclass

from stowage_testbed.reproduce.instance.rows import Where


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
