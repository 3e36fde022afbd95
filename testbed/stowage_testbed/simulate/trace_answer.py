"""What came of a trace in virtual time: the metrics of a live run, on a screen or as JSON."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec

from stowage_testbed.amounts.resources import Resources, add_up, names_of
from stowage_testbed.metrics.catalogue import metrics_of, sum_requested
from stowage_testbed.metrics.metric import Metric
from stowage_testbed.metrics.record import PodRecord, RunRecord, count_waiting, find_state_at_end
from stowage_testbed.metrics.state import NodeState, count_placed_by_priority
from stowage_testbed.observe.pod import requests_of
from stowage_testbed.simulate.process import find_profile
from stowage_testbed.simulate.virtual_time import PassedTime, list_priorities, make_events, pass_time, resolve_priority
from stowage_testbed.text.tables import Table
from stowage_testbed.trace.format import NodeGone, NodeSeen, PodCame, Template
from stowage_testbed.trace.reading import Trace

CLOCK = "virtual time"
RESOLUTION_S = 0.001
"""Times of a trace are in milliseconds."""

PARTS = 24
"""Parts of the window that have averages of their own: hours, of a day."""

SHOWN = (
    "t_sched_mean_s", "t_sched_p50_s", "t_sched_p90_s", "t_sched_p99_s", "t_sched_max_s", "waiting_mean_pods",
    "waiting_peak_pods", "placed_pods", "unplaced_pods", "evictions_pods", "priority_inversions_pods",
)  # fmt: skip
"""Metrics on the screen, besides those of utilisation; JSON has all."""

MOST_ROWS = 10


@dataclass(frozen=True, slots=True)
class Part:
    """Averages over a part of the window; utilisation is the requested share of what the nodes of the end have."""

    until_s: float
    waiting_pods: float
    utilisation: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class TraceAnswer:
    """What came of a trace: pods, the record and metrics as of a live run, and averages over `PARTS` equal parts."""

    passed: PassedTime
    record: RunRecord
    metrics: tuple[Metric, ...]
    course: tuple[Part, ...]


def profile_file(profile: str) -> Path:
    """Return the file of a profile, by the name of one of the chart's (or a `ProfileMissingError`) or a YAML path."""
    file = Path(profile)
    return file if file.suffix in {".yaml", ".yml"} else find_profile(profile)


def simulate_trace(recorded: Trace, name: str, profile: str, *, minor: str | None = None) -> TraceAnswer:
    """Replay a trace, which is called ``name``, in virtual time; raises as `profile_file` and `pass_time` do."""
    passed = pass_time(make_events(recorded), profile_file(profile), minor=minor)
    record = make_record(recorded, passed, name, profile)
    return TraceAnswer(passed, record, metrics_of(record), tuple(list_parts(record)))


def make_record(recorded: Trace, passed: PassedTime, name: str, profile: str) -> RunRecord:
    """Return the record of a window that is the whole trace; pods of the beginning were there before."""
    classes = list_priorities(recorded.lines)
    nodes: dict[str, NodeState] = {}
    kinds: dict[str, tuple[int, Resources]] = {}
    workloads: dict[str, str] = {}
    for line in recorded.lines:
        match line:
            case NodeSeen():
                nodes[line.name] = NodeState(line.name, line.node.room)
            case NodeGone():
                nodes.pop(line.name, None)
            case Template():
                body = {"spec": resolve_priority(line.template.spec, classes)}
                kinds[line.id] = int(body["spec"].get("priority") or 0), requests_of(body)
            case PodCame():
                workloads[f"{line.namespace}/{line.name}"] = line.owner.name if line.owner else line.name
    pods = []
    for number, life in enumerate(passed.lives):
        before = life.arrived_s == 0
        pod = PodRecord(
            str(number),
            life.pod,
            workloads[life.replaces or life.pod],
            *kinds[life.of],
            node=life.node,
            created_s=None if before else life.arrived_s,
            bound_s=None if before and life.bound_s == 0 else life.bound_s,
            gone_s=life.ended_s,
        )
        pods.append(pod)
    there = tuple(nodes[name] for name in sorted(nodes))
    return RunRecord(
        name, profile, "own", 1, there, tuple(pods), passed.until_s, CLOCK, resolution_s=RESOLUTION_S, warm=True
    )


def list_parts(record: RunRecord) -> Iterator[Part]:
    """Yield the averages over each of `PARTS` equal parts of the window."""
    if record.window_s <= 0:
        return
    edges_s = [record.window_s * number / PARTS for number in range(PARTS + 1)]
    resources = names_of(node.resources for node in record.nodes)
    there = add_up(node.resources for node in record.nodes)
    waiting = count_waiting(record).means(edges_s)
    requested = {name: sum_requested(record, name).means(edges_s) for name in resources if there[name]}
    for number, until_s in enumerate(edges_s[1:]):
        shares = {name: means[number] / there[name] for name, means in requested.items()}
        yield Part(until_s, waiting[number], shares)


