"""Some of Boreas' scenes, deployed by the real schedulers on a real cluster."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from stowage_testbed.reproduce.boreas.deploying import DeploymentRow
from stowage_testbed.reproduce.boreas.request import BoreasRequest, chosen_arms, chosen_scenes
from stowage_testbed.reproduce.boreas.running import deploy_all
from stowage_testbed.reproduce.sweep.engine import SweepListener

pytestmark = [pytest.mark.e2e, pytest.mark.nightly]

REQUEST = BoreasRequest(
    chosen_scenes(["minimal", "affinity", "spread"]), chosen_arms(["default", "stowage"]), repeat=1, others=1
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("boreas")


@pytest.fixture(scope="module")
def rows(folder: Path) -> tuple[DeploymentRow, ...]:
    return deploy_all(REQUEST, folder, SweepListener())


def of(rows: tuple[DeploymentRow, ...], scene: str, arm: str) -> DeploymentRow:
    (found,) = [row for row in rows if (row.scene, row.arm) == (scene, arm)]
    return found


@pytest.mark.parametrize("scene", ["minimal", "affinity", "spread"])
def test_a_batch_is_deployed_whole_on_the_fewest_nodes(rows: tuple[DeploymentRow, ...], scene: str) -> None:
    """The paper's claim, with the real plugin, optimiser and API server."""
    row = of(rows, scene, "stowage")

    assert row.whole
    assert row.nodes_used == REQUEST.scenes[0].fewest_nodes * (1 + (scene != "minimal"))
    assert (row.solves, row.moves) == (1, 0)


def test_relations_are_kept(rows: tuple[DeploymentRow, ...]) -> None:
    """By a count of our own: each backend beside a frontend, and alone of its kind."""
    on: dict[str, Counter[str]] = {}
    for one in of(rows, "affinity", "stowage").where:
        app, _, node = one.partition("/")
        on.setdefault(node, Counter())[app] += 1

    for apps in on.values():
        assert apps["backend"] <= apps["frontend"] <= 1


def test_the_stock_scheduler_leaves_pods_of_the_minimal_test_out(rows: tuple[DeploymentRow, ...]) -> None:
    """It spreads what comes first, as it did in all runs of the paper and of ours."""
    row = of(rows, "minimal", "default")

    assert not row.whole
    assert len(row.where) == row.pods - 1


def test_what_is_known_is_not_deployed_again(rows: tuple[DeploymentRow, ...], folder: Path) -> None:
    """An interrupted evaluation goes on where it was."""
    began: list[str] = []

    class Told(SweepListener):
        def begun(self, what: str, total: int, done: int, workers: int) -> None:
            began.append(what)

    assert deploy_all(REQUEST, folder, Told()) == rows
    assert began == []
