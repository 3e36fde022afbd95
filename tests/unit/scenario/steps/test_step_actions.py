"""Steps that drain nodes, take processes away, and overload a service."""

import subprocess
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import psutil
import pytest
from amounts import size
from hpa_records import FULL, hpa_record
from kubernetes.client import ApiClient

from stowage_testbed.api.client import ApiRefusedError
from stowage_testbed.base.errors import RunEndedError, StowageError
from stowage_testbed.base.wait import wait_until
from stowage_testbed.cluster import KwokBinaryCluster
from stowage_testbed.cluster.components import API_SERVER, HOST_PODS, is_alive, pid_file
from stowage_testbed.cluster.node_pool import NodePool
from stowage_testbed.hpa.settings import Find, Timing
from stowage_testbed.observe.change import Change, Receipt, ReceiptClock, Verb
from stowage_testbed.observe.state import State
from stowage_testbed.run.execution import Execution, Harness
from stowage_testbed.scenario.model import Scenario
from stowage_testbed.scenario.steps import interrupting, overloading
from stowage_testbed.scenario.steps.action import Step
from stowage_testbed.scenario.steps.interrupting import Interrupt, Process
from stowage_testbed.scenario.steps.nodes import Drain
from stowage_testbed.scenario.steps.overloading import Overload

RECORD = hpa_record(replace(FULL, find=Find(level_s=5.0)))
Spawn = Callable[[], psutil.Process]
Acts = list[Callable[[], object]]


def a_context(observer: Any, *, cluster: Any = None, objects: Any = None, harness: Harness | None = None) -> Execution:
    """Return what carries steps out on one node."""
    run: Any = SimpleNamespace(
        cluster=cluster, api=ApiClient(), observer=observer, namespace="ns", report=lambda _text: None
    )
    pool = NodePool("node", 1, size(1000, 1 << 30))
    scenario = Scenario("steps/one", "A test.", (pool,), ())
    context = Execution(run, scenario, run, harness or Harness())
    context.objects = objects
    return context


@pytest.mark.parametrize(
    ("status", "owner", "said"),
    [(403, "ReplicaSet", "403"), (429, "", "pod a on node-0 has no controller")],
    ids=["another refusal", "nobody would replace it"],
)
def test_what_would_not_go_away_by_waiting_is_an_error_at_once(status: int, owner: str, said: str) -> None:
    """`kubectl drain` refuses a pod that nobody would replace, too."""
    state = State()
    owners = [{"kind": owner, "name": "a", "uid": "a", "controller": True}]
    metadata: dict[str, Any] = {"uid": "a", "namespace": "ns", "name": "a"}
    metadata["ownerReferences"] = owners if owner else []
    body = {"metadata": metadata, "spec": {"nodeName": "node-0"}, "status": {}}
    state.apply(Change("Pod", Verb.ADDED, Receipt(0, 0), body))

    def evict(name: str, **_: str) -> None:
        raise ApiRefusedError(f"evict Pod {name}", status, "")

    node = {"metadata": {"uid": "node-0", "name": "node-0", "resourceVersion": "1"}}
    objects = SimpleNamespace(patch=lambda *_: node, evict=evict)
    observer = SimpleNamespace(read=lambda look: look(state), wait_for=lambda *_, **__: None)

    with pytest.raises(StowageError, match=said):
        a_context(observer, objects=objects).carry_out(Step(1, 1, Drain(("node-0",), 5.0)))


@pytest.fixture
def spawn() -> Iterator[Spawn]:
    """Start processes that sleep; they are gone afterwards."""
    children: list[subprocess.Popen[bytes]] = []

    def start() -> psutil.Process:
        children.append(subprocess.Popen(["sleep", "60"]))
        return psutil.Process(children[-1].pid)

    yield start
    for child in children:
        child.kill()
        child.wait()


class Cluster(KwokBinaryCluster):
    """A cluster of which only its folder is there; notes what is started again."""

    def __init__(self, workdir: Path) -> None:
        super().__init__("interrupted")
        self.workdir = workdir
        self.started = 0
        (workdir / "pids").mkdir()

    def has(self, component: str, process: psutil.Process) -> None:
        pid_file(self.workdir, component).write_text(str(process.pid))

    def start_again(self) -> None:
        self.started += 1


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    return Cluster(tmp_path)


class Serving(Harness):
    """Something that serves with these processes, a release or an arm."""

    def __init__(self, *processes: psutil.Process, released: bool) -> None:
        self._processes = processes
        release: Any = SimpleNamespace(namespace="stowage-system")
        self.serving_release = release if released else None

    def find_scheduler_pids(self) -> tuple[int, ...]:
        return tuple(process.pid for process in self._processes)


def interrupt(cluster: Cluster, process: Process, how: Literal["kill", "stop"], harness: Harness | None = None) -> None:
    observer = SimpleNamespace(
        patient=lambda _: nullcontext(), read=lambda look: look(State()), wait_for=lambda *_, **__: None
    )
    context = a_context(observer, cluster=cluster, harness=harness)
    context.carry_out(Step(1, 1, Interrupt(process, how, for_s=0.01)))


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Acts:
    """Return the list of what is done while the process is away."""
    done: Acts = []

    def pause(_: float) -> None:
        for act in done:
            act()

    monkeypatch.setattr(interrupting, "SystemClock", lambda: SimpleNamespace(pause=pause))
    return done