def make_document(answer: TraceAnswer, *, pods: bool) -> dict[str, Any]:
    """Return the answer as JSON values, with or without what became of each pod."""
    passed = answer.passed
    document = {
        "trace": answer.record.scenario_id,
        "profile": answer.record.arm,
        "window_s": answer.record.window_s,
        "events": passed.events,
        "attempts": passed.attempts,
        "pods_by_end": _count_ends(answer),
        "placed_by_priority": _count_by_priority(answer),
        "metrics": [asdict(metric) for metric in answer.metrics],
        "course": [asdict(part) for part in answer.course],
        "reasons": _count_reasons(answer),
        "left_out": list(map(msgspec.structs.asdict, passed.left_out)),
        "unknown_fields": list(map(msgspec.structs.asdict, passed.unknown_fields)),
    }
    return {**document, "pods": list(map(msgspec.structs.asdict, passed.lives))} if pods else document


def make_tables(answer: TraceAnswer) -> Iterator[Table]:
    """Yield what fits on a screen."""
    record, passed = answer.record, answer.passed
    yield Table(
        f"{record.scenario_id} in virtual time, profile {record.arm}",
        ("pods", ""),
        tuple((how, str(pods)) for how, pods in _count_ends(answer).items()),
        (f"{record.window_s / 3600:.2f} h on {len(record.nodes)} nodes; {passed.attempts} attempts",),
    )
    yield Table(
        "Metrics",
        ("metric", "value", "unit", "n", "note"),
        tuple(
            (one.name, "-" if one.value is None else f"{one.value:.4g}", one.unit, str(one.n), one.note)
            for one in answer.metrics
            if one.name in SHOWN or one.name.startswith("utilisation_")
        ),
        ("No time passes while the scheduler works: t_sched is what pods waited.",),
    )
    yield Table(
        "By priority",
        ("priority", "pods", "ever placed", "placed at the end"),
        tuple(tuple(str(value) for value in row.values()) for row in _count_by_priority(answer)),
    )
    names = list(answer.course[0].utilisation) if answer.course else []
    yield Table(
        "Over time",
        ("until hour", "waiting pods", *(f"{name} requested" for name in names)),
        tuple(
            (
                f"{one.until_s / 3600:.2f}",
                f"{one.waiting_pods:.4g}",
                *(f"{one.utilisation[name]:.3f}" for name in names),
            )
            for one in answer.course
        ),
        ("Averages; shares are of the nodes that are there at the end.",),
    )
    reasons = tuple((str(pods), reason) for reason, pods in _count_reasons(answer).items())
    left_out = tuple((one.object, one.reason) for one in passed.left_out)
    more = len(left_out) - MOST_ROWS
    unknown = tuple((one.field, str(one.objects)) for one in passed.unknown_fields)
    for title, headers, rows, notes in (
        ("What keeps pending pods", ("pods", "why"), reasons, ()),
        ("Left out", ("object", "why"), left_out, (f"and {more} more",) if more > 0 else ()),
        ("Fields that this scheduler does not know", ("field", "objects"), unknown, ()),
    ):
        if rows:
            yield Table(title, headers, rows[:MOST_ROWS], notes)


def _count_ends(answer: TraceAnswer) -> dict[str, int]:
    """Return how many pods ended how; the last are those that are still there."""
    lives = answer.passed.lives
    ended = Counter(life.how for life in lives if life.ended_s is not None)
    left = [life for life in lives if life.ended_s is None]
    running = sum(life.bound_s is not None for life in left)
    return {**dict(sorted(ended.items())), "running": running, "pending": len(left) - running}


def _count_by_priority(answer: TraceAnswer) -> list[dict[str, int]]:
    """Return of each priority how many pods ever had a node, and have one now."""
    came = Counter(pod.priority for pod in answer.record.pods)
    placed = Counter(pod.priority for pod in answer.record.pods if pod.node)
    running = count_placed_by_priority(find_state_at_end(answer.record))
    return [
        {"priority": one, "pods": came[one], "ever_placed": placed[one], "placed_at_end": running.get(one, 0)}
        for one in sorted(came, reverse=True)
    ]


def _count_reasons(answer: TraceAnswer) -> dict[str, int]:
    """Return what keeps the pods that are pending at the end, the commonest first."""
    pending = (life for life in answer.passed.lives if life.ended_s is None and life.bound_s is None)
    return dict(Counter(life.reason or "it was never tried" for life in pending).most_common())
