"""A list of FGD's trace on a real cluster: a small one, made by hand."""

from pathlib import Path

import pytest
from gpu_fleet import write_trace

from stowage_testbed.reproduce.fgd.live import LiveRequest, LiveRow, live_figures, report_live, run_live
from stowage_testbed.run.listener import Listener

pytestmark = [pytest.mark.e2e, pytest.mark.nightly]

REQUEST = LiveRequest("default", share=0.77, load=98, most_percent=3, limit_s=2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("trace")
    write_trace(path)
    return path


@pytest.fixture(scope="module")
def row(folder: Path) -> LiveRow:
    return run_live(folder, REQUEST, folder / "live", Listener())


def test_every_pod_is_tried_and_measured(row: LiveRow) -> None:
    """A pod that the scheduler has not looked at would count as one without room."""
    assert (row.nodes, row.gpus) == (20, 80)
    assert row.latency.n == row.placed <= row.arrived
    assert row.fleet_s > 0
    assert row.latency.percentiles_s["p50"] is not None


def test_the_cluster_allocates_about_what_the_simulation_does(row: LiveRow) -> None:
    """Both are the same scheduler; pods that arrive four at a time come in nearly the same order.

    One pod of two GPUs of 80 is 2.5 points.
    """
    assert row.before == pytest.approx(row.simulated, abs=5)


def test_a_plan_moves_few_pods_and_loses_none(row: LiveRow) -> None:
    """ReplicaSets bring those back that are evicted; who ran before has a successor that runs."""
    assert row.plan.phase in {"Completed", "NoImprovement"}
    assert sum(row.plan.moves.values()) <= row.plan.most_moves
    assert (row.plan.lost, row.undone) == (0, 0)
    assert row.placed_after >= row.placed
    assert row.after >= row.before


def test_what_is_known_is_not_run_again(row: LiveRow, folder: Path) -> None:
    """A run of the whole trace takes long, and its tables can be shown again."""

    class Told(Listener):
        def run_progress(self, text: str) -> None:
            raise AssertionError(text)

    assert run_live(folder, REQUEST, folder / "live", Told()) == row
    assert "pods lost" in report_live(row, folder / "live")
    assert all(one.met for one in live_figures(row) if one.target)
