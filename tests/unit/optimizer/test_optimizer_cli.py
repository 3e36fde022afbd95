"""The command line: one clear message for each mistake."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from google.protobuf.json_format import MessageToJson
from snapshot_builder import SnapshotBuilder, figure_1
from typer.testing import CliRunner

from stowage_optimizer.cli import main
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.base.errors import StowageError
from stowage_testbed.cli import app


def written(folder: Path, snapshot: pb.Snapshot) -> Path:
    path = folder / "snapshot.json"
    path.write_text(MessageToJson(snapshot), encoding="utf-8")
    return path


@pytest.fixture
def snapshot_file(tmp_path: Path) -> Path:
    """Return figure 1 as a file."""
    return written(tmp_path, figure_1())


def run(*arguments: str | Path) -> int:
    with pytest.raises(SystemExit) as caught:
        main([str(argument) for argument in arguments])
    return int(caught.value.code or 0)


def test_solve_prints_tiers_and_changes(
    snapshot_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A platform engineer reads this."""
    assert run("solve", snapshot_file, "--workers", "1") == 0

    said = capsys.readouterr().out
    assert "OPTIMAL" in said
    assert "proved optimal: 1 placed, 1 moved, 0 evicted" in said
    assert "default/pod-3" in said


def test_solve_names_what_it_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A refusal that is not shown is a wrong answer."""
    builder = SnapshotBuilder().node("n")
    builder.pod_class("web").unsupported.append("volumes")

    assert run("solve", written(tmp_path, builder.pod("p", of="web").message)) == 0

    said = capsys.readouterr().out
    assert "NO_IMPROVEMENT" in said
    assert "class web" in said
    assert "volumes" in said


def test_what_solve_prints_as_json_passes_verify_and_is_held_to_limits(
    snapshot_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The two commands fit together; limits may be looked at later."""
    assert run("solve", snapshot_file, "--json", "--deterministic") == 0
    plan_file = tmp_path / "plan.json"
    plan_file.write_text(capsys.readouterr().out, encoding="utf-8")

    assert run("verify", snapshot_file, plan_file) == 0
    assert "good: 1 placed, 1 moved" in capsys.readouterr().out
    assert run("verify", snapshot_file, plan_file, "--max-moves", "0") == 3
    assert "max_moves" in capsys.readouterr().err


def test_verify_exits_with_3_and_lists_the_rules_that_a_plan_breaks(
    snapshot_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Scripts can tell a bad plan from a bad file."""
    plan_file = tmp_path / "plan.json"
    plan = pb.Plan(snapshot_id="other")
    plan_file.write_text(MessageToJson(plan), encoding="utf-8")

    assert run("verify", snapshot_file, plan_file) == 3

    assert "snapshot-id: other" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{\n  "id": "a",,\n}', "snapshot.json:2:13: not JSON"),
        ('{"id": "a", "machines": []}', 'no field named "machines"'),
        ('{"nodes": [{"name": 7}]}', "nodes"),
        ("[1, 2]", "an object is needed"),
        (
            '{"id": "a", "nodes": [{"name": "n", "allocatable": {"cpu_milli": -4}}]}',
            "nodes[0].allocatable.cpu_milli: is negative (-4)",
        ),
    ],
    ids=["syntax", "unknown field", "wrong type", "not an object", "negative size"],
)
def test_an_issue_in_the_file_names_file_and_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, expected: str
) -> None:
    """One clear message, no traceback."""
    path = tmp_path / "snapshot.json"
    path.write_text(text, encoding="utf-8")

    assert run("solve", path) == 2

    said = capsys.readouterr().err
    assert "snapshot.json" in said
    assert expected in said


def test_a_missing_file_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """The commonest mistake of all."""
    assert run("solve", "nowhere.json") == 2
    assert "nowhere.json: cannot be read" in capsys.readouterr().err


def test_an_unknown_command_lists_those_there_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The way out is in the message."""
    assert run("slove") == 2
    assert "serve" in capsys.readouterr().err


def test_stowage_solve_and_verify_do_the_same(
    snapshot_file: Path, tmp_path: Path
) -> None:
    """One command line for everything."""
    runner = CliRunner()
    solved = runner.invoke(app, ["solve", str(snapshot_file), "--json"])
    plan_file = tmp_path / "plan.json"
    plan_file.write_text(solved.output, encoding="utf-8")

    checked = runner.invoke(app, ["verify", str(snapshot_file), str(plan_file)])

    assert json.loads(solved.output)["end_reason"] == "END_REASON_OPTIMAL"
    assert checked.exit_code == 0
    assert "good: 1 placed" in checked.output


def test_stowage_tells_the_optimisers_errors_as_its_own() -> None:
    """Without a traceback, with the same exit code."""
    result = CliRunner().invoke(app, ["solve", "nowhere.json"])

    assert isinstance(result.exception, StowageError)
    assert result.exception.exit_code == 2


def test_a_limit_of_zero_moves_is_no_missing_limit(
    snapshot_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Zero is what a careful engineer begins with."""
    assert run("solve", snapshot_file, "--max-moves", "0") == 0

    assert "0 placed, 0 moved, 0 evicted" in capsys.readouterr().out


def test_stowage_solve_consolidates(tmp_path: Path) -> None:
    """How many nodes could go? The message says it."""
    builder = SnapshotBuilder().node("n1", cpu_milli=4).node("n2", cpu_milli=4)
    builder.pod("a", cpu_milli=2, node="n1").pod("b", cpu_milli=2, node="n2")
    snapshot = written(tmp_path, builder.message)

    said = CliRunner().invoke(
        app, ["solve", str(snapshot), "--objective", "consolidate", "--json"]
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
