"""What the optimiser made of a scenario's pods: on a terminal, and as a page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.text import Text

from stowage_testbed.amounts.resources import NOTHING
from stowage_testbed.base.files import write_whole
from stowage_testbed.metrics.record import list_node_columns, list_pod_columns, name_requested
from stowage_testbed.metrics.state import ClusterState, NodeState, sum_requested_per_node
from stowage_testbed.page.offline import BARS, offline_page
from stowage_testbed.run.outcome import CheckpointRecord, ScenarioOutcome
from stowage_testbed.text.lines import columns
from stowage_testbed.text.tables import plain

PAGE = "page.html"
"""The file in a run's bundle."""

SCRIPTS = (*BARS, "page.js")

BAR_CELLS = 20
MOST_NODES = 16
"""Nodes on a terminal; the page has all of them."""


def draw_comparison(outcome: ScenarioOutcome) -> Text:
    """Return nodes as bars before and after, and what changed, for a terminal."""
    before, after = outcome.checkpoints
    loads = [sum_requested_per_node(one.state) for one in (before, after)]
    rows = []
    for node in before.state.nodes[:MOST_NODES]:
        for line, name in enumerate(name for name in before.state.resources if node.resources[name]):
            bars = (_draw_bar(load.get(node.name, NOTHING)[name] / node.resources[name]) for load in loads)
            rows.append(("" if line else plain(node.name), name, *bars))
    lines = columns(("node", "requested", before.name, after.name), rows, ("left",) * 4)
    if (left_out := len(before.state.nodes) - MOST_NODES) > 0:
        lines.append(f"and {left_out} more nodes")
    text = Text("\n".join((*lines, "", *map(plain, _write_sentences(outcome, before, after)))))
    text.highlight_regex("█+", "yellow")
    text.highlight_regex(f"█{{{BAR_CELLS}}}", "green")
    text.highlight_regex("░+", "dim")
    return text


def _draw_bar(share: float) -> str:
    filled = min(round(share * BAR_CELLS), BAR_CELLS)
    return f"{'█' * filled}{'░' * (BAR_CELLS - filled)} {share:6.1%}"


def _write_sentences(outcome: ScenarioOutcome, before: CheckpointRecord, after: CheckpointRecord) -> Iterator[str]:
    yield (
        f"pods with a node: {before.placed} before, {after.placed} after; "
        f"waiting: {before.pending} before, {after.pending} after"
    )
    shares = (
        f"{resource} {before.utilisation[resource]:.1%} before, {after.utilisation.get(resource, 0):.1%} after"
        for resource in before.state.resources
    )
    yield f"requested: {'; '.join(shares)}"
    proof = "; proved optimal" if outcome.optimal else ""
    yield (f"pods that were moved: {outcome.moves}; that gave up their node for others: {outcome.evictions}{proof}")


def write_page(outcome: ScenarioOutcome, folder: Path) -> Path:
    """Write the page of a scenario with two checkpoints into a folder; return the file."""
    before, after = outcome.checkpoints
    text = offline_page(
        "run",
        scripts=SCRIPTS,
        data=_make_data(before, after),
        name=outcome.scenario_id,
        sentences=tuple(_write_sentences(outcome, before, after)),
        gained=_list_gained(before.state, after.state),
        resources=[*((one, name_requested(one)) for one in before.state.resources), ("pods", "pods")],
    )
    file = folder / PAGE
    write_whole(file, text)
    return file


def _list_gained(before: ClusterState, after: ClusterState) -> list[tuple[int, str, int]]:
    """Return priority, workload and change of the number placed, where it changed."""
    counts = Counter((pod.priority, pod.workload) for pod in after.bound)
    counts.subtract((pod.priority, pod.workload) for pod in before.bound)
    changed = [(*key, count) for key, count in counts.items() if count]
    return sorted(changed, key=lambda one: (-one[0], one[1]))


def _make_data(*reached: CheckpointRecord) -> dict[str, Any]:
    first = reached[0].state
    panels = [{"title": one.name, "run": _make_columns(one.state, first.nodes)} for one in reached]
    return {"cluster": list_node_columns(first.nodes, first.resources), "panels": panels}


def _make_columns(state: ClusterState, nodes: Sequence[NodeState]) -> dict[str, Any]:
    """Return the pods as the scripts read them: everything at the time 0."""
    pods = sorted(state.pods, key=lambda pod: (-pod.priority, pod.workload, pod.name))
    return {
        **list_pod_columns(pods, nodes),
        "waits": [0 for _ in pods],
        "starts": [None if pod.node is None else 0 for pod in pods],
        "gone": [None for _ in pods],
    }
