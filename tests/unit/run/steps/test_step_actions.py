"""Steps that drain nodes, take processes away, and overload a service."""

from __future__ import annotations

import inspect
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import psutil
import pytest
from amounts import size
from hpa_records import hpa_record

from stowage_testbed.api.client import ApiRefusedError
from stowage_testbed.base.ending import EndingInterrupt
from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.wait import HANG_S, WaitTimeoutError, wait_until
from stowage_testbed.cluster import KwokBinaryCluster
from stowage_testbed.cluster.components import API_SERVER, HOST_PODS, pid_file
from stowage_testbed.cluster.node_pool import NodePool
from stowage_testbed.cluster.processes import is_alive
from stowage_testbed.hpa.settings import FULL, Find, Timing
from stowage_testbed.observe.change import Change, Verb
from stowage_testbed.observe.condition import Condition
from stowage_testbed.observe.observer import Observer
from stowage_testbed.observe.receipt import Receipt, ReceiptClock
from stowage_testbed.observe.state import State
from stowage_testbed.run.arm import PodOverrides
from stowage_testbed.run.environment import ScenarioEnvironment
from stowage_testbed.run.harness import Harness
from stowage_testbed.run.listener import WindowListener
from stowage_testbed.run.steps import interrupt as effect
from stowage_testbed.run.steps import measuring
from stowage_testbed.run.steps.context import StepContext
from stowage_testbed.run.steps.execution import carry_out, effect_of
from stowage_testbed.run.steps.measuring import overload
from stowage_testbed.run.timeouts import Timeouts
from stowage_testbed.scenario.model import Scenario
from stowage_testbed.scenario.steps.action import Action, Step
from stowage_testbed.scenario.steps.drain import Drain
from stowage_testbed.scenario.steps.interrupt import Interrupt, Process
from stowage_testbed.scenario.steps.kinds import ACTIONS
from stowage_testbed.scenario.steps.measuring import Overload

BUDGET = '{"message": "The disruption budget stay-up needs 1 healthy pods and has 1"}'
RECORD = hpa_record(replace(FULL, find=Find(level_s=5.0)))
Spawn = Callable[[], psutil.Process]
Acts = list[Callable[[], object]]


def a_context(
    observer: Any,
    *,
    cluster: Any = None,
    objects: Any = None,
    nodes: int = 1,
    harness: Harness | None = None,
) -> StepContext:
    """Return what a step on so many nodes is carried out with."""
    run: Any = SimpleNamespace(
        cluster=cluster,
        observer=observer,
        objects=objects,
        timeouts=Timeouts(),
        report=lambda _text: None,
    )
    pool = NodePool("node", nodes, size(1000, 1 << 30))
    scenario = Scenario("steps/one", "A test.", (pool,), ())
    environment = ScenarioEnvironment("ns", tuple(pool.node_names()))
    return StepContext(run, scenario, environment, run, harness or Harness())


@pytest.mark.parametrize("kind", ACTIONS.values(), ids=lambda kind: kind.kind)
def test_every_kind_of_step_has_its_effect(kind: type[Action]) -> None:
    """It is found by its name, which nothing else would check before a run."""
    effect = effect_of(kind)

    of = inspect.signature(effect).parameters["step"].annotation
    assert of == kind.__name__


class FakeCluster:
    """Pods on two nodes; evicting one takes it away, unless it is refused so often."""

    def __init__(self, refused: int = 0, status: int = 429) -> None:
        self.state = State()
        self.patched: dict[str, Any] = {}
        self.evicted: list[str] = []
        self._refused = refused
        self._status = status

    def add(self, name: str, node: str, owner: str = "ReplicaSet") -> None:
        owners = [{"kind": owner, "name": "a", "uid": "a", "controller": True}]
        metadata: dict[str, Any] = {"uid": name, "namespace": "ns", "name": name}
        metadata["ownerReferences"] = owners if owner else []
        spec, status = {"nodeName": node}, {"phase": "Running"}
        body = {"metadata": metadata, "spec": spec, "status": status}
        self.state.apply(Change("Pod", Verb.ADDED, Receipt(0, 0), body))

    def patch(self, kind: str, name: str, change: Any) -> Any:
        self.patched[f"{kind} {name}"] = change
        body = {"metadata": {"uid": name, "name": name, "resourceVersion": "1"}}
        self.state.apply(Change(kind, Verb.MODIFIED, Receipt(0, 0), body))
        return body

    def wait_for(self, what: str, condition: Condition, **_: Any) -> None:
        assert condition(self.state).holds, what

    def evict(self, name: str, *, namespace: str, uid: str) -> None:
        if self._refused:
            self._refused -= 1
            raise ApiRefusedError(f"evict Pod {name}", self._status, BUDGET)
        self.evicted.append(name)
        body = {"metadata": {"uid": uid, "namespace": namespace, "name": name}}
        self.state.apply(Change("Pod", Verb.DELETED, Receipt(0, 0), body))


