"""Certificates from the command line: good ones confirmed, false ones refused."""

from __future__ import annotations

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
from stowage_optimizer.model.certificate import DualBound, ProofMethod
from stowage_optimizer.model.options import Policy
from stowage_optimizer.strategies.bounds import Proof, trivial_bounds
from stowage_optimizer.strategies.incumbent import SolutionWriter


def _run(*arguments: str | Path) -> int:
    with pytest.raises(SystemExit) as caught:
        main([str(argument) for argument in arguments])
    return int(caught.value.code or 0)


def _file(folder: Path, name: str, message: Message) -> Path:
    path = folder / name
    path.write_text(MessageToJson(message), encoding="utf-8")
    return path


def _moved() -> pb.Plan:
    """Return figure 1's plan: one pod moves, so that the large one fits."""
    return reduced_snapshot(figure_1()).plan((1, 1, 0), Policy.STRICT)


def test_limits_are_proved_from_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A proof can be checked without the service."""
    snapshot = _file(tmp_path, "snapshot.json", figure_1())
    plan = _file(tmp_path, "plan.json", _moved())

    assert _run("verify", snapshot, plan, "--certificate") == 0

    assert "2 limits proved by their prices" in capsys.readouterr().out


def test_a_limit_that_prices_do_not_prove_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 3, as for every plan that does not hold what it says."""
    moved = _moved()
    for one in moved.tiers[0].disrupt.dual_bound.requirements:
        one.price = 0
    assert moved.tiers[0].disruption_lower_bound == 2
    snapshot = _file(tmp_path, "snapshot.json", figure_1())
    plan = _file(tmp_path, "plan.json", moved)

    assert _run("verify", snapshot, plan, "--certificate") == 3

    assert "claims 2, its prices prove" in capsys.readouterr().err


def test_classes_left_alone_are_read_from_the_answer(tmp_path: Path) -> None:
    """The limits of a strategy do not count what it refused, by name."""
    builder = SnapshotBuilder().node("n", cpu_milli=5).pod("wait", cpu_milli=2)
    builder.pod_class("web", cpu_milli=2).unsupported.append("volumes")
    reduced = reduced_snapshot(builder.pod("late", of="web").message)
    answer = pb.SolveUpdate(plan=reduced.plan((0,), Policy.STRICT))
    snapshot = _file(tmp_path, "snapshot.json", reduced.message)
    silent = _file(tmp_path, "silent.json", answer)
    answer.refusals.add(subject="class web", reason="unsupported")
    outspoken = _file(tmp_path, "outspoken.json", answer)

    assert _run("verify", snapshot, silent, "--certificate") == 3
    assert _run("verify", snapshot, outspoken, "--certificate") == 0


def test_prices_are_told_once_where_a_tier_repeats_the_one_above() -> None:
    """They are of the tier that they were found for, and prove nothing of another."""
    builder = SnapshotBuilder().node("n", cpu_milli=5)
    builder.pod("wait", cpu_milli=9, priority=1)
    builder.pod("stays", cpu_milli=1, node="n", movable=False)
    reduced = reduced_snapshot(builder.message)

    bounds = trivial_bounds(reduced.packing)
    prices = DualBound(1, (), ())
    bounds[0].place = Proof(ProofMethod.DUAL_BOUND, prices)

    plan = SolutionWriter(reduced.packing, Policy.STRICT).write((None,), bounds)

    assert [tier.place.dual for tier in plan.tiers] == [prices, None]
    assert plan.tiers[1].place.method is ProofMethod.DUAL_BOUND


def test_what_solve_writes_is_what_verify_checks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A proof can be kept with the plan, and checked years later."""
    snapshot = _file(tmp_path, "snapshot.json", figure_1())
    answer = tmp_path / "answer.json"

    assert _run("solve", snapshot, "--certificate", answer) == 0
    assert _run("verify", snapshot, answer, "--certificate") == 0

    said = capsys.readouterr().out
    assert "proved optimal" in said
    assert "limits proved by their prices" in said


def test_a_certificate_that_cannot_be_written_is_one_clear_message(
    tmp_path: Path,
) -> None:
    """No traceback after a solve of minutes."""
    with pytest.raises(OptimizerError, match="cannot be written"):
        write_answer(tmp_path / "no" / "answer.json", pb.SolveUpdate())
