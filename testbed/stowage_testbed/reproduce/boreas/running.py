"""Deploying every scene by every arm on one real cluster: what is asked for, and each deployment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from stowage_testbed.base.errors import InputError, StowageError
from stowage_testbed.base.journal import TaskJournal
from stowage_testbed.base.wait import WaitTimeoutError
from stowage_testbed.cluster import create_nodes
from stowage_testbed.compare.arms.kube_scheduler import default_arm
from stowage_testbed.compare.arms.stowage import PROFILE, StowageArm
from stowage_testbed.compare.session import open_context
from stowage_testbed.compare.turn import warm_up
from stowage_testbed.observe.condition import objects_gone, pods_decided, pods_placed
from stowage_testbed.observe.observer import Observer
from stowage_testbed.observe.receipt import Receipt
from stowage_testbed.observe.source import PACKING_PLANS
from stowage_testbed.reproduce.boreas.scenes import RUNS, Scene, scenes
from stowage_testbed.reproduce.sweep.execution import SweepListener
from stowage_testbed.reproduce.sweep.folder import SweepFolder, frame_of, write_frame
from stowage_testbed.run.arm import Arm
from stowage_testbed.run.context import RunContext
from stowage_testbed.run.environment import clear_plans
from stowage_testbed.run.harness import Harness
from stowage_testbed.run.listener import Listener
from stowage_testbed.run.material import Material
from stowage_testbed.run.outcome import ScenarioOutcome
from stowage_testbed.run.request import RunRequest
from stowage_testbed.run.scenario_run import run_scenario
from stowage_testbed.run.steps.context import StepContext
from stowage_testbed.scenario.steps.action import Step
from stowage_testbed.simulate import NO_PROTECTION

KIND = "boreas"
ROWS = "deployments"
WARM_UP_PODS = 3
"""They fit on the smallest scene; a scheduler's first pods are slow."""

BATCH_S = 1.0
"""The paper's batches wait 30 s for more pods. These are complete when they begin, so
that waiting would only take time."""

SOLVE_S = 5.0
QUIET_S = 2.5
"""A scheduler that left pods out tries those again, to which something new may help,
within two seconds at the second attempt."""

REPEATED = ("minimal", "affinity")
"""The tests that the paper repeats, and counts."""

OTHERS = 10

NamedT = TypeVar("NamedT", Scene, Arm)

DECIDED_S = 60.0
"""Many times what a run takes on two idle cores."""

ROUNDS = 20
"""Of quiet that something broke, after which a scheduler is said to be at no rest."""

Run = tuple[Arm, Scene, int]


def arms() -> tuple[Arm, ...]:
    """Return the stock scheduler, ours in batches (all or nothing, fewest nodes), and ours, sparing nobody."""
    moves = {"timeLimitSeconds": SOLVE_S, **NO_PROTECTION}
    batches = {"trigger": "Batch", "strategy": "boreas", "batchSeconds": BATCH_S, **moves}
    return (
        default_arm(),
        StowageArm("stowage", PROFILE, {"priorityOptimizer": batches}),
        StowageArm("stowage-moves", PROFILE, {"priorityOptimizer": moves}),
    )


def plans(arm: Arm) -> bool:
    """Return whether an arm places by plans."""
    return isinstance(arm, StowageArm)


def quiet_s(arm: Arm) -> float:
    """Return for how long nothing must change before pods are said to be left out."""
    return BATCH_S + SOLVE_S + QUIET_S if plans(arm) else QUIET_S


@dataclass(frozen=True, slots=True)
class BoreasRequest:
    """Scenes, arms, and how often: the two tests that the paper counts, and others."""

    scenes: tuple[Scene, ...]
    arms: tuple[Arm, ...]
    repeat: int = RUNS
    others: int = OTHERS

    def runs_of(self, scene: Scene) -> int:
        """Return how often a scene is deployed by each arm."""
        return self.repeat if scene.name in REPEATED else self.others

    def runs(self) -> Iterator[tuple[Arm, Scene, int]]:
        """Yield each run: an arm's one after the other, as each is started once."""
        for arm in self.arms:
            for scene in self.scenes:
                for number in range(1, self.runs_of(scene) + 1):
                    yield arm, scene, number

    def document(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "scenes": [one.name for one in self.scenes],
            "arms": [one.name for one in self.arms],
            "repeat": self.repeat,
            "others": self.others,
        }


