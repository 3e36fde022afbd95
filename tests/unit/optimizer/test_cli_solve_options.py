"""Objective and limits on both command lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from google.protobuf.json_format import MessageToJson
from snapshot_builder import SnapshotBuilder, figure_1
from typer.testing import CliRunner

from stowage_optimizer.cli import main
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.cli import app


def written(folder: Path, snapshot: pb.Snapshot) -> str:
    path = folder / "snapshot.json"
    path.write_text(MessageToJson(snapshot), encoding="utf-8")
    return str(path)


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as caught:
        main(list(arguments))
    return int(caught.value.code or 0)


def test_a_limit_of_zero_moves_is_no_missing_limit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Zero is what a careful engineer begins with."""
    assert run("solve", written(tmp_path, figure_1()), "--max-moves", "0") == 0

    assert "0 placed, 0 moved, 0 evicted" in capsys.readouterr().out


def test_verify_holds_a_plan_to_the_limits_given(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A plan made without limits may be checked against some later."""
    snapshot = written(tmp_path, figure_1())
    run("solve", snapshot, "--json")
    plan = tmp_path / "plan.json"
    plan.write_text(capsys.readouterr().out, encoding="utf-8")

    assert run("verify", snapshot, str(plan)) == 0
    assert run("verify", snapshot, str(plan), "--max-moves", "0") == 3
    assert "max_moves" in capsys.readouterr().err


def test_stowage_solve_consolidates(tmp_path: Path) -> None:
    """How many nodes could go? The message says it."""
    builder = SnapshotBuilder().node("n1", cpu_milli=4).node("n2", cpu_milli=4)
    builder.pod("a", cpu_milli=2, node="n1").pod("b", cpu_milli=2, node="n2")
    snapshot = written(tmp_path, builder.message)

    said = CliRunner().invoke(
        app, ["solve", snapshot, "--objective", "consolidate", "--json"]
    )

    answer = json.loads(said.output)
    assert len(answer["plan"]["moves"]) == 1
    assert answer["message"].startswith("1 nodes in use, 2 before: proved fewest")


def test_the_curve_is_told_where_there_is_more_than_its_ends(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A user who sees that the last pods cost most of the moves sets a limit."""
    builder = SnapshotBuilder()
    for name in ("a", "b"):
        # Each pair is a world of its own: its pods ask for what only it has.
        for place in ("1", "2"):
            builder.node(f"{name}{place}", extended={name: 4})
            builder.pod_class(f"at-{name}{place}", extended={name: 2})
            builder.pod(f"p{name}{place}", of=f"at-{name}{place}", node=name + place)
        builder.pod_class(f"wants-{name}", extended={name: 3})
        builder.pod(f"w{name}", of=f"wants-{name}")

    assert run("solve", written(tmp_path, builder.message)) == 0

    said = capsys.readouterr().out
    assert "with at most moves" in said
