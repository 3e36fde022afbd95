"""The paper's evaluation at a small size, with the real scheduler and solver."""

import json
from itertools import accumulate
from pathlib import Path

import numpy as np
import pytest
from sweep_tasks import HERE, LIMIT_S, same_rows
from typer.testing import CliRunner

from stowage_testbed.cli import app
from stowage_testbed.reproduce.paper.evaluation import Evaluation
from stowage_testbed.reproduce.paper.live import run_live, sample_of
from stowage_testbed.reproduce.paper.report import PAPER
from stowage_testbed.reproduce.rebuilding import PENDING, GridRequest
from stowage_testbed.reproduce.sweep import SweepListener
from stowage_testbed.run.listener import Listener

pytestmark = pytest.mark.e2e

REQUEST = GridRequest(
    # Of the first two, some come out otherwise unless the ReplicaSets are there too.
    cells=("n4-p8-k4-u90", "n4-p4-k1-u90", "n4-p4-k4-u105"),
    sample=2,
    strategies=PAPER.strategies,
    limits_s=(LIMIT_S,),
    deterministic=True,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("whole")
    PAPER.rebuild(REQUEST, path, HERE, SweepListener())
    return path


@pytest.fixture(scope="module")
def evaluation(folder: Path) -> Evaluation:
    return PAPER.read(folder)


def test_every_instance_is_one_on_which_the_default_scheduler_fails(evaluation: Evaluation) -> None:
    """Others would be no calls, and make every share look better than it is."""
    assert len(evaluation.solved) == 2 * 2 * len(REQUEST.cells)
    for one in evaluation.solved:
        assert PENDING in one.instance.start
        assert len(one.instance.pod_priority) == (one.instance.nodes * one.instance.pods_per_node)


def test_no_plan_overfills_a_node(evaluation: Evaluation) -> None:
    """Neither baseline nor plan, by a count of our own."""
    for one in evaluation.solved:
        size, asked = one.instance, (one.instance.pod_cpu_milli, one.instance.pod_memory_bytes)
        for where in (size.start, size.stock, one.result.plan):
            # Who waits is counted on a node of its own.
            used = [np.bincount(np.array(where) + 1, amounts, size.nodes + 1)[1:] for amounts in asked]
            assert [len(amounts) for amounts in used] == [size.nodes] * 2
            assert used[0].max() <= size.node_cpu_milli
            assert used[1].max() <= size.node_memory_bytes


def test_a_plan_places_as_many_as_it_says(evaluation: Evaluation) -> None:
    """The category is counted from the placements, and must not differ from claims."""
    for one in evaluation.solved:
        claimed = [tier.placed for tier in one.result.tiers]
        assert claimed == list(accumulate(one.placed_by_priority))
        moved = sum(
            PENDING != before != after != PENDING
            for before, after in zip(one.instance.start, one.result.plan, strict=True)
        )
        assert moved == one.result.moves


def test_the_stock_scheduler_preempts_for_higher_priorities(evaluation: Evaluation) -> None:
    """With several priorities it ends better than without preemption, never worse."""
    instances = {one.instance.case: one.instance for one in evaluation.solved}
    assert any(one.stock_preempted for one in instances.values())
    for one in instances.values():
        if one.priorities == 1:
            assert one.stock_preempted == 0


class Stopping(SweepListener):
    """A user who interrupts the sweep."""

    def __init__(self, after: int) -> None:
        self.left = after

    def over(self, task_id: str, failure: str) -> None:
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


def test_an_interrupted_sweep_ends_with_the_same_rows(folder: Path, tmp_path: Path) -> None:
    """Nothing is done twice, and nothing is missing."""
    for after in (3, 5):
        with pytest.raises(KeyboardInterrupt):
            PAPER.rebuild(REQUEST, tmp_path, HERE, Stopping(after))
    PAPER.rebuild(REQUEST, tmp_path, HERE, SweepListener())
    same_rows(folder, tmp_path)
    assert len((tmp_path / "results.jsonl").read_text().splitlines()) == 12


def test_a_report_needs_nothing_but_the_folder(folder: Path, tmp_path: Path) -> None:
    """Tables, figures and page can be made again long after."""
    text = PAPER.report(folder, tmp_path / "figures.json")
    assert "paper" in text
    assert "lexicographic" in text
    page = (folder / "index.html").read_text(encoding="utf-8")
    assert page.count("<img") == 6
    figures = json.loads((tmp_path / "figures.json").read_text(encoding="utf-8"))
    by_name = {one["name"]: one for one in figures["figures"]}
    assert by_name["ours at 4 s: worse than the paper's strategy"]["value"] == 0
    assert by_name["instances"]["value"] == 6


def test_the_real_cluster_places_as_the_simulation_does(folder: Path, evaluation: Evaluation) -> None:
    """Every share rests on the simulation."""
    rows = run_live(folder, sample_of(evaluation, 0.5), Listener())
    assert len(rows) == 3
    for row in rows:
        assert row.difference == ""
        assert row.error == ""
        assert row.executed >= row.planned
        assert row.cluster_s > row.simulated_s > 0
    assert run_live(folder, sample_of(evaluation, 0.5), Listener()) == rows


pytestmark = pytest.mark.e2e

RUN = ("--cells", "n4-p4-k1-u105", "--sample", "1", "--limits", "0.2")


def invoke(*arguments: str) -> str:
    answer = CliRunner().invoke(app, arguments)
    assert answer.exit_code == 0, answer.output
    return answer.output


@pytest.mark.smoke
def test_two_workers_share_a_sweep_that_is_reported_on(tmp_path: Path) -> None:
    """The page is made anew long after, from the folder alone."""
    run = (*RUN, "--sample", "2", "--workers", "2", "--results", str(tmp_path))

    said = invoke("reproduce", "paper", *run)
    (tmp_path / "index.html").unlink()
    again = invoke("report", str(tmp_path))

    assert "Shares of all instances" in again
    assert set(again.splitlines()) <= set(said.splitlines())
    figures = json.loads((tmp_path / "figures.json").read_text(encoding="utf-8"))
    by_name = {one["name"]: one["value"] for one in figures["figures"]}
    assert by_name["instances"] == 2
    assert (tmp_path / "index.html").is_file()
