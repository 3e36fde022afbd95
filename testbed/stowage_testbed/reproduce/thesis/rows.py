"""An instance of the thesis's evaluation."""

from __future__ import annotations

from dataclasses import dataclass

from stowage_testbed.reproduce.instance.rows import Where


@dataclass(frozen=True, slots=True)
class ThesisRow:
    """An instance on which First Fit Decreasing leaves pods out.

    Attributes
    ----------
    case
        Names it.
    nodes, pods_per_node, priorities, usage_percent
        The cell: the ratio of the thesis is the usage.
    labelled
        Whether pods ask for labels of nodes, or avoid them.
    number, seed, seeds_tried
        Among those of its cell, what it was generated from, and how many seeds it took
        until the heuristic left a pod out.
    pod_priority
        Of each pod; the largest matters most.
    start
        Where the heuristic leaves the pods.
    """

    case: str
    nodes: int
    pods_per_node: int
    priorities: int
    usage_percent: int
    labelled: bool
    number: int
    seed: int
    seeds_tried: int
    pod_priority: tuple[int, ...]
    start: Where
