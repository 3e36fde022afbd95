"""A run on a terminal and as Markdown, when it is over and whenever it is asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tabulate import tabulate

from stowage_testbed.metrics.state import ClusterState
from stowage_testbed.report.tables import make_tables
from stowage_testbed.run.outcome import RunOutcome, RunResult, ScenarioOutcome
from stowage_testbed.text.tables import escaped, markdown_text, plain, terminal_text

MOST_NODES = 8
MOST_WORKLOADS = 12
PENDING = "(pending)"


def make_placement_table(outcome: ScenarioOutcome) -> str:
    """Return each node's workloads at the checkpoints; empty for a large scenario."""
    reached = outcome.checkpoints
    if not reached or max(len(one.state.nodes) for one in reached) > MOST_NODES:
        return ""
    present = {pod.workload for one in reached for pod in one.state.pods}
    order = [one.name for one in outcome.source.workload if one.name in present]
    order += sorted(present - set(order))
    if len(order) > MOST_WORKLOADS:
        return ""
    columns = [_make_cells(one.state, order) for one in reached]
    names = dict.fromkeys(node.name for one in reached for node in one.state.nodes)
    rows = [
        [name, *(cells.get(name, "") for cells in columns)]
        for name in [*names, PENDING]
        if name != PENDING or any(cells.get(name) for cells in columns)
    ]
    headings = ("node", *(one.name for one in reached))
    table = tabulate(rows, headers=headings, tablefmt="simple")
    return f"{outcome.scenario_id}\n{table}"


def _make_cells(state: ClusterState, order: list[str]) -> dict[str, str]:
    counts: dict[str, Counter[str]] = {}
    for pod in state.pods:
        counts.setdefault(pod.node or PENDING, Counter())[pod.workload] += 1
    return {
        place: ", ".join(
            f"{name} x{workloads[name]}" if workloads[name] > 1 else name for name in order if workloads[name]
        )
        for place, workloads in counts.items()
    }


MARKDOWN = "report.md"
"""The file in a run's bundle."""

COMMIT_SHOWN = 12


def write_markdown(run: RunResult) -> str:
    """Return how the run ended, and the tables under it."""
    heading = f"# Stowage: {escaped(_sum_up(run, ', '))}\n\n"
    said = "".join(f"- {escaped(line)}\n" for line in _list_facts(run))
    return f"{heading}{said}\n{markdown_text(make_tables(run))}"


def write_screen(run: RunResult) -> str:
    """Return the same for a terminal."""
    said = "\n".join(plain(line) for line in (*_list_facts(run), _sum_up(run, ", ")))
    return "\n\n".join(part for part in (_write_tables(run), said) if part)


def show_run(run: RunOutcome, folder: Path) -> str:
    """Return what stands on the terminal when a run is over; the folder is the bundle's."""
    # Later rounds must place alike; if one does not, the failures show it.
    placements = [make_placement_table(one) for one in run.scenarios if one.repeat == 1]
    error = f"the run ended early: {run.error}" if run.error else ""
    kubernetes = run.environment.get("kubernetes")
    on = f" on Kubernetes {kubernetes}" if kubernetes else ""
    ending = f"{_sum_up(run, ': ')}{on} in {_show_timing(run)}\nresults: {folder}"
    parts = (*placements, _write_tables(run), error, ending)
    return "\n\n".join(part for part in parts if part)


def _write_tables(run: RunResult) -> str:
    """Return the tables with what went wrong last, next to the prompt."""
    return terminal_text(reversed(make_tables(run)))


def _sum_up(run: RunResult, between: str) -> str:
    ran = [one for one in run.scenarios if not one.skipped]
    passed = sum(one.passed for one in ran)
    result = "passed" if run.passed else "FAILED"
    said = f"{result}{between}{passed} of {len(ran)} scenario runs passed"
    skipped = len(run.scenarios) - len(ran)
    return f"{said}, {skipped} skipped" if skipped else said


def _list_facts(run: RunResult) -> list[str]:
    took_s = sum(run.durations_s.values())
    lines = [f"run {run.run}, started {run.started}, {took_s:.1f} s"]
    if kubernetes := run.environment.get("kubernetes"):
        lines.append(f"Kubernetes {kubernetes}")
    source: Mapping[str, Any] = run.environment.get("source") or {}
    if source.get("commit"):
        changed = ", with changes" if source.get("modified") else ""
        lines.append(f"commit {str(source['commit'])[:COMMIT_SHOWN]}{changed}")
    if run.error:
        lines.append(f"the run ended early: {run.error}")
    return lines


def _show_timing(run: RunResult) -> str:
    """Return the seconds of the run and, summed over scenarios, of each step."""
    steps: dict[str, float] = {}
    for one in run.scenarios:
        for name, seconds in one.durations_s.items():
            steps[name] = steps.get(name, 0.0) + seconds
    whole = f"{sum(run.durations_s.values()):.1f} s: "
    whole += _show_seconds(run.durations_s) or "nothing was started"
    return f"{whole} (of it {_show_seconds(steps)})" if steps else whole


def _show_seconds(durations_s: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.1f} s" for name, value in durations_s.items())
