"""The evaluations of Boreas and of the thesis at a small size, with real schedulers and solvers."""

from collections import Counter
from pathlib import Path

import pytest
from sweep_tasks import HERE

from stowage_testbed.reproduce.boreas import BoreasRequest, DeploymentRow, choose_arms, choose_scenes, deploy_all
from stowage_testbed.reproduce.rebuilding import PENDING, GridRequest, losses
from stowage_testbed.reproduce.sweep import SweepListener
from stowage_testbed.reproduce.thesis import THESIS, ThesisEvaluation

pytestmark = [pytest.mark.e2e, pytest.mark.nightly]

REQUEST = BoreasRequest(
    choose_scenes(["minimal", "affinity", "spread"]), choose_arms(["default", "stowage"]), repeat=1, others=1
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


pytestmark = [pytest.mark.e2e, pytest.mark.nightly]

THESIS_REQUEST = GridRequest(("n4-p4-k2-u100",), 1, THESIS.strategies, limits_s=(0.5,))


@pytest.fixture(scope="module")
def thesis_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("thesis")


@pytest.fixture(scope="module")
def evaluation(thesis_folder: Path) -> ThesisEvaluation:
    return THESIS.rebuild(THESIS_REQUEST, thesis_folder, HERE, SweepListener())


def test_every_instance_is_one_on_which_the_heuristic_fails(evaluation: ThesisEvaluation) -> None:
    """With labels and without, by all six solvers."""
    assert evaluation.failures == {}
    assert len(evaluation.solved) == 2 * len(THESIS_REQUEST.strategies)
    assert all(PENDING in one.instance.start for one in evaluation.solved)


@pytest.mark.parametrize("strategy", THESIS_REQUEST.strategies[:-1])
def test_ours_ends_no_worse_in_the_same_time(evaluation: ThesisEvaluation, strategy: str) -> None:
    """On instances that every solver has time for."""
    assert losses(evaluation.pairs("lexicographic", strategy, 0.5)) == []


def test_the_report_needs_nothing_but_the_folder(evaluation: ThesisEvaluation, thesis_folder: Path) -> None:
    """Tables and figures can be made again long after."""
    said = THESIS.report(thesis_folder, thesis_folder / "figures.json")

    assert "OR-Tools (published)" in said
    assert (thesis_folder / "tables.md").is_file()
