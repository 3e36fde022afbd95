"""The report of a comparison as one page that works offline: `page`."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import groupby, product
from math import log
from pathlib import Path
from typing import Any, NamedTuple

from stowage_testbed.base.files import write_whole
from stowage_testbed.compare.comparison import Comparison
from stowage_testbed.compare.tables import (
    burst_table,
    comparison_markdown,
    direction_table,
    environment_table,
    failed_table,
    list_notes,
    name_clock,
    settings_table,
    summarise,
    verdict_rows,
)
from stowage_testbed.compare.verdicts import Verdict
from stowage_testbed.hpa.recovery import HpaRecord
from stowage_testbed.metrics.catalogue import sum_requested
from stowage_testbed.metrics.latency import LATENCIES, list_latencies_s
from stowage_testbed.metrics.record import (
    RunRecord,
    count_waiting,
    find_placed_span,
    find_waiting_span,
    list_node_columns,
    list_pod_columns,
    name_requested,
)
from stowage_testbed.metrics.state import NodeState
from stowage_testbed.page.offline import BARS, offline_page

HTML = "report.html"
MARKDOWN = "report.md"

WIDTH = 120
REACH = log(2)
"""Half of a verdict's picture: from half to twice the baseline; what goes beyond is cut."""

MARKS = {"better": "▲ better", "worse": "▼ worse", "no difference shown": "no difference shown", "not judged": ""}
SCRIPTS = (*BARS, "curves.js", "page.js")
"""In the order in which they need each other."""

MOST_POINTS = 400
MOST_PODS = 60_000
"""Pods of all runs on a page: some ten megabytes, which browsers open at once."""

ALL_ROUNDS = 0
"""Stands for the rounds together where the number of one would stand."""

LINE_DIGITS = 5
TIME_DIGITS = 4
"""Of seconds: a tenth of the clock's resolution."""

LATENCY_MEANINGS: Mapping[str, str] = {
    "t_sched": "T_sched: created to bound",
    "t_ready": "T_ready: created to ready",
    "t_post": "T_post: bound to ready",
}


def write_report(comparison: Comparison, folder: Path) -> Path:
    """Write page and tables beside their records; return the page's file."""
    write_whole(folder / HTML, page(comparison))
    write_whole(folder / MARKDOWN, comparison_markdown(comparison, whole=True))
    return folder / HTML


def page(comparison: Comparison, most_pods: int = MOST_PODS) -> str:
    """Return the report as HTML that loads nothing from anywhere."""
    loads = loads_of(comparison)
    placements = list_placements(comparison, most_pods)
    data = {
        "arms": comparison.arm_names,
        "limits": comparison.limits,
        "clusters": placements.clusters,
        "runs": placements.runs,
        "latencies": latency_lines(comparison),
        "loads": load_lines(comparison),
        "shares": [name for name, load in loads.items() if load.share],
    }
    parts = [
        {
            "limits": limits,
            "rows": verdict_rows(comparison, limits),
            "notes": tuple(list_notes(comparison, limits)),
            "tables": [one for make in (burst_table, direction_table) if (one := make(comparison, limits)).rows],
        }
        for limits in comparison.limits
    ]
    return offline_page(
        "compare",
        scripts=SCRIPTS,
        data=data,
        comparison=comparison,
        marks=MARKS,
        forest=forest,
        parts=parts,
        summarise=summarise,
        failed=failed_table(comparison),
        settings=settings_table(comparison),
        environment=environment_table(comparison),
        latencies=LATENCY_MEANINGS,
        loads={name: load.meaning for name, load in loads.items()},
        resources=[("pods", "pods"), *((name, name_requested(name)) for name in comparison.resources)],
        limits_options=list(enumerate(comparison.limits)),
        left_out=placements.left_out,
        clock=name_clock(comparison.records),
    )


class Forest(NamedTuple):
    """Where an interval lies in pixels; one that goes on beyond the picture is cut."""

    low: float
    estimate: float
    high: float
    cut_low: bool
    cut_high: bool


