"""One deployment: create all of it at once, wait, look, and take it away."""

from __future__ import annotations

from dataclasses import dataclass

from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.wait import WaitTimeoutError
from stowage_testbed.observe.observer import Observer
from stowage_testbed.observe.receipt import Receipt
from stowage_testbed.observe.settled import pods_decided, pods_placed
from stowage_testbed.observe.state import State
from stowage_testbed.reproduce.boreas.request import plans, quiet_s
from stowage_testbed.reproduce.boreas.scenes import Scene
from stowage_testbed.run.arm import Arm
from stowage_testbed.run.context import RunContext
from stowage_testbed.run.harness import Harness
from stowage_testbed.run.listener import Listener
from stowage_testbed.run.material import Material
from stowage_testbed.run.outcome import ScenarioOutcome
from stowage_testbed.run.scenario_run import run_scenario
from stowage_testbed.run.steps.context import StepContext
from stowage_testbed.scenario.steps.action import Step


@dataclass(frozen=True, slots=True)
class DeploymentRow:
    """One scene, deployed once.

    Attributes
    ----------
    scene, arm, number
        Which, by which scheduler, and the how manieth time.
    pods, where
        How many there are; the node of each that has one, as ``app/node``, in order.
    took_s
        Seconds from the first creation until the watch showed the last node, with the
        time that a batch waits; 0 where pods were left out.
    solves, solve_s
        Plans that were asked for, and the seconds that they took together.
    moves
        Pods that were moved.
    """

    scene: str
    arm: str
    number: int
    pods: int
    where: tuple[str, ...]
    took_s: float
    solves: int
    solve_s: float
    moves: int

    @property
    def whole(self) -> bool:
        """Whether every pod has a node."""
        return len(self.where) == self.pods

    @property
    def nodes_used(self) -> int:
        """Return on how many nodes they are."""
        return len({one.partition("/")[2] for one in self.where})


DECIDED_S = 60.0
"""Many times what a run takes on two idle cores."""

ROUNDS = 20
"""Of quiet that something broke, after which a scheduler is said to be at no rest."""


class Deployment(Harness, Listener):
    """Deploys a scene once, by an arm that serves."""

    is_released = False
    is_judged = False

    def __init__(self, observer: Observer, scene: Scene, arm: Arm, number: int) -> None:
        self._observer = observer
        self._scene = scene
        self._arm = arm
        self._number = number
        self._began: Receipt
        self._took_s = 0.0
        self.row: DeploymentRow
        self.pod_overrides = arm.pod_overrides

    def before(self, context: StepContext, step: Step) -> None:
        """Take the time."""
        self._began = self._observer.clock.now()

    def after(self, context: StepContext, step: Step) -> None:
        """Wait until the pods have nodes, or it is known that some have none.

        A pod that was left out may be tried again when another one has found its node,
        so that quiet is waited for.
        """
        namespace, pods = context.namespace, self._scene.pods
        if self._all_placed(namespace):
            self._took_s = self._observer.clock.now().seconds_since(self._began)
        elif not plans(self._arm):
            self._observer.wait_for(
                f"the pods of {namespace} to be placed or found unschedulable",
                pods_decided(namespace, pods),
                timeout_s=DECIDED_S,
            )

    def scenario_finished(self, outcome: ScenarioOutcome, material: Material) -> None:
        """Make the row."""
        self.row = DeploymentRow(
            scene=self._scene.name,
            arm=self._arm.name,
            number=self._number,
            pods=self._scene.pods,
            where=self._observer.read(lambda state: _where(state, material.namespace)),
            took_s=self._took_s,
            solves=len(outcome.plans),
            solve_s=sum(plan.solve_s for plan in outcome.plans),
            moves=outcome.moves,
        )

    def _all_placed(self, namespace: str) -> bool:
        """Wait until no pod changes any more; return whether all are placed."""
        placed = pods_placed(namespace, self._scene.pods)
        for _ in range(ROUNDS):
            before = _last_change(self._observer)
            try:
                self._observer.wait_for("every pod to be placed", placed, timeout_s=quiet_s(self._arm))
            except WaitTimeoutError:
                if _last_change(self._observer) == before:
                    return False
            else:
                return True
        return False


def deploy(context: RunContext, scene: Scene, arm: Arm, number: int) -> DeploymentRow:
    """Return what came of it; nothing of it is left on the cluster.

    Raises
    ------
    StowageError
        It could not be deployed.
    """
    deployment = Deployment(context.observer, scene, arm, number)
    scenario = scene.scenario(arm.name, number)
    outcome = run_scenario(context, scenario, number, deployment, deployment)
    if outcome.error:
        raise StowageError(f"{scene.name} by {arm.name}: {outcome.error}")
    return deployment.row


def _last_change(observer: Observer) -> Receipt | None:
    return observer.read(lambda state: state.last_change("Pod"))


def _where(state: State, namespace: str) -> tuple[str, ...]:
    pods = [pod for pod in state.pods(namespace) if pod.bound]
    return tuple(sorted(f"{pod.workload}/{pod.node}" for pod in pods))
