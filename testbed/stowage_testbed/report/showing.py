"""A run on a terminal, as Markdown and as a page, when it is over and whenever it is asked for."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.text import Text
from tabulate import tabulate

from stowage_testbed.amounts.resources import Resources, order
from stowage_testbed.base.files import write_whole
from stowage_testbed.metrics.latency import SUMMARY_RANKS
from stowage_testbed.metrics.record import list_node_columns, list_pod_columns, name_requested
from stowage_testbed.metrics.state import sum_requested_per_node
from stowage_testbed.page.offline import BARS, offline_page
from stowage_testbed.report.bundle import EVIDENCE, name_scenario_folder
from stowage_testbed.run.outcome import (
    CheckpointResult,
    Latency,
    RunOutcome,
    RunResult,
    ScenarioOutcome,
    ScenarioResult,
)
from stowage_testbed.text.tables import Table, escaped, markdown_text, plain, plain_table, terminal_text

MOST_NODES = 8
MOST_WORKLOADS = 12
PENDING = "(pending)"


def make_placement_table(outcome: ScenarioOutcome) -> str:
    """Return each node's workloads at the checkpoints; empty for a large scenario."""
    reached = [outcome.states[one.name] for one in outcome.checkpoints]
    if not reached or max(len(one.nodes) for one in reached) > MOST_NODES:
        return ""
    present = {pod.workload for one in reached for pod in one.pods}
    order = [one.name for one in outcome.source.workload if one.name in present]
    order += sorted(present - set(order))
    if len(order) > MOST_WORKLOADS:
        return ""
    counts = [Counter((pod.node or PENDING, pod.workload) for pod in one.pods) for one in reached]
    rows = []
    for place in (*dict.fromkeys(node.name for one in reached for node in one.nodes), PENDING):
        found = [[(name, count[place, name]) for name in order if count[place, name]] for count in counts]
        if place != PENDING or any(found):
            rows.append([place, *(", ".join(f"{name} x{n}" if n > 1 else name for name, n in one) for one in found)])
    table = tabulate(rows, headers=("node", *(one.name for one in outcome.checkpoints)), tablefmt="simple")
    return f"{outcome.scenario_id}\n{table}"


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
    return "\n\n".join(filter(None, (_write_tables(run), said)))


def show_run(run: RunOutcome, folder: Path) -> str:
    """Return what stands on the terminal when a run is over; the folder is the bundle's."""
    # Later rounds must place alike; if one does not, the failures show it.
    placements = [make_placement_table(one) for one in run.scenarios if one.repeat == 1]
    error = f"the run ended early: {run.error}" if run.error else ""
    kubernetes = run.environment.get("kubernetes")
    on = f" on Kubernetes {kubernetes}" if kubernetes else ""
    steps = defaultdict[str, float](float)
    for name, seconds in (pair for one in run.scenarios for pair in one.durations_s.items()):
        steps[name] += seconds
    whole, of_it = (
        ", ".join(f"{name} {value:.1f} s" for name, value in durations_s.items())
        for durations_s in (run.durations_s, steps)
    )
    took = f"{sum(run.durations_s.values()):.1f} s: {whole or 'nothing was started'}"
    took += f" (of it {of_it})" if steps else ""
    ending = f"{_sum_up(run, ': ')}{on} in {took}\nresults: {folder}"
    return "\n\n".join(filter(None, (*placements, _write_tables(run), error, ending)))


def _write_tables(run: RunResult) -> str:
    """Return the tables with what went wrong last, next to the prompt."""
    return terminal_text(reversed(make_tables(run)))


def _sum_up(run: RunResult, between: str) -> str:
    ran = [one for one in run.scenarios if not one.skipped]
    passed, skipped = sum(one.passed for one in ran), len(run.scenarios) - len(ran)
    said = f"{'passed' if run.passed else 'FAILED'}{between}{passed} of {len(ran)} scenario runs passed"
    return f"{said}, {skipped} skipped" if skipped else said


