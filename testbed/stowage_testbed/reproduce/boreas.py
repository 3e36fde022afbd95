"""The evaluation of Boreas: `deploy_all` has every arm deploy every scene of ``scenes.yaml`` on one real cluster.

Seed 004: Lebesbye, Mauro, Turin, Yu, "Boreas - A Service Scheduler for Optimal Kubernetes Deployment", section 4.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from itertools import groupby, product
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import yaml

from stowage_testbed.amounts.resources import MOST_PODS, Resources
from stowage_testbed.base.errors import InputError, StowageError
from stowage_testbed.base.journal import TaskJournal
from stowage_testbed.base.wait import WaitTimeoutError
from stowage_testbed.cluster import NodePool, create_nodes
from stowage_testbed.compare.arms.kube_scheduler import default_arm
from stowage_testbed.compare.arms.serving import Arm
from stowage_testbed.compare.arms.stowage import PROFILE, StowageArm
from stowage_testbed.compare.session import warm_up
from stowage_testbed.observe.change import Receipt
from stowage_testbed.observe.condition import objects_gone, pods_decided, pods_placed
from stowage_testbed.observe.observer import Observer
from stowage_testbed.observe.source import PACKING_PLANS
from stowage_testbed.reproduce.rebuilding import write_tables
from stowage_testbed.reproduce.sweep import SweepListener, frame_of, open_sweep, write_frame
from stowage_testbed.run.cluster import open_context
from stowage_testbed.run.context import Stopwatch
from stowage_testbed.run.environment import clear_plans
from stowage_testbed.run.execution import Harness
from stowage_testbed.run.listener import Listener, RunRecorder
from stowage_testbed.run.outcome import ScenarioOutcome
from stowage_testbed.run.request import RunRequest
from stowage_testbed.run.scenario_run import run_scenario
from stowage_testbed.scenario import timeouts
from stowage_testbed.scenario.model import Scenario, Workload, make_steps
from stowage_testbed.scenario.steps.action import Step
from stowage_testbed.scenario.steps.applying import Apply
from stowage_testbed.scenario.steps.context import StepContext
from stowage_testbed.simulate.instance import NO_PROTECTION
from stowage_testbed.text.figure import Figure, at_least, figure, share_percent
from stowage_testbed.text.tables import Table

NODE = Resources(cpu=900, memory=3_972_000_000, pods=MOST_PODS)
"""What a node of the paper's cluster has left for pods, of one CPU and 4 GB (listing 1.1, and the authors' files)."""

APPS = ("backend", "cache", "frontend", "proxy")


@dataclass(frozen=True, slots=True)
class Scene:
    """One test, its zones dealt out in turn, its workload in the order of its files, and the paper's figures by arm."""

    name: str
    about: str
    nodes: int
    workload: tuple[Workload, ...]
    zones: tuple[str, ...] = ()
    published: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    @property
    def pods(self) -> int:
        """How many pods it has."""
        return sum(one.replicas for one in self.workload)

    @property
    def pool(self) -> NodePool:
        """Its nodes."""
        return NodePool(self.name, self.nodes, NODE, zones=self.zones)

    def scenario(self, arm: str, number: int) -> Scenario:
        """Return its deployment at once; node names are new in each run, as KWOK may overlook a known one."""
        return Scenario(
            name=f"boreas/{self.name}-{arm}",
            description=self.about,
            nodes=(replace(self.pool, name_prefix=f"{self.name}-{number}"),),
            workload=self.workload,
            steps=make_steps([Apply(tuple(one.name for one in self.workload))]),
        )

    @property
    def fewest_nodes(self) -> int:
        """How many nodes it takes at least, by CPU, which is what is scarce."""
        asked = sum(one.replicas * one.requests["cpu"] for one in self.workload)
        return -(-asked // NODE["cpu"])


NamedT = TypeVar("NamedT", Scene, Arm)


def _choose(option: str, names: Sequence[str], known: Sequence[NamedT]) -> tuple[NamedT, ...]:
    there = [one.name for one in known]
    for name in names:
        if name not in there:
            raise InputError(f"{option} {name!r}: must be of {', '.join(there)}")
    return tuple(one for one in known if not names or one.name in names)


def choose_scenes(names: Sequence[str] = ()) -> tuple[Scene, ...]:
    """Return the scenes of those names, all without any, the paper's first."""
    text = files(__package__).joinpath("scenes.yaml").read_text("utf-8")
    return _choose("--scenes", names, [_make_scene(one) for one in yaml.safe_load(text)["scenes"]])


def _make_scene(scene: Mapping[str, Any]) -> Scene:
    pods, times = scene.get("pods", {}), scene.get("times", 1)
    workload = tuple(
        Workload(
            name,
            times * one["replicas"],
            requests=Resources(cpu=one["cpu"], memory=one["megabytes"] * 10**6),
            kind="Deployment",
            # A label for what an app is, and for what it is not.
            labels={name: "", **{f"not-{other}": "" for other in APPS if other != name}},
            pod=pods.get(name, {}),
        )
        for name, one in scene["deployments"].items()
    )
    zones = tuple(scene.get("zones", ()))
    return Scene(scene["name"], scene["about"], scene["nodes"], workload, zones, scene.get("published", {}))


WARM_UP_PODS = 3
"""They fit on the smallest scene; a scheduler's first pods are slow."""

BATCH_S = 1.0
"""The paper's batches wait 30 s for more pods; these are complete when they begin."""

SOLVE_S = 5.0
QUIET_S = 2.5
"""A scheduler tries pods that it left out again within two seconds at the second attempt."""

REPEATED = ("minimal", "affinity")
"""The tests that the paper repeats, and counts; others are run less often."""

DECIDED_S = 60.0
"""Many times what a run takes on two idle cores."""

ROUNDS = 20
"""Of quiet that something broke, after which a scheduler is said to be at no rest."""


def choose_arms(names: Sequence[str] = ()) -> tuple[Arm, ...]:
    """Return the arms of those names, without any the stock scheduler, ours in batches, and ours, sparing nobody.

    A batch is placed as a whole or not at all, on the fewest nodes.
    """
    moves = {"timeLimitSeconds": SOLVE_S, **NO_PROTECTION}
    batches = {"trigger": "Batch", "strategy": "boreas", "batchSeconds": BATCH_S, **moves}
    known: tuple[Arm, ...] = (
        default_arm(),
        StowageArm("stowage", PROFILE, {"priorityOptimizer": batches}),
        StowageArm("stowage-moves", PROFILE, {"priorityOptimizer": moves}),
    )
    return _choose("--arms", names, known)


def plans(arm: Arm) -> bool:
    """Return whether an arm places by plans."""
    return isinstance(arm, StowageArm)


@dataclass(frozen=True, slots=True)
class BoreasRequest:
    """Scenes, arms, and how often: the two tests that the paper counts, and others."""

    scenes: tuple[Scene, ...]
    arms: tuple[Arm, ...]
    repeat: int = 100
    others: int = 10

    def runs(self) -> dict[str, tuple[Arm, Scene, int]]:
        """Return each run by its name: an arm's one after the other, as each is started once."""
        return {
            f"{scene.name}-{arm.name}-{number + 1}": (arm, scene, number + 1)
            for arm, scene in product(self.arms, self.scenes)
            for number in range(self.repeat if scene.name in REPEATED else self.others)
        }

    def document(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "scenes": [one.name for one in self.scenes],
            "arms": [one.name for one in self.arms],
            "repeat": self.repeat,
            "others": self.others,
        }


def deploy_all(request: BoreasRequest, path: Path, listener: SweepListener) -> tuple[DeploymentRow, ...]:
    """Deploy what has not been deployed yet, and return all rows asked for."""
    with open_sweep(path, "boreas", request.document()):
        journal = TaskJournal(path / "deployments.jsonl", DeploymentRow)
        runs = request.runs()
        missing = {name: one for name, one in runs.items() if name not in journal}
        if missing:
            listener.begun("deployments", len(runs), len(runs) - len(missing), 1)
            try:
                _deploy_missing(missing, journal, listener, path)
            finally:
                listener.ended()
        rows = tuple(row for name in runs for row in journal.get(name))
        write_frame(path / "deployments.parquet", frame_of(rows, DeploymentRow))
    return rows


def _deploy_missing(
    runs: Mapping[str, tuple[Arm, Scene, int]], journal: TaskJournal[DeploymentRow], listener: SweepListener, path: Path
) -> None:
    asked = RunRequest((), folders=(path,))
    with (
        open_context(asked, secrets.token_hex(2), Listener(), Stopwatch()) as context,
        TemporaryDirectory(prefix="sto-boreas-") as folder,
    ):
        for arm_name, of_arm in groupby(runs.items(), key=lambda one: one[1][0].name):
            ones = list(of_arm)
            _, (arm, first, _) = ones[0]
            with arm.running(context.cluster, Path(folder) / arm_name, None) as running:
                if plans(arm):
                    context.observer.watch(PACKING_PLANS)
                nodes = create_nodes(context.api, [first.pool])
                warm_up(context, arm.pod_overrides, WARM_UP_PODS, f"warm-{arm.name}-{context.tag}")
                clear_plans(context)
                for node in nodes:
                    context.objects.delete("Node", node)
                timeout_s = timeouts.nodes_s(len(nodes))
                context.observer.wait_for(
                    f"the nodes of {first.name} to go", objects_gone("Node", nodes), timeout_s=timeout_s
                )
                for name, (_, scene, number) in ones:
                    deployment = Deployment(context.observer, scene, arm, number)
                    scenario = scene.scenario(arm.name, number)
                    outcome = run_scenario(context, scenario, number, deployment, deployment)
                    if outcome.error:
                        raise StowageError(f"{scene.name} by {arm.name}: {outcome.error}")
                    journal.add(name, (deployment.row,))
                    listener.over(name, "")
                    running.check()


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
        self.pod_overrides = arm.pod_overrides
        self.row: DeploymentRow

    def before(self, context: StepContext, step: Step) -> None:
        """Take the time."""
        self._began = self._observer.clock.now()

    def after(self, context: StepContext, step: Step) -> None:
        """Wait until the pods have nodes, or nothing changes any more: pods that were left out are retried."""
        namespace, pods = context.namespace, self._scene.pods
        # For so long nothing must change before pods are said to be left out.
        quiet_s = BATCH_S + SOLVE_S + QUIET_S if plans(self._arm) else QUIET_S

        def last_change() -> Receipt | None:
            return self._observer.read(lambda state: state.last_change("Pod"))

        for _ in range(ROUNDS):
            before = last_change()
            try:
                self._observer.wait_for("every pod to be placed", pods_placed(namespace, pods), timeout_s=quiet_s)
            except WaitTimeoutError:
                if last_change() == before:
                    break
            else:
                self._took_s = self._observer.clock.now().seconds_since(self._began)
                return
        if not plans(self._arm):
            what = f"the pods of {namespace} to be placed or found unschedulable"
            self._observer.wait_for(what, pods_decided(namespace, pods), timeout_s=DECIDED_S)

    def scenario_finished(self, outcome: ScenarioOutcome, records: RunRecorder) -> None:
        """Make the row."""
        placed = self._observer.read(lambda state: [pod for pod in state.pods(records.namespace) if pod.bound])
        self.row = DeploymentRow(
            scene=self._scene.name,
            arm=self._arm.name,
            number=self._number,
            pods=self._scene.pods,
            where=tuple(sorted(f"{pod.workload}/{pod.node}" for pod in placed)),
            took_s=self._took_s,
            solves=len(outcome.plans),
            solve_s=sum(plan.solve_s for plan in outcome.plans),
            moves=outcome.moves,
        )


HEADERS = (
    "scene", "nodes", "pods", "scheduler", "deployed whole", "published", "nodes used", "solve", "published",
    "until placed",
)  # fmt: skip
NOTES = (
    "Deployed whole: every pod got a node, of so many runs. All Deployments are created at once, as `kubectl create "
    f"-f` of the authors' folders does. Batches wait {BATCH_S:g} s for more pods (published: 30 s), which is part of "
    "the time until all are placed.",
    "The published runs are of Kubernetes 1.19 on twelve machines; today's scheduler weighs nodes otherwise, so that "
    "its counts need not be theirs.",
)


def summarise(request: BoreasRequest, rows: Sequence[DeploymentRow]) -> tuple[Table, list[Figure]]:
    """Return a row for each scene and scheduler, and as figures how much was deployed whole, and how long it took."""
    shown, figures = [], []
    for scene, arm in product(request.scenes, request.arms):
        found = [row for row in rows if (row.scene, row.arm) == (scene.name, arm.name)]
        whole = [row for row in found if row.whole]
        solve_s, took_s = [row.solve_s for row in whole], [row.took_s for row in whole]
        used = sorted(row.nodes_used for row in whole)
        published = scene.published.get(arm.name, {})
        percent, theirs_s = published.get("percent"), published.get("solve_s")
        shown_percent = "" if percent is None else f"{percent:g} %"
        name = f"boreas {scene.name}, {arm.name}"
        figures.append(
            figure(
                f"{name}: deployed whole", "%", [float(row.whole) for row in found], share_percent,
                at_least(100, "%") if arm.name == "stowage" else None, spread=False, prototype=shown_percent,
            )
        )  # fmt: skip
        if plans(arm):
            theirs = "" if theirs_s is None else f"{theirs_s:g} s"
            figures.append(figure(f"{name}: solve", "s", solve_s, fmean, prototype=theirs))
        figures.append(figure(f"{name}: until placed", "s", took_s, fmean))
        note = f"at least {scene.fewest_nodes} by CPU"
        figures.append(figure(f"{name}: nodes used", "nodes", list(map(float, used)), fmean, note=note))
        solve, took = (f"{fmean(seconds):.2f} s" if seconds else "none" for seconds in (solve_s, took_s))
        shown.append(
            (
                f"{scene.name} ({scene.about})", str(scene.nodes), str(scene.pods), arm.name,
                f"{len(whole)} of {len(found)}", shown_percent,
                "-".join(str(nodes) for nodes in dict.fromkeys((*used[:1], *used[-1:]))) or "none",
                solve if plans(arm) else "", "" if theirs_s is None else f"{theirs_s:.2f} s", took,
            )
        )  # fmt: skip
    return Table("Boreas: deployments that need to be planned whole", HEADERS, tuple(shown), NOTES), figures


def write_report(path: Path, figures_file: Path, request: BoreasRequest, rows: Sequence[DeploymentRow]) -> str:
    """Write a table to the folder ``path`` and the figures as JSON; return what a terminal shows."""
    summary, figures = summarise(request, rows)
    return write_tables(path, figures_file, [summary], figures, {"scope": request.document()})