def run_id(arm: Arm, scene: Scene, number: int) -> str:
    """Return a run's name."""
    return f"{scene.name}-{arm.name}-{number}"


def chosen_scenes(names: Sequence[str]) -> tuple[Scene, ...]:
    """Return the scenes of those names, all without any."""
    return _chosen("--scenes", names, scenes())


def chosen_arms(names: Sequence[str]) -> tuple[Arm, ...]:
    """Return the arms of those names, all without any."""
    return _chosen("--arms", names, arms())


def _chosen(option: str, names: Sequence[str], known: tuple[NamedT, ...]) -> tuple[NamedT, ...]:
    by_name = {one.name: one for one in known}
    unknown = [name for name in names if name not in by_name]
    if unknown:
        raise InputError(f"{option} {unknown[0]!r}: must be of {', '.join(by_name)}")
    return tuple(one for one in known if not names or one.name in names)


def deploy_all(request: BoreasRequest, path: Path, listener: SweepListener) -> tuple[DeploymentRow, ...]:
    """Deploy what has not been deployed yet, and return all rows asked for."""
    folder = SweepFolder(path)
    with folder.opened(KIND, request.document()):
        journal = folder.journal(ROWS, DeploymentRow)
        runs = list(request.runs())
        missing = [one for one in runs if run_id(*one) not in journal]
        if missing:
            listener.begun("deployments", len(runs), len(runs) - len(missing), 1)
            try:
                _run_all(missing, journal, listener, path)
            finally:
                listener.ended()
        rows = tuple(row for one in runs for row in journal.get(run_id(*one)))
        write_frame(path / f"{ROWS}.parquet", frame_of(rows, DeploymentRow))
    return rows


def _run_all(runs: Sequence[Run], journal: TaskJournal[DeploymentRow], listener: SweepListener, path: Path) -> None:
    asked = RunRequest((), folders=(path,))
    with open_context(asked, Listener()) as context, TemporaryDirectory(prefix="sto-boreas-") as folder:
        for name, of_arm in groupby(runs, key=lambda one: one[0].name):
            ones = list(of_arm)
            arm = ones[0][0]
            with arm.running(context.cluster, Path(folder) / name, None) as running:
                if plans(arm):
                    context.observer.watch(PACKING_PLANS)
                namespace = f"warm-{arm.name}-{context.tag}"
                with _nodes_of(context, ones[0][1]):
                    warm_up(context, arm.pod_overrides, WARM_UP_PODS, namespace)
                    clear_plans(context)
                for _, scene, number in ones:
                    row = deploy(context, scene, arm, number)
                    journal.add(run_id(arm, scene, number), (row,))
                    listener.over(run_id(arm, scene, number), "")
                    running.check()


@contextmanager
def _nodes_of(context: RunContext, scene: Scene) -> Iterator[None]:
    """Make the nodes of a scene for the block."""
    names = create_nodes(context.api, [scene.pool])
    yield
    for name in names:
        context.objects.delete("Node", name)
    context.observer.wait_for(
        f"the nodes of {scene.name} to go", objects_gone("Node", names), timeout_s=context.timeouts.nodes_s(len(names))
    )


@dataclass(frozen=True, slots=True)
class DeploymentRow:
    """One scene, deployed once; ``where`` has ``app/node`` of each placed pod.

    ``took_s`` is from the first creation until the watch showed the last node; 0 where pods were left out.
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
        """Wait until the pods have nodes, or nothing changes any more: pods that were left out are retried."""
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
            where=self._observer.read(
                lambda state: tuple(
                    sorted(f"{pod.workload}/{pod.node}" for pod in state.pods(material.namespace) if pod.bound)
                )
            ),
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
    """Return what came of it; nothing of it is left on the cluster. A `StowageError` if it could not be deployed."""
    deployment = Deployment(context.observer, scene, arm, number)
    scenario = scene.scenario(arm.name, number)
    outcome = run_scenario(context, scenario, number, deployment, deployment)
    if outcome.error:
        raise StowageError(f"{scene.name} by {arm.name}: {outcome.error}")
    return deployment.row


def _last_change(observer: Observer) -> Receipt | None:
    return observer.read(lambda state: state.last_change("Pod"))
