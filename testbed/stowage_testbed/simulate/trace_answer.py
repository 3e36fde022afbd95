"""What came of a trace in virtual time: the metrics of a live run, on a screen or as JSON."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from stowage_testbed.amounts.resources import Resources, add_up, names_of
from stowage_testbed.metrics.catalogue import metrics_of, sum_requested
from stowage_testbed.metrics.record import Metric, PodRecord, RunRecord, count_waiting, find_state_at_end
from stowage_testbed.metrics.state import NodeState, count_placed_by_priority
from stowage_testbed.observe.change import Change, JsonObject, Receipt, Verb
from stowage_testbed.observe.device_book import DeviceBook
from stowage_testbed.observe.pod import read_pod
from stowage_testbed.observe.source import RESOURCE_CLAIMS
from stowage_testbed.simulate.process import find_profile
from stowage_testbed.simulate.virtual_time import PassedTime, list_priorities, make_events, pass_time, resolve_priority
from stowage_testbed.text.tables import Table
from stowage_testbed.trace.format import Line, NodeGone, NodeSeen, ObjectSeen, PodCame, Template
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
class TraceAnswer:
    """What came of a trace: pods, and the record and metrics as of a live run."""

    passed: PassedTime
    record: RunRecord
    metrics: tuple[Metric, ...]


def profile_file(profile: str) -> Path:
    """Return the file of a profile, by the name of one of the chart's (or a `ProfileMissingError`) or a YAML path."""
    file = Path(profile)
    return file if file.suffix in {".yaml", ".yml"} else find_profile(profile)


def simulate_trace(recorded: Trace, name: str, profile: str, *, minor: str | None = None) -> TraceAnswer:
    """Replay a trace, which is called ``name``, in virtual time; raises as `profile_file` and `pass_time` do."""
    passed = pass_time(make_events(recorded), profile_file(profile), minor=minor)
    record = make_record(recorded, passed, name, profile)
    return TraceAnswer(passed, record, metrics_of(record))


