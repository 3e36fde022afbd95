"""What one run gave: speed, and how the pods lie on the nodes."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any

from benchmarks.score_cache.workload import violations
from stowage_testbed.metrics.distribution import compute_spread, jain_index
from stowage_testbed.simulate import Instance, Placements


@dataclass(frozen=True, slots=True)
class Outcome:
    """One run of one arm on one case.

    Attributes
    ----------
    case, arm, round_number
        Which run it was.
    pods_s, pods_cpu_s
        Pods placed a second, by the process's own clock, and a second of processor
        time, which others on the machine take nothing from.
    placed, pending
        Pods.
    jain, cv
        Jain's index and the coefficient of variation of pods a node.
    violations
        Nodes with more on them than they have, and zones beyond the skew of a
        constraint.
    counters
        What the scheduler's plugins counted.
    """

    case: str
    arm: str
    round_number: int
    pods_s: float
    pods_cpu_s: float
    placed: int
    pending: int
    jain: float
    cv: float
    violations: int
    counters: dict[str, float] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        """Return the outcome as JSON values."""
        return asdict(self)


def outcome_of(
    case: str, arm: str, round_number: int, instance: Instance, found: Placements
) -> Outcome:
    """Return what ``found`` says of a measured run of ``instance``.

    Raises
    ------
    ValueError
        The run was not measured, or placed nothing.
    """
    if found.measurement is None:
        raise ValueError(f"{case}: {arm} was not measured; ask for it in the instance")
    by_node = Counter({node["metadata"]["name"]: 0 for node in instance.nodes})
    by_node.update(node for node in found.nodes.values() if node)
    pods = list(by_node.values())
    cv, index = compute_spread(pods)["cv"], jain_index(pods)
    if cv is None or index is None:
        raise ValueError(f"{case}: {arm} placed nothing")
    placed = sum(pods)
    return Outcome(
        case=case,
        arm=arm,
        round_number=round_number,
        pods_s=placed / found.measurement.pods_s,
        pods_cpu_s=placed / found.measurement.cpu_s,
        placed=placed,
        pending=len(found.nodes) - placed,
        jain=float(index),
        cv=cv,
        violations=violations(instance, found.nodes),
        counters=dict(found.measurement.counters),
    )