def drained(cluster: FakeCluster, timeout_s: float = 5.0) -> None:
    observer = SimpleNamespace(
        read=lambda look: look(cluster.state), wait_for=cluster.wait_for
    )
    context = a_context(observer, objects=cluster, nodes=2)
    carry_out(context, Step(1, 1, Drain(("node-0",), timeout_s)))


def test_the_node_is_closed_and_only_its_pods_are_evicted() -> None:
    """A pod that a budget protects is tried again: there may be room in a moment."""
    cluster = FakeCluster(refused=2)
    for name, node in (("a", "node-0"), ("b", "node-0"), ("c", "node-1")):
        cluster.add(name, node)

    drained(cluster)

    assert cluster.patched == {"Node node-0": {"spec": {"unschedulable": True}}}
    assert cluster.evicted == ["a", "b"]


def test_the_step_fails_at_the_deadline_and_names_pod_and_budget() -> None:
    """They are what has to change."""
    cluster = FakeCluster(refused=99)
    cluster.add("a", "node-0")

    with pytest.raises(WaitTimeoutError, match="for node-0 to be drained") as said:
        drained(cluster, timeout_s=0.1)

    assert "evict Pod a with 429" in str(said.value)
    assert "disruption budget stay-up" in str(said.value)


@pytest.mark.parametrize(
    ("cluster", "owner", "said"),
    [
        (FakeCluster(refused=1, status=403), "ReplicaSet", "403"),
        (FakeCluster(), "", "pod a on node-0 has no controller"),
    ],
    ids=["another refusal", "nobody would replace it"],
)
def test_what_would_not_go_away_by_waiting_is_an_error_at_once(
    cluster: FakeCluster, owner: str, said: str
) -> None:
    """`kubectl drain` refuses a pod that nobody would replace, too."""
    cluster.add("a", "node-0", owner)

    with pytest.raises(StowageError, match=said):
        drained(cluster)

    assert cluster.evicted == []


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


class Watches(Observer):
    """A scheduler's pod; each wait sees it started once more."""

    def __init__(self) -> None:
        super().__init__(api=None)  # type: ignore[arg-type] # it asks none
        self.restarts = 0
        self._show()

    def wait_for(self, what: str, condition: Any, **_: Any) -> None:
        state = self.read(lambda state: state)
        # While a Deployment makes another pod there is none.
        before = condition(state).holds or condition(State()).holds
        self.restarts += 1
        self._show()
        assert condition(state).holds, what
        self.waited = not before

    def _show(self) -> None:
        status = {"name": "scheduler", "restartCount": self.restarts}
        ready = [{"type": "Ready", "status": "True"}]
        body = {
            "metadata": {"uid": "u", "namespace": "stowage-system", "name": "s"},
            "spec": {},
            "status": {"containerStatuses": [status], "conditions": ready},
        }
        self.read(
            lambda state: state.apply(Change("Pod", Verb.ADDED, Receipt(0, 0), body))
        )


def interrupt(
    cluster: Cluster,
    process: Process,
    how: Literal["kill", "stop"],
    harness: Harness | None = None,
) -> Watches:
    watches = Watches()
    context = a_context(watches, cluster=cluster, harness=harness)
    carry_out(context, Step(1, 1, Interrupt(process, how, for_s=0.01)))
    return watches


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Acts:
    """Return the list of what is done while the process is away."""
    done: Acts = []

    def pause(_: float) -> None:
        for act in done:
            act()

    monkeypatch.setattr(effect, "SystemClock", lambda: SimpleNamespace(pause=pause))
    return done


def is_stopped(process: psutil.Process) -> bool:
    return bool(process.status() == psutil.STATUS_STOPPED)


def note_stop(process: psutil.Process, seen: list[bool]) -> None:
    """Note that a process is stopped, which takes a moment."""
    wait_until("it to stop", lambda: is_stopped(process), bool, timeout_s=HANG_S)
    seen.append(True)


def test_what_is_stopped_hangs_for_a_while_and_goes_on(
    cluster: Cluster, spawn: Spawn, meanwhile: Acts
) -> None:
    """The same process goes on with what it knows, which may be stale."""
    process, seen = spawn(), list[bool]()
    cluster.has(API_SERVER, process)
    meanwhile.append(lambda: note_stop(process, seen))

    interrupt(cluster, "api-server", "stop")

    assert (seen, is_stopped(process)) == ([True], False)
    assert cluster.started == 1  # for clients that have given up


