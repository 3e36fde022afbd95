"""The scenes of "Boreas", its table, and wrong input."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from stowage_testbed.cli import app
from stowage_testbed.reproduce.boreas.deploying import DeploymentRow
from stowage_testbed.reproduce.boreas.report import (
    boreas_figures,
    boreas_table,
    counted,
)
from stowage_testbed.reproduce.boreas.request import (
    BoreasRequest,
    arms,
    chosen_arms,
    chosen_scenes,
    run_id,
)
from stowage_testbed.reproduce.boreas.scenes import NODE, scenes

ROW = DeploymentRow(
    scene="minimal", arm="default", number=1, pods=5,
    where=("backend/minimal-0",) * 3 + ("proxy/minimal-1",) * 2,
    took_s=0.5, solves=0, solve_s=0.0, moves=0,
)  # fmt: skip


def test_the_scenes_ask_for_what_the_paper_says() -> None:
    """Section 4: all CPU of two nodes, 83 % of four, and 22 and 33 pods."""
    by_name = {one.name: one for one in scenes()}

    def share(name: str) -> float:
        scene = by_name[name]
        asked = sum(one.replicas * one.requests["cpu"] for one in scene.workload)
        return asked / (scene.nodes * NODE["cpu"])

    assert share("minimal") == 1.0
    assert round(100 * share("affinity")) == 83
    assert [by_name[f"affinity-{nodes}"].pods for nodes in (8, 12)] == [22, 33]
    assert {one.pods for one in scenes()[4:]} == {11}


def test_what_is_left_of_a_run_is_counted_by_scene_and_arm() -> None:
    """A pod without a node makes a deployment a failure, whatever else runs."""
    request = BoreasRequest(chosen_scenes(["minimal"]), arms(), repeat=2)
    partly = replace(ROW, number=2, where=ROW.where[:4], took_s=0.0)

    found = counted(request, (ROW, partly))

    cells = boreas_table(found).rows[0]
    assert cells[3:7] == ("default", "1 of 2", "0 %", "2")
    by_name = {one.name: one for one in boreas_figures(found)}
    whole = by_name["boreas minimal, default: deployed whole"]
    assert (whole.value, whole.prototype) == (50, "0 %")
    assert by_name["boreas minimal, stowage: deployed whole"].value is None


def test_every_run_has_a_name_of_its_own() -> None:
    """The journal would take two runs of one name for one."""
    request = BoreasRequest(chosen_scenes(()), chosen_arms(()), repeat=3, others=2)

    names = [run_id(*one) for one in request.runs()]

    assert len(names) == len(set(names)) == 3 * (2 * 3 + 7 * 2)


@pytest.mark.parametrize(("option", "word"), [("--scenes", "huge"), ("--arms", "k8s")])
def test_a_name_that_there_is_not_is_refused_with_those_there_are(
    option: str, word: str, tmp_path: Path
) -> None:
    """Before a cluster is started for it."""
    answer = CliRunner().invoke(
        app, ["reproduce", "boreas", option, word, "--results", str(tmp_path / "r")]
    )

    assert isinstance(answer.exception, Exception)
    assert word in str(answer.exception)
    assert not (tmp_path / "r").exists()
