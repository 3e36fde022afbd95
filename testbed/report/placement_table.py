"""Who stands where, before and after: for scenarios small enough to read."""

from __future__ import annotations

from collections import Counter

from tabulate import tabulate

from testbed.metrics.state import ClusterState
from testbed.run.outcome import PhaseOutcome, ScenarioOutcome

MOST_NODES = 8
MOST_WORKLOADS = 12
PENDING = "(pending)"


def placement_table(outcome: ScenarioOutcome) -> str:
    """Return a node's workloads before and after; empty for a large scenario."""
    scenario = outcome.scenario
    nodes = sum(pool.count for pool in scenario.nodes)
    if outcome.before is None or nodes > MOST_NODES:
        return ""
    if len(scenario.workload) > MOST_WORKLOADS:
        return ""
    order = [workload.name for workload in scenario.workload]
    before = _cells(outcome.before, order)
    after = _cells(outcome.after, order) if outcome.after else {}
    names = [node.name for node in outcome.before.state.nodes]
    rows = [
        [name, before.get(name, ""), after.get(name, "")]
        for name in [*names, PENDING]
        if name != PENDING or before.get(name) or after.get(name)
    ]
    table = tabulate(rows, headers=("node", "before", "after"), tablefmt="simple")
    return f"{scenario.scenario_id}\n{table}"


def _cells(phase: PhaseOutcome, order: list[str]) -> dict[str, str]:
    counts = _counts(phase.state)
    return {
        place: ", ".join(
            f"{name} x{workloads[name]}" if workloads[name] > 1 else name
            for name in order
            if workloads[name]
        )
        for place, workloads in counts.items()
    }


def _counts(state: ClusterState) -> dict[str, Counter[str]]:
    counts: dict[str, Counter[str]] = {}
    for pod in state.pods:
        counts.setdefault(pod.node or PENDING, Counter())[pod.workload] += 1
    return counts
