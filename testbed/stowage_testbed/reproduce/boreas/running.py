"""Deploying every scene by every arm, on one real cluster."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory

from stowage_testbed.base.journal import TaskJournal
from stowage_testbed.cluster import create_nodes
from stowage_testbed.compare.session.warming import warm_up
from stowage_testbed.observe.observer import Observer
from stowage_testbed.observe.settled import objects_gone
from stowage_testbed.observe.source import PACKING_PLANS
from stowage_testbed.reproduce.boreas.deploying import DeploymentRow, deploy
from stowage_testbed.reproduce.boreas.request import BoreasRequest, plans, run_id
from stowage_testbed.reproduce.boreas.scenes import Scene
from stowage_testbed.reproduce.sweep.execution import SweepListener
from stowage_testbed.reproduce.sweep.folder import SweepFolder
from stowage_testbed.reproduce.sweep.parquet import frame_of, write_frame
from stowage_testbed.run.arm import Arm
from stowage_testbed.run.context import RunContext
from stowage_testbed.run.environment import clear_plans
from stowage_testbed.run.listener import Listener
from stowage_testbed.run.request import RunRequest
from stowage_testbed.run.session import open_cluster
from stowage_testbed.run.stopwatch import Stopwatch

KIND = "boreas"
ROWS = "deployments"
WARM_UP_PODS = 3
"""They fit on the smallest scene; a scheduler's first pods are slow."""

Run = tuple[Arm, Scene, int]


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
    with _context(path) as context, TemporaryDirectory(prefix="sto-boreas-") as folder:
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
def _context(path: Path) -> Iterator[RunContext]:
    asked = RunRequest((), folders=(path,))
    with (
        open_cluster(asked, Listener(), Stopwatch()) as cluster,
        cluster.api_client() as api,
        Observer(api) as observer,
    ):
        yield RunContext(cluster, api, observer, tag=secrets.token_hex(2))


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
