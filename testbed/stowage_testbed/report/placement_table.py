"""Which pod is where, phase by phase: for scenarios small enough to read."""

from __future__ import annotations

from collections import Counter

from tabulate import tabulate

from stowage_testbed.metrics.state import ClusterState
from stowage_testbed.run.outcome import PhaseOutcome, ScenarioOutcome

MOST_NODES = 8
MOST_WORKLOADS = 12
PENDING = "(pending)"


def placement_table(outcome: ScenarioOutcome) -> str:
    """Return each node's workloads, phase by phase; empty for a large scenario."""
    scenario = outcome.scenario
    phases = outcome.phases
    if not phases or max(len(one.state.nodes) for one in phases) > MOST_NODES:
        return ""
    present = {pod.workload for one in phases for pod in one.state.pods}
    order = [one.name for one in scenario.workload if one.name in present]
    order += sorted(present - set(order))
    if len(order) > MOST_WORKLOADS:
        return ""
    columns = [_cells(phase, order) for phase in phases]
    names = [node.name for node in phases[0].state.nodes]
    rows = [
        [name, *(cells.get(name, "") for cells in columns)]
        for name in [*names, PENDING]
        if name != PENDING or any(cells.get(name) for cells in columns)
    ]
    headings = ("end",) if outcome.end else ("before", "after")[: len(phases)]
    table = tabulate(rows, headers=("node", *headings), tablefmt="simple")
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