def test_what_is_killed_is_started_again_when_it_has_ended(
    cluster: Cluster, spawn: Spawn, meanwhile: Acts
) -> None:
    """What still runs would not be started."""
    process, seen = spawn(), list[int]()
    cluster.has(API_SERVER, process)
    meanwhile.append(lambda: seen.append(cluster.started))

    interrupt(cluster, "api-server", "kill")

    assert (seen, cluster.started, is_alive(process)) == ([0], 1, False)


@pytest.mark.parametrize(
    ("how", "error"),
    [
        # The cluster may be one that was there before the run.
        ("stop", KeyboardInterrupt()),
        # Its processes were killed, and would live again with nobody to end them.
        ("kill", EndingInterrupt(StowageError("etcd has ended"))),
    ],
    ids=["a user's interrupt", "the cluster's end"],
)
def test_what_ends_the_run_leaves_no_broken_cluster(
    cluster: Cluster,
    spawn: Spawn,
    meanwhile: Acts,
    how: Literal["kill", "stop"],
    error: BaseException,
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
    """A kubelet starts it at once; then it has to serve again."""
    scheduler, kubelet, seen = spawn(), spawn(), list[bool]()
    cluster.has(HOST_PODS, kubelet)
    meanwhile.append(lambda: note_stop(kubelet, seen))

    watches = interrupt(cluster, "scheduler", "kill", Serving(scheduler, released=True))

    assert not is_alive(scheduler)
    assert seen == [True]
    assert not is_stopped(kubelet)
    assert watches.waited


def test_an_arm_is_stopped_as_a_whole(
    cluster: Cluster, spawn: Spawn, meanwhile: Acts
) -> None:
    """What belongs to an arm is a part of the scheduler under comparison."""
    parts, seen = [spawn(), spawn()], list[bool]()
    meanwhile += [partial(note_stop, part, seen) for part in parts]

    interrupt(cluster, "scheduler", "stop", Serving(*parts, released=False))

    assert seen == [True, True]
    assert not any(map(is_stopped, parts))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return what the run was asked for; it answers with a recovery."""
    seen: dict[str, Any] = {}

    def run(
        run: Any,
        environment: Any,
        settings: Any,
        *,
        pod_overrides: Any,
        window_listener: Any,
    ) -> Any:
        seen.update(pod_overrides=pod_overrides, settings=settings)
        window_listener.open()
        window_listener.close()
        return RECORD

    monkeypatch.setattr(measuring, "run_recovery", run)
    return seen


def serving(pod_overrides: PodOverrides | None = None) -> StepContext:
    harness = Harness()
    harness.pod_overrides = pod_overrides
    return a_context(SimpleNamespace(clock=ReceiptClock()), harness=harness)


def test_the_pods_are_of_the_compared_scheduler_or_the_release(
    asked: dict[str, Any],
) -> None:
    """A comparison measures its own scheduler, with the settings of the file."""
    overload(serving(PodOverrides("yunikorn")), Overload())
    assert asked["pod_overrides"] == PodOverrides("yunikorn")

    overload(serving(), Overload(replace(FULL, timing=Timing(sync_s=1))))
    assert asked["pod_overrides"].scheduler_name == "default-scheduler"
    assert asked["settings"].timing.sync_s == 1


@pytest.mark.usefixtures("asked")
def test_the_record_is_kept_and_hold_is_the_measured_window() -> None:
    """Section 5.2.2: latencies are of the pods that were created after its start."""
    calls = []

    class Recorded(WindowListener):
        def open(self) -> None:
            calls.append("open")

        def close(self) -> None:
            calls.append("close")

    made = serving()
    made.harness.window_listener = Recorded()

    overload(made, Overload())

    assert made.recovery is RECORD
    assert made.facts == {"clients": 10, "ttr_s": RECORD.recovery.ttr_s}
    assert made.checks == []
    assert calls == ["open", "close"]
    assert made.started is not None
    assert made.stopped is not None
    assert made.started <= made.stopped


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize(
    ("outcome", "message"),
    [
        ("recovered", ""),
        ("no_degradation", "expected no_degradation, found recovered"),
    ],
)
def test_the_outcome_is_checked_if_one_is_expected(outcome: Any, message: str) -> None:
    """A recovery where none is expected is a finding, too."""
    made = serving()

    overload(made, Overload(outcome=outcome))

    (check,) = made.checks
    assert (check.name, check.passed) == ("outcome", not message)
    assert check.message == message
