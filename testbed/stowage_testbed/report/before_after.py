"""What the optimiser made of a scenario's pods: on a terminal, and as a page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from rich.text import Text

from stowage_testbed.amounts.resources import NOTHING
from stowage_testbed.base.files import write_whole
from stowage_testbed.metrics.record import list_node_columns, list_pod_columns, name_requested
from stowage_testbed.metrics.state import sum_requested_per_node
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
            shares = [load.get(node.name, NOTHING)[name] / node.resources[name] for load in loads]
            full = [min(round(share * BAR_CELLS), BAR_CELLS) for share in shares]
            bars = (f"{'█' * n}{'░' * (BAR_CELLS - n)} {share:6.1%}" for n, share in zip(full, shares, strict=True))
            rows.append(("" if line else plain(node.name), name, *bars))
    lines = columns(("node", "requested", before.name, after.name), rows, ("left",) * 4)
    if (left_out := len(before.state.nodes) - MOST_NODES) > 0:
        lines.append(f"and {left_out} more nodes")
    text = Text("\n".join((*lines, "", *map(plain, _write_sentences(outcome, before, after)))))
    text.highlight_regex("█+", "yellow")
    text.highlight_regex(f"█{{{BAR_CELLS}}}", "green")
    text.highlight_regex("░+", "dim")
    return text


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
    yield f"pods that were moved: {outcome.moves}; that gave up their node for others: {outcome.evictions}{proof}"


def write_page(outcome: ScenarioOutcome, folder: Path) -> Path:
    """Write the page of a scenario with two checkpoints into a folder; return the file."""
    before, after = outcome.checkpoints
    nodes, resources, panels = before.state.nodes, before.state.resources, []
    for reached in (before, after):
        pods = sorted(reached.state.pods, key=lambda pod: (-pod.priority, pod.workload, pod.name))
        # As the scripts read them: everything at the time 0.
        times = {"waits": [0] * len(pods), "starts": [0 if one.node else None for one in pods]}
        run = {**list_pod_columns(pods, nodes), **times, "gone": [None] * len(pods)}
        panels.append({"title": reached.name, "run": run})
    # Of each priority and workload, how many more were placed.
    gained = Counter((pod.priority, pod.workload) for pod in after.state.bound)
    gained.subtract((pod.priority, pod.workload) for pod in before.state.bound)
    text = offline_page(
        "run",
        scripts=SCRIPTS,
        data={"cluster": list_node_columns(nodes, resources), "panels": panels},
        name=outcome.scenario_id,
        sentences=tuple(_write_sentences(outcome, before, after)),
        gained=sorted(((*key, n) for key, n in gained.items() if n), key=lambda one: (-one[0], one[1])),
        resources=[*((one, name_requested(one)) for one in resources), ("pods", "pods")],
    )
    write_whole(folder / PAGE, text)
    return folder / PAGE
