"""What came of one instance on the real cluster."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LiveRow:
    """One instance, placed by the real scheduler and improved by a real plan.

    Attributes
    ----------
    case
        The instance's.
    strategy, limit_s
        Of the plan.
    difference
        What the cluster placed otherwise than the simulation; empty if nothing.
    simulated_s
        What the simulation took: the median of a few, beside the cluster's run.
    cluster_s
        What the cluster took to make the nodes and to settle the pods; neither its
        start nor the installation of the scheduler is in it.
    start_s
        What the start of the cluster took, which the published runs make for each.
    planned, executed
        Pods placed by priority, the highest first: what the sweep's plan says, and what
        runs after the cluster's plan was carried out. ``planned`` is empty where the
        sweep has no such solve.
    moves, evictions
        Of the cluster's plan.
    error
        Why it could not be carried through; empty if it was.
    """

    case: str
    strategy: str
    limit_s: float
    difference: str
    simulated_s: float
    cluster_s: float
    start_s: float
    planned: tuple[int, ...]
    executed: tuple[int, ...]
    moves: int
    evictions: int
    error: str = ""
