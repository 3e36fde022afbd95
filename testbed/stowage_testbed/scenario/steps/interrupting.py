"""The step that takes a process of the cluster away for a while."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import psutil
from annotated_types import Gt, Le

from stowage_testbed.base.errors import RunEndedError, StowageError
from stowage_testbed.base.wait import HANG_S, SystemClock, wait_until
from stowage_testbed.cluster import KwokBinaryCluster
from stowage_testbed.cluster.components import (
    API_SERVER,
    CONTROL_PLANE,
    CONTROLLER_MANAGER,
    ETCD,
    HOST_PODS,
    KWOK,
    component_process,
    is_alive,
    kill_one,
    resume,
)
from stowage_testbed.cluster.supervision import expect_ends, expecting_container_ends
from stowage_testbed.observe.condition import ConditionResult
from stowage_testbed.observe.state import State
from stowage_testbed.scenario.steps.action import Action
from stowage_testbed.scenario.steps.context import StepContext
from stowage_testbed.scenario.types import Seconds

COMPONENTS = {"api-server": API_SERVER, "controller-manager": CONTROLLER_MANAGER, "etcd": ETCD, "kwok": KWOK}
Process = Literal["api-server", "controller-manager", "etcd", "kwok", "scheduler"]  # What can be interrupted


@dataclass(frozen=True, slots=True)
class Interrupt(Action):
    """Take a process away for some seconds; the next step finds it serving again.

    It needs a cluster whose control plane are processes of this machine.
    """

    kind = "interrupt"
    deadline = "settle"
    process: Process
    """Which one. kwok stands for the kubelets of all fake nodes."""
    how: Literal["kill", "stop"]
    """stop: it hangs, and goes on where it was. kill: it is dead, and is started again."""
    for_s: Annotated[float, Gt(0), Le(600)]
    """For how many seconds."""
    timeout_s: Seconds | None = None
    """Deadline in seconds."""

    def carry_out(self, context: StepContext) -> None:
        component, cluster = COMPONENTS.get(self.process), context.cluster
        if component is None:
            self._interrupt_scheduler(context)
            return
        assert isinstance(cluster, KwokBinaryCluster)  # noqa: S101 - others are refused
        process = component_process(cluster.workdir, component)
        if process is None:
            raise _no_process(self.process)
        # Its clients may give up meanwhile, and are started again with it.
        serves_others = component in {ETCD, API_SERVER}
        expect_ends(cluster, *(CONTROL_PLANE[CONTROL_PLANE.index(component) :] if serves_others else (component,)))
        with context.observer.patient(self.for_s + HANG_S):
            try:
                self._take_away([process])
                # kwok reads all pods when it is started again. A kubelet tries again what the API server refused
                # meanwhile; kwok gives up where the answer is 500, as it is without etcd (`shouldRetry` in its
                # pkg/kwok/controllers/utils.go).
                if serves_others and (kwok := component_process(cluster.workdir, KWOK)):
                    _kill(kwok)
            except RunEndedError:
                raise  # the cluster is gone
            except BaseException:
                # One that outlives the run must not stay broken.
                cluster.start_again()
                raise
            cluster.start_again()

    def _interrupt_scheduler(self, context: StepContext) -> None:
        try:
            processes = [psutil.Process(pid) for pid in context.find_scheduler_pids()]
        except psutil.NoSuchProcess as error:
            raise _no_process("scheduler") from error
        if not context.release_namespace:
            if self.how == "kill":
                raise StowageError(
                    "a scheduler under comparison is not started again; stop it with "
                    "`how: stop`, or kill that of a release, in `stowage run`"
                )
            self._take_away(processes)
            return
        namespace = context.release_namespace
        restarts = context.observer.read(lambda state: _count_restarts(state, namespace)) + (self.how == "kill")

        def serves(state: State) -> ConditionResult:
            pods, count = state.all_pods(namespace), _count_restarts(state, namespace)
            ready = bool(pods) and all(pod.live and pod.ready for pod in pods)
            return ConditionResult(
                ready and count >= restarts, f"the release is {'' if ready else 'not '}ready; {count} restarts"
            )

        # Asleep, the kubelet does not start a killed container again at once.
        kubelet = component_process(context.cluster.workdir, HOST_PODS) if self.how == "kill" else None
        with expecting_container_ends(context.cluster):
            try:
                if kubelet is not None:
                    kubelet.suspend()
                self._take_away(processes)
            finally:
                if kubelet is not None:
                    resume(kubelet)
            context.wait_for("the scheduler to serve again", serves)

    def _take_away(self, processes: Sequence[psutil.Process]) -> None:
        """Stop or kill processes; what was stopped goes on after the step's seconds."""
        take = psutil.Process.suspend if self.how == "stop" else _kill
        try:
            for process in processes:
                take(process)
            SystemClock().pause(self.for_s)
        finally:
            for process in processes:
                resume(process)


def _kill(process: psutil.Process) -> None:
    """Kill a process; what has not ended yet is not started again."""
    kill_one(process)
    wait_until(f"process {process.pid} to end", lambda: is_alive(process), lambda alive: not alive)


def _no_process(name: str) -> StowageError:
    return StowageError(f"{name} does not run, and cannot be interrupted; see its log")


def _count_restarts(state: State, namespace: str) -> int:
    """Return how often the scheduler has been started again."""
    return sum(
        status["restartCount"]
        for body in state.bodies("Pod", namespace)
        for status in (body.get("status") or {}).get("containerStatuses") or ()
        if status["name"] == "scheduler"
    )