def _list_facts(run: RunResult) -> list[str]:
    lines = [f"run {run.run}, started {run.started}, {sum(run.durations_s.values()):.1f} s"]
    if kubernetes := run.environment.get("kubernetes"):
        lines.append(f"Kubernetes {kubernetes}")
    source: Mapping[str, Any] = run.environment.get("source") or {}
    if source.get("commit"):
        changed = ", with changes" if source.get("modified") else ""
        lines.append(f"commit {str(source['commit'])[:COMMIT_SHOWN]}{changed}")
    return [*lines, f"the run ended early: {run.error}"] if run.error else lines


MILLI = 1000
NOTHING = "-"
HASH_SHOWN = 10
PERCENTILES = tuple(f"p{rank:g}" for rank in SUMMARY_RANKS)


def make_tables(run: RunResult) -> tuple[Table, ...]:
    """Return the tables that have something to say: first what went wrong, then all."""
    return tuple(limit(table) for table in _make_tables(run) if table.rows)


def _make_tables(run: RunResult) -> Iterator[Table]:
    failed = [one for one in run.scenarios if not one.passed]
    rows = [
        (
            *_identify(one),
            check.name,
            check.expected,
            check.actual,
            # The message, if it says more than the cells beside it.
            "" if check.message.startswith(f"{check.name}: expected ") else check.message,
        )
        for one in failed
        for check in one.failed_checks
    ]
    headers = ("scenario", "round", "check", "expected", "found", "in words")
    shown = len(headers) if any(row[-1] for row in rows) else len(headers) - 1
    yield Table("Failed checks", headers[:shown], tuple(row[:shown] for row in rows))
    said = tuple((*_identify(one), one.error) for one in failed if one.error)
    yield Table("Not carried through", ("scenario", "round", "why"), said)
    yield Table(
        title="Rounds that placed otherwise than the first",
        headers=("scenario", "round", "first workload that differs", "then", "now"),
        rows=tuple(
            (
                one.scenario,
                str(one.repeat),
                one.workload,
                *(", ".join(nodes) or "no node" for nodes in (one.first_nodes, one.other_nodes)),
            )
            for one in run.divergences
        ),
    )
    yield Table(
        title="Evidence",
        headers=("scenario", "round", "folder in the results"),
        rows=tuple((*_identify(one), f"{EVIDENCE}/{name_scenario_folder(one)}") for one in failed),
        notes=("Each has pods, nodes, events, plans, logs and the audit log as they were when the scenario failed.",),
    )
    said = tuple((*_identify(one), one.skipped) for one in run.scenarios if one.skipped)
    yield Table("Skipped", ("scenario", "round", "why"), said)
    yield _tabulate_scenarios(run.scenarios)


def _tabulate_scenarios(scenarios: Sequence[ScenarioResult]) -> Table:
    """Return a line a scenario: its first round that failed, else its first round."""
    rounds = defaultdict[str, list[ScenarioResult]](list)
    for one in scenarios:
        rounds[one.scenario_id].append(one)
    resources = order({name for one in scenarios for run in one.checkpoints for name in run.utilisation})
    return Table(
        title="Scenarios",
        headers=("scenario", "result", "placed", "pending", "moves", "evictions",
                 "optimal", *(f"{name} %" for name in resources),
                 f"{'/'.join(PERCENTILES)} ms", "n", "hash"),
        rows=tuple(_make_row(one, resources) for one in rounds.values()),
        notes=(
            "An arrow leads from one checkpoint to the next. Hash is that of the first placements.",
            _note_latency([one.checkpoints[0].latency for one in scenarios if one.checkpoints]),
            *_note_late_pods(scenarios),
        ),
    )  # fmt: skip


