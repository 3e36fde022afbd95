"""One deployment: create all of it at once, wait, look, and take it away."""

from __future__ import annotations

from dataclasses import dataclass

from stowage_testbed.observe.observer import Observer
from stowage_testbed.observe.receipt import Receipt
from stowage_testbed.observe.settled import (
    Condition,
    objects_gone,
    pods_decided,
    pods_gone,
    pods_placed,
)
from stowage_testbed.observe.state import State
from stowage_testbed.reproduce.boreas.request import plans, quiet_s
from stowage_testbed.reproduce.boreas.scenes import Scene
from stowage_testbed.run.arm import Arm, with_overrides
from stowage_testbed.run.context import RunContext
from stowage_testbed.run.environment import await_account, make_namespace
from stowage_testbed.scenario.manifests import workload_manifest
from stowage_testbed.wait import WaitTimeoutError


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


def deploy(context: RunContext, scene: Scene, arm: Arm, number: int) -> DeploymentRow:
    """Return what came of it; nothing of it is left on the cluster."""
    namespace = f"{scene.name}-{arm.name}-{number}-{context.tag}"
    make_namespace(context, namespace)
    try:
        await_account(context, namespace)
        took_s = _deployed(context, scene, arm, namespace)
        return context.observer.read(
            lambda state: DeploymentRow(
                scene=scene.name,
                arm=arm.name,
                number=number,
                pods=scene.pods,
                where=_where(state, namespace),
                took_s=took_s,
                solves=len(state.plans()),
                solve_s=sum(plan.solve_s for plan in state.plans()),
                moves=sum(plan.moves for plan in state.plans() if plan.executes),
            )
        )
    finally:
        _clear(context, arm, namespace)


def _deployed(context: RunContext, scene: Scene, arm: Arm, namespace: str) -> float:
    """Return the seconds until all had nodes, 0 once it is known that some have none.

    A pod that was left out may be tried again when another one has found its node, so
    that quiet is waited for.
    """
    observer = context.observer
    began = observer.clock.now()
    for workload in scene.workload:
        manifest = workload_manifest(workload, namespace)
        context.objects.create(with_overrides(manifest, arm.pod_overrides))
    placed = pods_placed(namespace, scene.pods)
    for _ in range(ROUNDS):
        before = _last_change(observer)
        if _came_true(observer, placed, quiet_s(arm)):
            return observer.clock.now().seconds_since(began)
        if _last_change(observer) == before:
            break
    if not plans(arm):
        observer.wait_for(
            f"the pods of {namespace} to be placed or found unschedulable",
            pods_decided(namespace, scene.pods),
            timeout_s=DECIDED_S,
        )
    return 0.0


def _came_true(observer: Observer, condition: Condition, timeout_s: float) -> bool:
    try:
        observer.wait_for("every pod to be placed", condition, timeout_s=timeout_s)
    except WaitTimeoutError:
        return False
    return True


def _last_change(observer: Observer) -> Receipt | None:
    return observer.read(lambda state: state.last_change("Pod"))


def _where(state: State, namespace: str) -> tuple[str, ...]:
    pods = [pod for pod in state.pods(namespace) if pod.bound]
    return tuple(sorted(f"{pod.workload}/{pod.node}" for pod in pods))


def _clear(context: RunContext, arm: Arm, namespace: str) -> None:
    """Take everything away, the controllers before the pods that they would replace."""
    for kind in ("Deployment", "ReplicaSet", "Pod"):
        context.objects.delete_all(kind, namespace)
    context.observer.wait_for(
        f"the pods of {namespace} to go",
        pods_gone(namespace),
        timeout_s=context.timeouts.cleanup_s,
    )
    if plans(arm):
        clear_plans(context)
    context.objects.delete("Namespace", namespace)


def clear_plans(context: RunContext) -> None:
    """Take all plans away: those of one deployment must not count for another."""
    names = context.observer.read(lambda state: [one.name for one in state.plans()])
    context.objects.delete_all("PackingPlan")
    context.observer.wait_for(
        "the plans to go",
        objects_gone("PackingPlan", names),
        timeout_s=context.timeouts.cleanup_s,
    )
