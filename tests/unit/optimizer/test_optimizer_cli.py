"""The command line: one clear message for each mistake."""

import json
from pathlib import Path

import pytest
from certified_plans import reduced_snapshot
from google.protobuf.json_format import MessageToJson
from google.protobuf.message import Message
from snapshot_builder import SnapshotBuilder, figure_1

from stowage_optimizer.cli import main
from stowage_optimizer.cli.files import write_answer
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.errors import OptimizerError
from stowage_optimizer.model.options import Policy


def written(folder: Path, message: Message, name: str = "snapshot.json") -> Path:
    path = folder / name
    path.write_text(MessageToJson(message), encoding="utf-8")
    return path


@pytest.fixture
def snapshot_file(tmp_path: Path) -> Path:
    """Return figure 1 as a file."""
    return written(tmp_path, figure_1())


def run(*arguments: str | Path) -> int:
    with pytest.raises(SystemExit) as caught:
        main([str(argument) for argument in arguments])
    return int(caught.value.code or 0)


def left_alone() -> pb.Snapshot:
    builder = SnapshotBuilder().node("n")
    builder.pod_class("web").unsupported.append("volumes")
    return builder.pod("p", of="web").message


def two_pairs() -> pb.Snapshot:
    """Return two worlds, each of which gains a pod by a move."""
    builder = SnapshotBuilder()
    for name in ("a", "b"):
        # Its pods ask for what only it has.
        for place in ("1", "2"):
            builder.node(f"{name}{place}", extended={name: 4})
            builder.pod_class(f"at-{name}{place}", extended={name: 2})
            builder.pod(f"p{name}{place}", of=f"at-{name}{place}", node=name + place)
        builder.pod_class(f"wants-{name}", extended={name: 3})
        builder.pod(f"w{name}", of=f"wants-{name}")
    return builder.message


@pytest.mark.parametrize(
    ("snapshot", "options", "expected"),
    [
        pytest.param(left_alone(), [], ["NO_IMPROVEMENT", "class web", "volumes"], id="what it left alone"),
        pytest.param(
            figure_1(),
            ["--max-moves", "0"],
            ["0 placed, 0 moved, 0 evicted"],
            id="a limit of zero moves is no missing limit",
        ),
        pytest.param(
            two_pairs(),
            [],
            ["OPTIMAL", "optimal: 2 placed, 2 moved, 0 evicted", "default/wa", "with at most moves"],
            id="tiers, changes and the curve where there is more than its ends",
        ),
    ],
)
def test_solve_says(
    snapshot: pb.Snapshot, options: list[str], expected: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A platform engineer reads this; a refusal that is not shown is a wrong answer."""
    path = written(tmp_path, snapshot)

    assert run("solve", path, "--workers", "1", *options) == 0

    said = capsys.readouterr().out
    assert [part for part in expected if part not in said] == []


def test_what_solve_answers_passes_verify_and_is_held_to_limits(
    snapshot_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The two commands fit together; proofs and limits may be looked at later."""
    answer = tmp_path / "answer.json"
    options = ["--json", "--deterministic", "--progress"]
    asked: tuple[str | Path, ...] = ("solve", snapshot_file, *options, "--certificate", answer)
    assert run(*asked) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["plan"]["optimal"]
    # On standard error, so that JSON stays JSON.
    assert "priority 0 and above: 3 of at most 3 placed" in said.err
    plan_file = tmp_path / "plan.json"
    plan_file.write_text(said.out, encoding="utf-8")

    assert run("verify", snapshot_file, plan_file) == 0
    assert "good: 1 placed, 1 moved" in capsys.readouterr().out
    assert run("verify", snapshot_file, answer, "--certificate") == 0
    assert run("verify", snapshot_file, plan_file, "--max-moves", "0") == 3
    assert "max_moves" in capsys.readouterr().err


def test_a_certificate_is_checked_years_later_without_a_service(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 3, as for every plan that does not hold what it says.

    The limits of a strategy do not count the classes that it refused, by name.
    """
    builder = SnapshotBuilder().node("n", cpu_milli=5).pod("wait", cpu_milli=2)
    builder.pod_class("web", cpu_milli=2).unsupported.append("volumes")
    reduced = reduced_snapshot(builder.pod("late", of="web").message)
    answer = pb.SolveUpdate(plan=reduced.plan((0,), Policy.STRICT))
    snapshot = written(tmp_path, reduced.message)
    silent = written(tmp_path, answer, "silent.json")
    answer.refusals.add(subject="class web", reason="unsupported")
    outspoken = written(tmp_path, answer, "outspoken.json")

    assert run("verify", snapshot, silent, "--certificate") == 3
    assert "claims 1, its prices prove 2" in capsys.readouterr().err
    assert run("verify", snapshot, outspoken, "--certificate") == 0
    assert "limits proved by their prices" in capsys.readouterr().out
    with pytest.raises(OptimizerError, match="cannot be written"):
        write_answer(tmp_path / "no" / "answer.json", answer)


def test_verify_exits_with_3_and_lists_the_rules_that_a_plan_breaks(
    snapshot_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Scripts can tell a bad plan from a bad file."""
    plan_file = written(tmp_path, pb.Plan(snapshot_id="other"), "plan.json")

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


@pytest.mark.parametrize(
    ("arguments", "said"), [(["solve", "nowhere.json"], "nowhere.json: cannot be read"), (["slove"], "serve")]
)
def test_a_missing_file_and_an_unknown_command_are_told_with_the_way_out(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The commonest mistakes of all; commands that there are are listed."""
    assert run(*arguments) == 2
    assert said in capsys.readouterr().err


def test_fewer_nodes_are_an_objective(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Both commands take it."""
    builder = SnapshotBuilder().node("n1", cpu_milli=4).node("n2", cpu_milli=4)
    builder.pod("a", cpu_milli=2, node="n1").pod("b", cpu_milli=2, node="n2")
    snapshot = written(tmp_path, builder.message)
    objective = ("--objective", "consolidate")
    assert run("solve", snapshot, *objective, "--json") == 0
    solved = capsys.readouterr().out
    plan_file = tmp_path / "plan.json"
    plan_file.write_text(solved, encoding="utf-8")

    assert run("verify", snapshot, plan_file, *objective) == 0

    answer = json.loads(solved)
    assert answer["end_reason"] == "END_REASON_OPTIMAL"
    assert len(answer["plan"]["moves"]) == 1
    assert answer["message"].startswith("1 nodes in use, 2 before: proved fewest")
    assert "good: 0 placed" in capsys.readouterr().out