def is_stopped(process: psutil.Process) -> bool:
    return is_alive(process) and process.status() == psutil.STATUS_STOPPED


def note_stop(process: psutil.Process, seen: list[bool]) -> None:
    """Note that a process is stopped, which takes a moment."""
    wait_until("it to stop", lambda: is_stopped(process), bool)
    seen.append(True)


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_what_is_away_for_a_while_goes_on_or_is_started_again(
    cluster: Cluster, spawn: Spawn, meanwhile: Acts, how: Literal["kill", "stop"]
) -> None:
    """What has not ended yet would not be started."""
    process, seen = spawn(), list[bool]()
    cluster.has(API_SERVER, process)
    if how == "stop":
        meanwhile.append(lambda: note_stop(process, seen))
    meanwhile.append(lambda: seen.append(cluster.started == 0))

    interrupt(cluster, "api-server", how)

    assert all(seen)
    assert seen
    assert (is_alive(process), is_stopped(process)) == (how == "stop", False)
    assert cluster.started == 1  # for clients that have given up, too


@pytest.mark.parametrize(
    ("how", "error"),
    [
        # The cluster may be one that was there before the run.
        ("stop", KeyboardInterrupt()),
        # Its processes were killed, and would live again with nobody to end them.
        ("kill", RunEndedError("etcd has ended")),
    ],
    ids=["a user's interrupt", "the cluster's end"],
)
def test_what_ends_the_run_leaves_no_broken_cluster(
    cluster: Cluster, spawn: Spawn, meanwhile: Acts, how: Literal["kill", "stop"], error: BaseException
) -> None:
    """Each for the reason above it."""
    process = spawn()
    cluster.has(API_SERVER, process)

    def leave() -> None:
        raise error

    meanwhile.append(leave)
    with pytest.raises(type(error)):
        interrupt(cluster, "api-server", how)

    assert not is_stopped(process)
    assert cluster.started == (1 if how == "stop" else 0)


def test_what_cannot_be_interrupted_is_refused(cluster: Cluster, spawn: Spawn) -> None:
    """A step that does nothing would pass for a scheduler that lives with it."""
    arm = spawn()
    with pytest.raises(StowageError, match="etcd does not run"):
        interrupt(cluster, "etcd", "stop")
    with pytest.raises(StowageError, match="step `release` before"):
        interrupt(cluster, "scheduler", "stop")
    # Nothing would start an arm again, and the comparison would end.
    with pytest.raises(StowageError, match="how: stop"):
        interrupt(cluster, "scheduler", "kill", Serving(arm, released=False))

    assert is_alive(arm)


def test_a_killed_scheduler_stays_away_until_its_kubelet_may_start_it(
    cluster: Cluster, spawn: Spawn, meanwhile: Acts
) -> None:
    """A kubelet starts it at once."""
    scheduler, kubelet, seen = spawn(), spawn(), list[bool]()
    cluster.has(HOST_PODS, kubelet)
    meanwhile.append(lambda: note_stop(kubelet, seen))

    interrupt(cluster, "scheduler", "kill", Serving(scheduler, released=True))

    assert not is_alive(scheduler)
    assert seen == [True]
    assert not is_stopped(kubelet)


def test_an_arm_is_stopped_as_a_whole(cluster: Cluster, spawn: Spawn, meanwhile: Acts) -> None:
    """What belongs to an arm is a part of the scheduler under comparison."""
    parts, seen = [spawn(), spawn()], list[bool]()
    meanwhile += [partial(note_stop, part, seen) for part in parts]

    interrupt(cluster, "scheduler", "stop", Serving(*parts, released=False))

    assert seen == [True, True]
    assert not any(map(is_stopped, parts))


@pytest.mark.parametrize(
    ("outcome", "message"), [("recovered", ""), ("no_degradation", "expected no_degradation, found recovered")]
)
def test_what_became_of_an_overloaded_service_is_checked(
    monkeypatch: pytest.MonkeyPatch, outcome: Any, message: str
) -> None:
    """A recovery where none is expected is a finding, too."""
    seen: list[Any] = []

    def run(context: Any, settings: Any) -> Any:
        seen.append(settings)
        context.open_window()
        context.close_window()
        return RECORD

    monkeypatch.setattr(overloading, "run_recovery", run)
    made = a_context(SimpleNamespace(clock=ReceiptClock()))

    made.carry_out(Step(1, 1, Overload(timing=Timing(sync_s=1), outcome=outcome)))

    assert [one.timing.sync_s for one in seen] == [1]
    assert (made.recovery, made.facts["clients"]) == (RECORD, 10)
    assert made.started is not None
    assert made.stopped is not None
    assert made.started <= made.stopped
    (check,) = made.checks
    assert (check.name, check.passed) == ("outcome", not message)
    assert check.message == message
