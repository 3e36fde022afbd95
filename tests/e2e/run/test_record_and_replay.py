"""A live cluster recorded, through a time in which it stood still, and replayed."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from step_environment import ROUNDS, Served, StepEnvironment

from stowage_testbed.base.wait import HANG_S, wait_until
from stowage_testbed.cluster.device_pools import CLAIMS
from stowage_testbed.observe.audit import read_audit_entries
from stowage_testbed.observe.change import Verb
from stowage_testbed.observe.pod import WORKLOAD_LABEL, node_of
from stowage_testbed.run.context import RunContext
from stowage_testbed.run.execution import Harness
from stowage_testbed.run.listener import Listener, RunRecorder
from stowage_testbed.run.outcome import ScenarioOutcome
from stowage_testbed.run.scenario_run import run_scenario
from stowage_testbed.scenario.from_trace import make_scenario_of_trace
from stowage_testbed.scenario.load import load_file
from stowage_testbed.scenario.steps.action import Step
from stowage_testbed.scenario.steps.context import StepContext, WindowListener
from stowage_testbed.simulate.trace_answer import simulate_trace
from stowage_testbed.trace.format import Owner, PodBound, PodCame, PodEnded, Scaled, WatchLost
from stowage_testbed.trace.reading import Trace, read_trace
from stowage_testbed.trace.record import record

pytestmark = pytest.mark.e2e

STOWAGE = Path(sys.executable).with_name("stowage")
STOPPED_AFTER_S, STOPPED_S = 4.0, 5.0
APART_S = 0.2
"""How far most arrivals may be from when they were recorded; measured were 0.05 s."""
FAR_S = 3.0
"""How far none may be, on a machine that stands still now and then; a wrong date of
what came while the server was stopped would be further off."""
AWAY_S = 3
"""As `traffic-gap.yaml` says."""
HERE = Path(__file__).parent
SCENARIOS = HERE.parents[2] / "scenarios"


@dataclass
class Watched(Harness, Listener):
    """A release serves already; when each pod came is kept."""

    came_s: dict[str, float] = field(default_factory=dict)

    is_released = False
    is_judged = False

    def scenario_finished(self, outcome: object, records: RunRecorder) -> None:
        del outcome
        for one in records.changes():
            new = one.kind == "Pod" and one.verb is Verb.ADDED
            if new and one.namespace == records.namespace:
                self.came_s[one.name] = one.receipt.monotonic_ns / 1e9


class Recorded(Watched):
    """Records from a step on; the API server may stand still for a while after that."""

    def __init__(self, context: RunContext, path: Path, *, halts: bool, begins: str = "burst") -> None:
        super().__init__()
        self._context = context
        self._path = path
        self._begins = begins
        self._stop, self._began = threading.Event(), threading.Event()
        targets = [self._record, self._halt] if halts else [self._record]
        self._threads = [threading.Thread(target=target) for target in targets]

    def before(self, context: StepContext, step: Step) -> None:
        del context
        if step.kind == self._begins and not self._began.is_set():
            for thread in self._threads:
                thread.start()
            assert self._began.wait(HANG_S)

    def scenario_finished(self, outcome: object, records: RunRecorder) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()
        super().scenario_finished(outcome, records)

    def _record(self) -> None:
        def begin(_: object) -> None:
            self._began.set()

        with self._context.cluster.api_client() as api:
            record(api, self._path, stop=self._stop, began=begin)

    def _halt(self) -> None:
        pids = self._context.cluster.workdir / "pids"
        pid = int((pids / "kube-apiserver.pid").read_text())
        # Time has to pass here: what is tested is what happens in it.
        self._stop.wait(STOPPED_AFTER_S)
        os.kill(pid, signal.SIGSTOP)
        try:
            self._stop.wait(STOPPED_S)
        finally:
            os.kill(pid, signal.SIGCONT)


def measure_distances_s(trace: Trace, came_s: dict[str, float]) -> list[float]:
    """Return how much later than recorded each bare pod came, the first one apart."""
    found = [
        came_s[line.name] - line.t
        for line in trace.lines
        if isinstance(line, PodCame) and line.owner is None and line.t
    ]
    return [one - min(found) for one in found]


def measure_errors_s(trace: Trace, context: RunContext) -> list[float]:
    """Return how far the trace is from when the server made each bare pod: between its request and the answer.

    A request may be under way when the server stops.
    """
    began_s = datetime.fromisoformat(trace.header.began).timestamp()
    made_s = {
        (entry.namespace, entry.name): (entry.received_ns / 1e9 - began_s, entry.stage_ns / 1e9 - began_s)
        for entry in read_audit_entries(context.cluster.audit_log)
        if entry.creates("pods", "")
    }
    bare = [line for line in trace.lines if isinstance(line, PodCame) and line.owner is None]
    spans = [(line.t, *made_s[line.namespace, line.name]) for line in bare]
    return [max(0.0, asked - t, t - answered) for t, asked, answered in spans]


def check_times(off_s: Iterable[float]) -> None:
    """Expect most of them to be small, and none to be large."""
    found = sorted(off_s)
    assert median(found) < APART_S
    assert found[-1] < FAR_S


def test_pods_begin_where_they_were_and_later_ones_are_the_schedulers(
    environment: StepEnvironment, tmp_path: Path
) -> None:
    """Two of one Deployment stood on one node, where no scheduler would put them."""
    trace = HERE / "then.jsonl"

    outcome = environment.play_scenario(make_scenario_of_trace(trace, tmp_path))

    assert outcome.error == ""
    nodes = sorted((pod["metadata"]["name"][:3], node_of(pod)) for pod in environment.pods)
    assert nodes == [("lat", "then-0"), ("web", "then-1"), ("web", "then-1")]


class Moment(Served):
    """Records what is there before it is cleared away, and keeps which devices the pods have."""

    def __init__(self, context: RunContext, path: Path) -> None:
        super().__init__(context, None, WindowListener())
        self._path = path
        self.devices: list[tuple[str, dict[str, Any]]] = []

    def scenario_finished(self, outcome: ScenarioOutcome, records: RunRecorder) -> None:
        super().scenario_finished(outcome, records)
        workloads = {one["metadata"]["name"]: one["metadata"]["labels"][WORKLOAD_LABEL] for one in self.pods}
        devices = [
            (workloads[claim["status"]["reservedFor"][0]["name"]], {**result, "shareID": ""})
            for claim in self._context.objects.list_all(CLAIMS, records.namespace)
            for result in claim["status"]["allocation"]["devices"]["results"]
        ]
        self.devices = sorted(devices, key=str)
        over = threading.Event()
        over.set()
        record(self._context.api, self._path, stop=over, namespaces=[records.namespace])


def test_pods_have_the_devices_again_that_they_had(context: RunContext, tmp_path: Path) -> None:
    """Whoever came first got the first GPU and has gone since; a scheduler would give that one again."""
    path = tmp_path / "devices.jsonl.gz"
    first, again = Moment(context, path), Moment(context, tmp_path / "again.jsonl.gz")
    (scenario,) = load_file(HERE / "devices.yaml")

    outcome = run_scenario(context, scenario, next(ROUNDS), first, first)
    replayed = run_scenario(context, make_scenario_of_trace(path, tmp_path), next(ROUNDS), again, again)

    assert (outcome.error, replayed.error) == ("", "")
    assert [one.message for one in outcome.checks if not one.passed] == []
    assert [(name, result["device"]) for name, result in first.devices] == [
        ("both", "gpu-2"),
        ("part", "gpu-3"),
        ("part", "gpu-3"),
        ("stays", "gpu-1"),
    ]
    assert again.devices == first.devices


def test_pods_that_claim_devices_are_placed_in_virtual_time_as_they_were(context: RunContext, tmp_path: Path) -> None:
    """The simulated scheduler makes their claims, has them wait for devices, and takes back those of who goes."""
    path = tmp_path / "whole.jsonl.gz"
    (scenario,) = load_file(SCENARIOS / "devices" / "whole.yaml")
    recorded = Recorded(context, path, halts=False, begins="apply")

    outcome = run_scenario(context, scenario, next(ROUNDS), recorded, recorded)
    trace = read_trace(path)
    answer = simulate_trace(trace, "whole", "deterministic")

    assert outcome.error == ""
    bound = {f"{line.namespace}/{line.name}": line.node for line in trace.lines if isinstance(line, PodBound)}
    assert len(bound) == 3
    assert {life.pod: life.node for life in answer.passed.lives} == bound
    metrics = {one.name: one.value for one in answer.metrics}
    assert metrics["utilisation_devices/h100_end"] == 0.625


def test_what_was_recorded_happens_again(context: RunContext, tmp_path: Path) -> None:
    """The same pods at the same times, also of the time in which the server stood."""
    path = tmp_path / "some.jsonl.gz"
    recorded, replayed = Recorded(context, path, halts=True), Watched()
    (scenario,) = load_file(HERE / "traffic-some.yaml")
    first = run_scenario(context, scenario, 1, recorded, recorded)
    trace = read_trace(path)
    again = make_scenario_of_trace(path, tmp_path)
    second = run_scenario(context, again, 2, replayed, replayed)

    assert (first.error, second.error) == ("", "")
    came = [line for line in trace.lines if isinstance(line, PodCame)]
    tasks = {line.name for line in came if line.owner is None}
    assert tasks == {f"task-{number:05}" for number in range(25)}
    owners = [line.owner for line in came if line.owner]
    assert owners == 4 * [Owner("Deployment", "shop")]
    assert [one.replicas for one in trace.lines if isinstance(one, Scaled)] == [4]
    ended = [line.how for line in trace.lines if isinstance(line, PodEnded)]
    assert set(ended) == {"succeeded"}
    off_s = measure_errors_s(trace, context)
    assert len(off_s) == len(tasks)
    check_times(off_s)

    assert tasks <= set(replayed.came_s)
    assert len(replayed.came_s) == len(recorded.came_s) == len(came)
    replay = next(one for one in second.steps if one.kind == "replay")
    check_times(measure_distances_s(trace, replayed.came_s))
    assert replay.facts["refused"] == 0


def test_recording_goes_on_after_the_server_was_away(context: RunContext, tmp_path: Path) -> None:
    """All connections are lost; what came before and after is there, and the gap."""
    path = tmp_path / "gap.jsonl.gz"
    (scenario,) = load_file(HERE / "traffic-gap.yaml")
    recorded = Recorded(context, path, halts=False)
    outcome = run_scenario(context, scenario, 3, recorded, recorded)
    trace = read_trace(path)

    assert outcome.error == ""
    came = {line.name: line.t for line in trace.lines if isinstance(line, PodCame)}
    assert set(came) == {f"task-{number:05}" for number in range(6)}
    (gap,) = (line for line in trace.lines if isinstance(line, WatchLost))
    assert gap.t - gap.from_ > AWAY_S / 2
    assert came["task-00002"] < gap.from_ < gap.t < came["task-00003"] + APART_S


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_however_recording_ends_the_trace_can_be_read(
    context: RunContext, tmp_path: Path, number: signal.Signals
) -> None:
    """Ctrl-C is how it ends; who is killed has written what was there."""
    path = tmp_path / "x.jsonl.gz"
    command = [str(STOWAGE), "record", "--out", str(path)]
    command += ["--kubeconfig", str(context.cluster.kubeconfig)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline().startswith("recording until Ctrl-C")
        wait_until("the beginning to be written", lambda: path.stat().st_size, bool)
        process.send_signal(number)
        code = process.wait(HANG_S)
    trace = read_trace(path)

    killed = number == signal.SIGKILL
    assert code == (-number if killed else 0)
    assert trace.header.kubernetes.startswith("1.")
    assert trace.remark.startswith("it was cut off") is killed
    assert bool(trace.remark) is killed