def forest(verdict: Verdict) -> Forest | None:
    """Return the picture of a ratio; `None` where there is no interval of one."""
    if verdict.scale != "ratio" or verdict.low is None or verdict.high is None or verdict.estimate is None:
        return None
    places = [
        round(WIDTH / 2 * (1 + log(ratio) / REACH), 1) if ratio > 0 else -1.0
        for ratio in (verdict.low, verdict.estimate, verdict.high)
    ]
    low, estimate, high = (min(max(place, 0.0), float(WIDTH)) for place in places)
    return Forest(low, estimate, high, cut_low=places[0] < 0, cut_high=places[2] > WIDTH)


class Line(NamedTuple):
    """Steps: ``y[i]`` holds from ``x[i]`` until ``x[i + 1]``."""

    x: tuple[float, ...]
    y: tuple[float, ...]


def thin(x: Sequence[float], y: Sequence[float], most: int = MOST_POINTS) -> Line:
    """Return at most ``most`` of the steps, first and last among them."""
    count = len(x)
    if count <= most:
        return Line(tuple(x), tuple(y))
    chosen = [round(index * (count - 1) / (most - 1)) for index in range(most)]
    return Line(tuple(x[i] for i in chosen), tuple(y[i] for i in chosen))


def distribution(records: Iterable[RunRecord], latency: str) -> Line:
    """Return the share of pods that waited at most x seconds; those that never came to the end wait for ever."""
    found = [list_latencies_s(record, latency) for record in records]
    samples = sorted(sample for samples_s, _ in found for sample in samples_s)
    if not samples:
        return Line((), ())
    n = len(samples) + sum(missing for _, missing in found)
    return thin((samples[0], *samples), (0.0, *(rank / n for rank in range(1, len(samples) + 1))))


Points = Iterable[tuple[float, float]]


class Load(NamedTuple):
    """What is drawn of a run over its window: a share of something, or a number; nothing where there are no points."""

    meaning: str
    share: bool
    points_of: Callable[[RunRecord], Points | None]

    def line_of(self, record: RunRecord) -> Line:
        """Return a step line from 0 to the window's end; what ends with it is drawn on."""
        points = self.points_of(record)
        if points is None:
            return Line((), ())
        drawn = [(0.0, 0.0), *(point for point in points if point[0] < record.window_s)]
        drawn.append((record.window_s, drawn[-1][1]))
        return thin([x for x, _ in drawn], [y for _, y in drawn])


def loads_of(comparison: Comparison) -> dict[str, Load]:
    """Return what there is to draw over time, by name."""

    def share_of(record: RunRecord, resource: str) -> Points:
        capacity, steps = sum(node.resources[resource] for node in record.nodes) or 1, sum_requested(record, resource)
        return zip(steps.times_s, (value / capacity for value in steps.values), strict=True)

    def waiting(record: RunRecord) -> Points:
        steps = count_waiting(record)
        return zip(steps.times_s, steps.values, strict=True)

    loads = {
        name: Load(f"{name_requested(name)}, share of all nodes", True, partial(share_of, resource=name))
        for name in comparison.resources
    }
    loads["waiting"] = Load("pods without a node", False, waiting)
    return loads | (RECOVERY_LOADS if any(record.recovery for record in comparison.records) else {})


def _service_points(record: RunRecord, points: Callable[[HpaRecord], Points]) -> Points | None:
    """Return what was seen of an overloaded service; HOLD is the window."""
    found = record.recovery
    return [(max(at_s - found.hold_start_s, 0.0), value) for at_s, value in points(found)] if found else None


