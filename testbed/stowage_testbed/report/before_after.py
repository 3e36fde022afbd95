"""What the optimiser made of a scenario's pods: on a terminal, and as a page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from stowage_testbed.metrics.state import (
    RESOURCES,
    ClusterState,
    NodeState,
    PodState,
    Resource,
    amount,
)
from stowage_testbed.page.offline import BARS, offline_page
from stowage_testbed.run.outcome import CheckpointRecord, ScenarioOutcome
from stowage_testbed.whole_file import write_whole

PAGE = "page.html"
"""The file in a run's bundle."""

PACKAGE = "stowage_testbed.report"
SCRIPTS = (*BARS, "page.js")

BAR_CELLS = 20
MOST_NODES = 16
"""Nodes on a terminal; the page has all of them."""


def comparison_screen(outcome: ScenarioOutcome) -> RenderableType:
    """Return nodes as bars before and after, and what changed, for a terminal."""
    before, after = outcome.checkpoints
    nodes = Table(box=None, pad_edge=False)
    nodes.add_column("node", overflow="fold")
    for one in (before, after):
        nodes.add_column(f"{one.name} (cpu requested)")
    shown = before.state.nodes[:MOST_NODES]
    loads = [_loads(one.state, "cpu") for one in (before, after)]
    for node in shown:
        nodes.add_row(node.name, *(_bar(node, load[node.name]) for load in loads))
    left_out = len(before.state.nodes) - len(shown)
    lines = [Text(f"and {left_out} more nodes")] if left_out else []
    return Group(nodes, *lines, Text(), *map(Text, _sentences(outcome, before, after)))


def _loads(state: ClusterState, resource: Resource) -> Counter[str]:
    loads: Counter[str] = Counter()
    for pod in state.bound:
        loads[str(pod.node)] += amount(resource, pod)
    return loads


def _bar(node: NodeState, load: int) -> Text:
    share = load / node.cpu_milli if node.cpu_milli else 0.0
    filled = round(share * BAR_CELLS)
    return Text.assemble(
        ("█" * filled, "green" if share > 1 - 1 / BAR_CELLS else "yellow"),
        ("░" * (BAR_CELLS - filled), "dim"),
        f" {share:6.1%}",
    )


def _sentences(
    outcome: ScenarioOutcome, before: CheckpointRecord, after: CheckpointRecord
) -> Iterator[str]:
    yield (
        f"pods with a node: {before.placed} before, {after.placed} after; "
        f"waiting: {before.pending} before, {after.pending} after"
    )
    shares = (
        f"{resource} {float(before.utilisation[resource]):.1%} before, "
        f"{float(after.utilisation[resource]):.1%} after"
        for resource in RESOURCES
    )
    yield f"requested: {'; '.join(shares)}"
    proof = "; proved optimal" if outcome.optimal else ""
    yield (
        f"pods that were moved: {outcome.moves}; that gave up their node for others: "
        f"{outcome.evictions}{proof}"
    )


def write_page(outcome: ScenarioOutcome, folder: Path) -> Path:
    """Write the page of a scenario with two checkpoints into a folder.

    Returns
    -------
    The file.
    """
    before, after = outcome.checkpoints
    text = offline_page(
        PACKAGE,
        scripts=SCRIPTS,
        data=_data(outcome),
        name=outcome.scenario.scenario_id,
        sentences=tuple(_sentences(outcome, before, after)),
        gained=_gained(before.state, after.state),
    )
    file = folder / PAGE
    write_whole(file, text)
    return file


def _gained(before: ClusterState, after: ClusterState) -> list[tuple[int, str, int]]:
    """Return priority, workload and change of the number placed, where it changed."""
    counts = Counter((pod.priority, pod.workload) for pod in after.bound)
    counts.subtract((pod.priority, pod.workload) for pod in before.bound)
    changed = [(*key, count) for key, count in counts.items() if count]
    return sorted(changed, key=lambda one: (-one[0], one[1]))


def _data(outcome: ScenarioOutcome) -> dict[str, Any]:
    nodes = outcome.checkpoints[0].state.nodes
    return {
        "cluster": {
            "names": [node.name for node in nodes],
            "cpu": [node.cpu_milli for node in nodes],
            "memory": [node.memory_bytes for node in nodes],
            "pods": [node.pods for node in nodes],
        },
        "panels": [
            {"title": one.name, "run": _columns(one.state)}
            for one in outcome.checkpoints
        ],
    }


def _columns(state: ClusterState) -> dict[str, Any]:
    """Return the pods as the scripts read them: everything at the time 0."""
    places = {node.name: index for index, node in enumerate(state.nodes)}
    classes: dict[tuple[str, int, int, int], int] = {}
    pods = sorted(state.pods, key=lambda pod: (-pod.priority, pod.workload, pod.name))
    return {
        "names": [pod.name for pod in pods],
        "kind": [classes.setdefault(_kind(pod), len(classes)) for pod in pods],
        "node": [places.get(pod.node or "", -1) for pod in pods],
        "waits": [0 for _ in pods],
        "starts": [None if pod.node is None else 0 for pod in pods],
        "gone": [None for _ in pods],
        "kinds": [list(kind) for kind in classes],
    }


def _kind(pod: PodState) -> tuple[str, int, int, int]:
    return pod.workload, pod.priority, pod.cpu_milli, pod.memory_bytes