def _make_row(rounds: Sequence[ScenarioResult], resources: Sequence[str]) -> tuple[str, ...]:
    shown = next((one for one in rounds if not one.passed), rounds[0])
    checkpoints, failed = shown.checkpoints, len(shown.failed_checks)
    result = "ERROR" if shown.error else f"FAILED ({failed})" if failed else "passed"
    of_all = f" {sum(one.passed for one in rounds)}/{len(rounds)}" if len(rounds) > 1 else ""
    latency = percentiles = NOTHING
    if checkpoints:
        found = (checkpoints[0].latency.percentiles_s.get(name) for name in PERCENTILES)
        percentiles = "/".join(NOTHING if one is None else f"{one * MILLI:.0f}" for one in found)
        latency = str(checkpoints[0].latency.n)
    hashes = {one.checkpoints[0].placement_hash for one in rounds if one.checkpoints}
    return (
        shown.scenario_id,
        "skipped" if shown.skipped else f"{result}{of_all}",
        " → ".join(str(one.placed) for one in checkpoints) or NOTHING,
        " → ".join(str(one.pending) for one in checkpoints) or NOTHING,
        str(shown.moves) if shown.is_planned else NOTHING,
        str(shown.evictions) if shown.is_planned else NOTHING,
        {True: "yes", False: "no", None: NOTHING}[shown.optimal],
        *(
            _show_shares([one.utilisation[name] * 100 for one in checkpoints if name in one.utilisation])
            for name in resources
        ),
        percentiles,
        latency,
        f"{len(hashes)} differ" if len(hashes) > 1 else next(iter(hashes), NOTHING)[:HASH_SHOWN],
    )


def _show_shares(percent: Sequence[float]) -> str:
    """Return the first and last share, and what came on top."""
    match percent:
        case []:
            return NOTHING
        case [only]:
            return f"{only:.1f}"
        case _:
            return f"{percent[0]:.1f} → {percent[-1]:.1f} ({percent[-1] - percent[0]:+.1f})"


def _note_latency(latencies: Sequence[Latency]) -> str:
    """Return what the reader must know of the latencies."""

    def show_range_ms(seconds: Sequence[float]) -> str:
        low, high = (f"{value * MILLI:.1f}" for value in (min(seconds), max(seconds)))
        return f"{low} ms" if low == high else f"{low} to {high} ms"

    if not latencies:
        return "No scenario settled, so there is no latency to report."
    lags = [item.audit_lag_s for item in latencies if item.audit_lag_s is not None]
    behind = f", {show_range_ms(lags)} behind the audit log (medians)" if lags else ""
    return (
        "Latency: pod created to bound before the first checkpoint, or in the window "
        f"that the steps measure, clock: {latencies[0].clock}{behind}, resolution "
        f"{show_range_ms([item.resolution_s for item in latencies])}; a percentile with too small an n is left out (-)."
    )


def _note_late_pods(scenarios: Sequence[ScenarioResult]) -> Iterator[str]:
    """Yield each step that did something later than it should have."""
    late = [(one, step) for one in scenarios for step in one.steps if step.facts.get("late")]
    for one, step in late:
        done = f"{step.facts['pods']:g} pods were created"
        if "requests" in step.facts:
            done = f"{step.facts['requests']:g} requests were sent"
        yield (
            f"{one.scenario_id} round {one.repeat}, step {step.number} ({step.kind}, line {step.line}): "
            f"{step.facts['late']:g} of {done} late, by {step.facts['latest_s']:.2f} s at most"
        )


def _identify(one: ScenarioResult) -> tuple[str, str]:
    return one.scenario_id, str(one.repeat)


# One wrong scheduler breaks a rule for each of 50,000 pods. Nobody reads so many lines, and browsers, terminals and the
# readers of JUnit files in CI give up on them.
MOST_LINES = 200
MOST_CHARACTERS = 2000
WHERE = "all are in run.json"


def _shorten(text: str) -> str:
    if len(text) <= MOST_CHARACTERS:
        return text
    return f"{text[:MOST_CHARACTERS]}… ({len(text):,} characters; {WHERE})"