def make_record(recorded: Trace, passed: PassedTime, name: str, profile: str) -> RunRecord:
    """Return the record of a window that is the whole trace; pods of the beginning were there before."""
    classes = list_priorities(recorded.lines)
    devices = _read_devices(recorded.lines)
    nodes: dict[str, NodeState] = {}
    specs: dict[str, JsonObject] = {}
    workloads: dict[str, str] = {}
    for line in recorded.lines:
        match line:
            case NodeSeen():
                nodes[line.name] = NodeState(line.name, line.node.room + devices.room(line.name))
            case NodeGone():
                nodes.pop(line.name, None)
            case Template():
                specs[line.id] = resolve_priority(line.template.spec, classes)
            case PodCame():
                workloads[f"{line.namespace}/{line.name}"] = line.owner.name if line.owner else line.name
    listed = names_of(node.resources for node in nodes.values())

    @cache
    def read_requests(namespace: str, of: str) -> Resources:
        claims = [
            {"resourceClaimName": _OF_TEMPLATE + one["resourceClaimTemplateName"]}
            for one in specs[of].get("resourceClaims") or ()
            if one.get("resourceClaimTemplateName")
        ]
        pod = {"metadata": {"namespace": namespace}, "spec": {**specs[of], "resourceClaims": claims}}
        return devices.requests_of(read_pod(pod), listed)

    pods = []
    for number, life in enumerate(passed.lives):
        before = life.arrived_s == 0
        pod = PodRecord(
            str(number),
            life.pod,
            workloads[life.replaces or life.pod],
            int(specs[life.of].get("priority") or 0),
            read_requests(life.pod.partition("/")[0], life.of),
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


_OF_TEMPLATE = "template/"
"""Before the name of a ResourceClaimTemplate, in the name of a claim like all that are made from it."""


def _read_devices(lines: Iterable[Line]) -> DeviceBook:
    """Return the devices that nodes have had, and claims as they are made from templates.

    A claim that pods name is not among them: who of them it counts for is not known.
    """
    book = DeviceBook()
    for one in (line.object for line in lines if isinstance(line, ObjectSeen)):
        kind, metadata, spec = str(one["kind"]), one["metadata"], one.get("spec")
        if kind == "ResourceClaimTemplate":
            kind, spec = RESOURCE_CLAIMS.kind, one["spec"]["spec"]
            metadata = {**metadata, "name": _OF_TEMPLATE + metadata["name"]}
        elif kind == RESOURCE_CLAIMS.kind:
            continue
        uid = "/".join((kind, metadata.get("namespace", ""), metadata["name"]))
        book.take(Change(kind, Verb.LISTED, Receipt(0, 0), {"metadata": {**metadata, "uid": uid}, "spec": spec}))
    return book


def _list_parts(record: RunRecord) -> Iterator[dict[str, Any]]:
    """Yield the averages over each of `PARTS` equal parts of the window; shares are of the nodes of its end."""
    if record.window_s <= 0:
        return
    edges_s = [record.window_s * number / PARTS for number in range(PARTS + 1)]
    resources = names_of(node.resources for node in record.nodes)
    there = add_up(node.resources for node in record.nodes)
    waiting = count_waiting(record).means(edges_s)
    requested = {name: sum_requested(record, name).means(edges_s) for name in resources if there[name]}
    for number, until_s in enumerate(edges_s[1:]):
        shares = {name: means[number] / there[name] for name, means in requested.items()}
        yield {"until_s": until_s, "waiting_pods": waiting[number], "utilisation": shares}


def make_document(answer: TraceAnswer, *, pods: bool = False) -> dict[str, Any]:
    """Return the answer as JSON values, with or without what became of each pod."""
    record, passed = answer.record, answer.passed
    ended = Counter(life.how for life in passed.lives if life.ended_s is not None)
    left = [life for life in passed.lives if life.ended_s is None]
    pending = [life for life in left if life.bound_s is None]
    came = Counter(pod.priority for pod in record.pods)
    placed = Counter(pod.priority for pod in record.pods if pod.node)
    running = count_placed_by_priority(find_state_at_end(record))
    document = {
        "trace": record.scenario_id,
        "profile": record.arm,
        "window_s": record.window_s,
        "events": passed.events,
        "attempts": passed.attempts,
        "pods_by_end": {**dict(sorted(ended.items())), "running": len(left) - len(pending), "pending": len(pending)},
        "placed_by_priority": [
            {"priority": one, "pods": came[one], "ever_placed": placed[one], "placed_at_end": running.get(one, 0)}
            for one in sorted(came, reverse=True)
        ],
        "metrics": [asdict(metric) for metric in answer.metrics],
        "course": list(_list_parts(record)),
        # The commonest first.
        "reasons": dict(Counter(life.reason or "it was never tried" for life in pending).most_common()),
        "left_out": list(map(msgspec.structs.asdict, passed.left_out)),
        "unknown_fields": list(map(msgspec.structs.asdict, passed.unknown_fields)),
    }
    return {**document, "pods": list(map(msgspec.structs.asdict, passed.lives))} if pods else document


def make_tables(answer: TraceAnswer) -> Iterator[Table]:
    """Yield what fits on a screen."""
    record, document = answer.record, make_document(answer)
    yield Table(
        f"{record.scenario_id} in virtual time, profile {record.arm}",
        ("pods", ""),
        tuple((how, str(pods)) for how, pods in document["pods_by_end"].items()),
        (f"{record.window_s / 3600:.2f} h on {len(record.nodes)} nodes; {answer.passed.attempts} attempts",),
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
        tuple(tuple(map(str, row.values())) for row in document["placed_by_priority"]),
    )
    course = document["course"]
    yield Table(
        "Over time",
        ("until hour", "waiting pods", *(f"{name} requested" for part in course[:1] for name in part["utilisation"])),
        tuple(
            (
                f"{part['until_s'] / 3600:.2f}",
                f"{part['waiting_pods']:.4g}",
                *(f"{share:.3f}" for share in part["utilisation"].values()),
            )
            for part in course
        ),
        ("Averages; shares are of the nodes that are there at the end.",),
    )
    more = len(document["left_out"]) - MOST_ROWS
    for title, headers, rows, notes in (
        ("What keeps pending pods", ("pods", "why"), [(n, why) for why, n in document["reasons"].items()], ()),
        (
            "Left out", ("object", "why"), [tuple(one.values()) for one in document["left_out"]],
            (f"and {more} more",) if more > 0 else (),
        ),
        (
            "Fields that this scheduler does not know", ("field", "objects"),
            [tuple(one.values()) for one in document["unknown_fields"]], (),
        ),
    ):  # fmt: skip
        if rows:
            yield Table(title, headers, tuple(tuple(map(str, row)) for row in rows[:MOST_ROWS]), notes)
