"""The thesis's evaluation at a small size, with real solvers."""

from __future__ import annotations

from pathlib import Path

import pytest

from stowage_testbed.reproduce.instance.request import choose_cells
from stowage_testbed.reproduce.instance.rows import PENDING
from stowage_testbed.reproduce.sweep.engine import InProcess, SweepListener
from stowage_testbed.reproduce.thesis.comparing import losses
from stowage_testbed.reproduce.thesis.evaluation import THESIS, ThesisRequest
from stowage_testbed.reproduce.thesis.instances import thesis_grid
from stowage_testbed.reproduce.thesis.report import ThesisEvaluation

pytestmark = [pytest.mark.e2e, pytest.mark.nightly]

REQUEST = ThesisRequest(cells=choose_cells(["n4-p4-k2-u100"], thesis_grid()), sample=1, limits_s=(0.5,))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("thesis")


@pytest.fixture(scope="module")
def evaluation(folder: Path) -> ThesisEvaluation:
    return THESIS.rebuild(REQUEST, folder, InProcess(), SweepListener())


def test_every_instance_is_one_on_which_the_heuristic_fails(evaluation: ThesisEvaluation) -> None:
    """With labels and without, by all six solvers."""
    assert evaluation.failures == {}
    assert len(evaluation.solved) == 2 * len(REQUEST.strategies)
    assert all(PENDING in one.instance.start for one in evaluation.solved)


@pytest.mark.parametrize("strategy", REQUEST.strategies[:-1])
def test_ours_ends_no_worse_in_the_same_time(evaluation: ThesisEvaluation, strategy: str) -> None:
    """On instances that every solver has time for."""
    assert losses(evaluation.pairs("lexicographic", strategy, 0.5)) == []


def test_the_report_needs_nothing_but_the_folder(evaluation: ThesisEvaluation, folder: Path) -> None:
    """Tables and figures can be made again long after."""
    said = THESIS.report(folder, folder / "figures.json")

    assert "OR-Tools (published)" in said
    assert (folder / "tables.md").is_file()
