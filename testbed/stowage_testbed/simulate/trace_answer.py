"""What came of a trace in virtual time, with the metrics of a live run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from stowage_testbed.amounts.resources import Resources, add_up, names_of
from stowage_testbed.metrics.catalogue import metrics_of
from stowage_testbed.metrics.metric import Metric
from stowage_testbed.metrics.over_time import count_waiting
from stowage_testbed.metrics.record import PodRecord, RunRecord
from stowage_testbed.metrics.state import NodeState
from stowage_testbed.metrics.utilisation import sum_requested
from stowage_testbed.observe.pod_body import priority_of, requests_of
from stowage_testbed.simulate.process import find_profile
from stowage_testbed.simulate.trace_events import list_priorities, make_events, resolve_priority
from stowage_testbed.simulate.virtual_time import Life, PassedTime, pass_time
from stowage_testbed.trace.format import NodeGone, NodeSeen, PodCame, Template
from stowage_testbed.trace.reading import Trace

CLOCK = "virtual time"
RESOLUTION_S = 0.001
"""Times of a trace are in milliseconds."""

PARTS = 24
"""Parts of the window of which the averages are told: hours, of a day."""


@dataclass(frozen=True, slots=True)
class Part:
    """Averages over one part of the window.

    Attributes
    ----------
    until_s
        Where it ends.
    waiting_pods
        Pods without a node.
    utilisation
        Requested share of what the nodes of the end have, by resource.
    """

    until_s: float
    waiting_pods: float
    utilisation: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class TraceAnswer:
    """What came of a trace.

    Attributes
    ----------
    passed
        What became of each pod.
    record
        The same as the record of a measured run.
    metrics
        As of a live run. What only a live one has says so in its note.
    course
        The window in `PARTS` equal parts; empty if no time passed.
    """

    passed: PassedTime
    record: RunRecord
    metrics: tuple[Metric, ...]
    course: tuple[Part, ...]


def simulate_trace(recorded: Trace, name: str, profile: str, *, minor: str | None = None) -> TraceAnswer:
    """Have a trace happen in virtual time, under a scheduler with a profile.

    Parameters
    ----------
    name
        The trace's.
    profile
        The name of one of the chart's, or the path of a KubeSchedulerConfiguration.

    Raises
    ------
    StowageError
        There is no such profile, or as `pass_time` says.
    """
    file = Path(profile)
    config = file if file.suffix in {".yaml", ".yml"} else find_profile(profile)
    passed = pass_time(make_events(recorded), config, minor=minor)
    record = make_record(recorded, passed, name, profile)
    return TraceAnswer(passed, record, metrics_of(record), tuple(list_parts(record)))


def make_record(recorded: Trace, passed: PassedTime, name: str, profile: str) -> RunRecord:
    """Return the record of a window that is the whole trace.

    Its nodes are those that are there at the end. Pods of the beginning were there
    before the window.
    """
    nodes: dict[str, NodeState] = {}
    for line in recorded.lines:
        match line:
            case NodeSeen():
                room = Resources.of_list(line.node.allocatable)
                nodes[line.name] = NodeState(line.name, room)
            case NodeGone():
                nodes.pop(line.name, None)
    kinds = _Kinds(recorded)
    return RunRecord(
        scenario_id=name,
        arm=profile,
        limits="own",
        round_number=1,
        nodes=tuple(nodes[name] for name in sorted(nodes)),
        pods=tuple(kinds.make_pod_record(number, life) for number, life in enumerate(passed.lives)),
        window_s=passed.until_s,
        clock=CLOCK,
        resolution_s=RESOLUTION_S,
        warm=True,
    )


class _Kinds:
    """What the pods of a trace ask for, and whose they are."""

    def __init__(self, recorded: Trace) -> None:
        classes = list_priorities(recorded.lines)
        self._kinds: dict[str, tuple[int, Resources]] = {}
        self._workloads: dict[str, str] = {}
        for line in recorded.lines:
            match line:
                case Template():
                    body = {"spec": resolve_priority(line.template.spec, classes)}
                    self._kinds[line.id] = priority_of(body), requests_of(body)
                case PodCame():
                    owner = line.owner.name if line.owner else line.name
                    self._workloads[f"{line.namespace}/{line.name}"] = owner

    def make_pod_record(self, number: int, life: Life) -> PodRecord:
        priority, requests = self._kinds[life.of]
        before = life.arrived_s == 0
        placed_before = before and life.bound_s == 0
        return PodRecord(
            uid=str(number),
            name=life.pod,
            workload=self._workloads[life.replaces or life.pod],
            priority=priority,
            requests=requests,
            node=life.node,
            created_s=None if before else life.arrived_s,
            bound_s=None if placed_before else life.bound_s,
            gone_s=life.ended_s,
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