def _count_left_out(count: int) -> tuple[str, ...]:
    return (f"and {count - MOST_LINES:,} more; {WHERE}",) if count > MOST_LINES else ()


def take_first_lines(lines: Sequence[str]) -> list[str]:
    """Return the first lines, and how many there are beside them."""
    return [*map(_shorten, lines[:MOST_LINES]), *_count_left_out(len(lines))]


def limit(table: Table) -> Table:
    """Return a table of its first rows, which says how many there are beside them."""
    rows = tuple(tuple(map(_shorten, row)) for row in table.rows[:MOST_LINES])
    return replace(table, rows=rows, notes=(*table.notes, *_count_left_out(len(table.rows))))


PAGE = "page.html"
"""The file in a run's bundle."""

SCRIPTS = (*BARS, "page.js")

BAR_CELLS = 20
MOST_DRAWN = 16
"""Nodes on a terminal; the page has all of them."""


def draw_comparison(outcome: ScenarioOutcome) -> Text:
    """Return nodes as bars before and after, and what changed, for a terminal."""
    before, after = outcome.checkpoints
    first = outcome.states[before.name]
    loads = [sum_requested_per_node(state) for state in (first, outcome.states[after.name])]
    rows = []
    for node in first.nodes[:MOST_DRAWN]:
        for line, name in enumerate(name for name in first.resources if node.resources[name]):
            shares = [load.get(node.name, Resources())[name] / node.resources[name] for load in loads]
            full = [min(round(share * BAR_CELLS), BAR_CELLS) for share in shares]
            bars = (f"{'█' * n}{'░' * (BAR_CELLS - n)} {share:6.1%}" for n, share in zip(full, shares, strict=True))
            rows.append(("" if line else plain(node.name), name, *bars))
    lines = plain_table(("node", "requested", before.name, after.name), rows, ("left",) * 4).split("\n")
    if (left_out := len(first.nodes) - MOST_DRAWN) > 0:
        lines.append(f"and {left_out} more nodes")
    text = Text("\n".join((*lines, "", *map(plain, _write_sentences(outcome, before, after)))))
    text.highlight_regex("█+", "yellow")
    text.highlight_regex(f"█{{{BAR_CELLS}}}", "green")
    text.highlight_regex("░+", "dim")
    return text


def _write_sentences(outcome: ScenarioOutcome, before: CheckpointResult, after: CheckpointResult) -> Iterator[str]:
    yield (
        f"pods with a node: {before.placed} before, {after.placed} after; "
        f"waiting: {before.pending} before, {after.pending} after"
    )
    shares = (
        f"{resource} {before.utilisation[resource]:.1%} before, {after.utilisation.get(resource, 0):.1%} after"
        for resource in outcome.states[before.name].resources
    )
    yield f"requested: {'; '.join(shares)}"
    proof = "; proved optimal" if outcome.optimal else ""
    yield f"pods that were moved: {outcome.moves}; that gave up their node for others: {outcome.evictions}{proof}"


def write_page(outcome: ScenarioOutcome, folder: Path) -> Path:
    """Write the page of a scenario with two checkpoints into a folder; return the file."""
    before, after = outcome.checkpoints
    states = [outcome.states[one.name] for one in (before, after)]
    nodes, resources, panels = states[0].nodes, states[0].resources, []
    for reached, state in zip((before, after), states, strict=True):
        pods = sorted(state.pods, key=lambda pod: (-pod.priority, pod.workload, pod.name))
        # As the scripts read them: everything at the time 0.
        times = {"waits": [0] * len(pods), "starts": [0 if one.node else None for one in pods]}
        run = {**list_pod_columns(pods, nodes), **times, "gone": [None] * len(pods)}
        panels.append({"title": reached.name, "run": run})
    # Of each priority and workload, how many more were placed.
    gained = Counter((pod.priority, pod.workload) for pod in states[1].bound)
    gained.subtract((pod.priority, pod.workload) for pod in states[0].bound)
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