RECOVERY_LOADS = {
    name: Load(meaning, share, partial(_service_points, points=points))
    for name, meaning, share, points in (
        ("desired", "replicas that the autoscaler wants", False, lambda r: ((o.at_s, o.desired) for o in r.replicas)),
        ("pods", "pods of the service", False, lambda r: ((one.at_s, one.total) for one in r.pods)),
        ("ready", "ready pods of the service", False, lambda r: ((one.at_s, one.ready) for one in r.pods)),
        (
            "usage", "CPU usage as the autoscaler reads it, share of the request", True,
            lambda r: ((one.at_s, one.cpu_percent / 100) for one in r.replicas if one.cpu_percent is not None),
        ),
        ("p99", "p99 latency of the service (s)", False, lambda r: ((one.start_s, one.p99_s) for one in r.hold)),
        ("errors", "share of requests that timed out", True, lambda r: ((one.start_s, one.errors) for one in r.hold)),
    )
}  # fmt: skip


def latency_lines(comparison: Comparison) -> dict[str, list[dict[str, Any]]]:
    """Return, for each latency, a line for all runs of an arm and one a run."""
    lines: dict[str, list[dict[str, Any]]] = {name: [] for name in LATENCIES}
    for name, limits, arm in product(LATENCIES, comparison.limits, comparison.arm_names):
        records = comparison.records_of(limits, arm)
        if records:
            lines[name].append(_place(comparison, records[0], distribution(records, name)) | {"round": ALL_ROUNDS})
        lines[name] += [_place(comparison, one, distribution([one], name)) for one in records]
    return lines


def load_lines(comparison: Comparison) -> dict[str, list[dict[str, Any]]]:
    """Return, for each load, a line a run."""
    records = [one for one in comparison.records if not one.error]
    return {
        name: [_place(comparison, one, load.line_of(one)) for one in records]
        for name, load in loads_of(comparison).items()
    }


def _place(comparison: Comparison, record: RunRecord, line: Line | None = None) -> dict[str, Any]:
    """Return which run it is, by number, with the points of a line."""
    points = (
        {}
        if line is None
        else {axis: [round(one, LINE_DIGITS) for one in ones] for axis, ones in zip("xy", line, strict=True)}
    )
    arm, limits = comparison.arm_names.index(record.arm), comparison.limits.index(record.limits)
    return {"arm": arm, "limits": limits, "round": record.round_number, **points}


class Placements(NamedTuple):
    """The runs whose placements the page shows, in columns, and how many were too many; most share a cluster."""

    clusters: list[dict[str, Any]]
    runs: list[dict[str, Any]]
    left_out: int


def list_placements(comparison: Comparison, most_pods: int = MOST_PODS) -> Placements:
    """Return the runs of as many rounds as there is room for, at least of one."""

    def place(record: RunRecord) -> tuple[int, int]:
        return record.round_number, comparison.limits.index(record.limits)

    # Whole rounds: arms of one round are looked at side by side.
    counted = sorted((record for record in comparison.records if not record.error), key=place)
    chosen: list[RunRecord] = []
    for _, group in groupby(counted, key=place):
        together = list(group)
        most_pods -= sum(len(record.pods) for record in together)
        if most_pods < 0 and chosen:
            break
        chosen += together
    clusters: dict[tuple[NodeState, ...], int] = {}
    runs = []
    for record in chosen:
        pods = sorted(record.pods, key=lambda pod: (pod.bound_s or 0.0, pod.name))
        waits = [find_waiting_span(pod, record.window_s) for pod in pods]
        placed = [find_placed_span(pod, record.window_s) if pod.node else None for pod in pods]
        runs.append(
            {
                **_place(comparison, record),
                "window": _round_time(record.window_s),
                "cluster": clusters.setdefault(record.nodes, len(clusters)),
                **list_pod_columns(pods, record.nodes),
                "waits": [_round_time(span[0] if span else None) for span in waits],
                "starts": [_round_time(span[0] if span else None) for span in placed],
                "gone": [_round_time(pod.gone_s) for pod in pods],
            }
        )
    columns = [list_node_columns(nodes, comparison.resources) for nodes in clusters]
    return Placements(columns, runs, len(counted) - len(runs))


def _round_time(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, TIME_DIGITS)
