"""The step that takes a process away: what it does to it, and how it comes back."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import psutil
import pytest

from stowage_testbed.base.ending import EndingInterrupt
from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.wait import HANG_S, wait_until
from stowage_testbed.cluster import KwokBinaryCluster
from stowage_testbed.cluster.components import API_SERVER, HOST_PODS, pid_file
from stowage_testbed.cluster.processes import is_alive
from stowage_testbed.observe.change import Change, Verb
from stowage_testbed.observe.observer import Observer
from stowage_testbed.observe.receipt import Receipt
from stowage_testbed.observe.state import State
from stowage_testbed.run.environment import ScenarioEnvironment
from stowage_testbed.run.harness import Harness
from stowage_testbed.run.steps import interrupt as effect
from stowage_testbed.run.steps.context import StepContext
from stowage_testbed.run.steps.execution import carry_out
from stowage_testbed.run.timeouts import Timeouts
from stowage_testbed.scenario.model import Scenario
from stowage_testbed.scenario.steps.action import Step
from stowage_testbed.scenario.steps.interrupt import Interrupt, Process

Spawn = Callable[[], psutil.Process]


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
        before = condition(state).holds
        self.restarts += 1
        self._show()
        assert condition(state).holds, what
        self.waited = not before

    def _show(self) -> None:
        status = {"name": "scheduler", "restartCount": self.restarts}
        body = {
            "metadata": {"uid": "u", "namespace": "stowage-system", "name": "s"},
            "spec": {},
            "status": {
                "containerStatuses": [status],
                "conditions": [{"type": "Ready", "status": "True"}],
            },
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
    run: Any = SimpleNamespace(
        cluster=cluster, observer=watches, timeouts=Timeouts(), objects=None
    )
    context = StepContext(
        run,
        Scenario("interruptions/one", "A test.", (), ()),
        ScenarioEnvironment("ns", ()),
        run,
        harness or Harness(),
    )
    carry_out(context, Step(1, 1, Interrupt(process, how, for_s=0.01)))
    return watches


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], object]]:
    """Return the list of what is done while the process is away."""
    done: list[Callable[[], object]] = []

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
    cluster: Cluster, spawn: Spawn, meanwhile: list[Callable[[], object]]
) -> None:
    """The same process goes on with what it knows, which may be stale."""
    process, seen = spawn(), list[bool]()
    cluster.has(API_SERVER, process)
    meanwhile.append(lambda: note_stop(process, seen))

    interrupt(cluster, "api-server", "stop")

    assert seen == [True]
    assert not is_stopped(process)
    assert cluster.started == 1  # for clients that have given up


def test_what_is_killed_is_started_again_when_it_has_ended(
    cluster: Cluster, spawn: Spawn, meanwhile: list[Callable[[], object]]
) -> None:
    """What still runs would not be started."""
    process, seen = spawn(), list[int]()
    cluster.has(API_SERVER, process)
    meanwhile.append(lambda: seen.append(cluster.started))

    interrupt(cluster, "api-server", "kill")

    assert not is_alive(process)
    assert (seen, cluster.started) == ([0], 1)


def test_a_user_s_interrupt_leaves_no_broken_cluster(
    cluster: Cluster, spawn: Spawn, meanwhile: list[Callable[[], object]]
) -> None:
    """The cluster may be one that was there before the run."""
    process = spawn()
    cluster.has(API_SERVER, process)

    def leave() -> None:
        raise KeyboardInterrupt

    meanwhile.append(leave)
    with pytest.raises(KeyboardInterrupt):
        interrupt(cluster, "api-server", "stop")

    assert not is_stopped(process)
    assert cluster.started == 1


def test_a_cluster_that_was_ended_is_not_started_again(
    cluster: Cluster, spawn: Spawn, meanwhile: list[Callable[[], object]]
) -> None:
    """Its processes were killed, and would come to life with nobody to end them."""
    cluster.has(API_SERVER, spawn())

    def end() -> None:
        raise EndingInterrupt(StowageError("etcd has ended"))

    meanwhile.append(end)
    with pytest.raises(EndingInterrupt):
        interrupt(cluster, "api-server", "kill")

    assert cluster.started == 0


def test_what_does_not_run_cannot_be_interrupted(cluster: Cluster) -> None:
    """A step that does nothing would pass for a scheduler that lives with it."""
    with pytest.raises(StowageError, match="etcd does not run"):
        interrupt(cluster, "etcd", "stop")


def test_a_killed_scheduler_stays_away_until_its_kubelet_may_start_it(
    cluster: Cluster, spawn: Spawn, meanwhile: list[Callable[[], object]]
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
    cluster: Cluster, spawn: Spawn, meanwhile: list[Callable[[], object]]
) -> None:
    """What belongs to an arm is a part of the scheduler under comparison."""
    parts, seen = [spawn(), spawn()], list[bool]()
    meanwhile += [partial(note_stop, part, seen) for part in parts]

    interrupt(cluster, "scheduler", "stop", Serving(*parts, released=False))

    assert seen == [True, True]
    assert not any(map(is_stopped, parts))


def test_an_arm_is_not_killed(cluster: Cluster, spawn: Spawn) -> None:
    """Nothing would start it again, and the comparison would end."""
    arm = spawn()
    with pytest.raises(StowageError, match="how: stop"):
        interrupt(cluster, "scheduler", "kill", Serving(arm, released=False))

    assert is_alive(arm)


def test_without_a_release_there_is_no_scheduler(cluster: Cluster) -> None:
    """The way out is said."""
    with pytest.raises(StowageError, match="step `release` before"):
        interrupt(cluster, "scheduler", "stop")


def test_a_state_without_the_scheduler_s_pod_does_not_serve() -> None:
    """While a Deployment makes another pod there is none."""
    assert not effect._serves("stowage-system", 0)(State()).holds
