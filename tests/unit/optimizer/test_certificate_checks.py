"""What a dual bound proves is written down, kept in a file, and checked anew."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from certified_plans import reduced_snapshot
from google.protobuf.json_format import MessageToJson
from google.protobuf.message import Message
from packing_oracle import items_of
from snapshot_builder import SnapshotBuilder, figure_1

from stowage_optimizer.assignments.incumbent import SolutionWriter
from stowage_optimizer.bounds.proofs import Proof, trivial_bounds
from stowage_optimizer.cli import main
from stowage_optimizer.cli.files import write_answer
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.errors import OptimizerError
from stowage_optimizer.model.certificate import DualBound, ProofMethod
from stowage_optimizer.model.options import Policy
from stowage_optimizer.verify.certificate import verify_certificates


def two_tiers() -> tuple[pb.Snapshot, pb.Plan]:
    """Return two tiers on two nodes, both full, with a priced limit for each."""
    builder = SnapshotBuilder()
    builder.node("n1", cpu_milli=5).node("n2", cpu_milli=5)
    builder.pod("high", cpu_milli=3, priority=1, node="n1")
    builder.pod("upper", cpu_milli=4, priority=1)
    builder.pod("run", cpu_milli=2, node="n1")
    builder.pod("wait", cpu_milli=2).pod("late", cpu_milli=2)
    builder.pod("fixed", cpu_milli=1, node="n2", movable=False)
    reduced = reduced_snapshot(builder.message)
    return reduced.message, reduced.plan((0, 1, 0, None, None), Policy.STRICT)


def refusals(
    snapshot: pb.Snapshot, plan: pb.Plan, policy: pb.Policy = pb.POLICY_STRICT
) -> list[str]:
    found = verify_certificates(snapshot, plan, policy).violations
    return [str(violation) for violation in found]


RuleChange = Callable[[pb.DualBound], object]


def _require(priority: int, phase: pb.Phase, price: int) -> RuleChange:
    return lambda dual: dual.requirements.add(
        priority=priority, phase=phase, price=price
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda dual: setattr(dual.pods[0], "pod", -1), "is negative"),
        (lambda dual: setattr(dual.pods[0], "run", -1), "is negative"),
        (_require(1, pb.PHASE_PLACE, -1), "is negative"),
        (_require(0, pb.PHASE_PLACE, 1), "not settled before"),
        (_require(0, pb.PHASE_DISRUPT, 1), "not settled before"),
        (_require(-1, pb.PHASE_PLACE, 1), "there is no tier -1"),
        (lambda dual: setattr(dual, "scale", 0), "scale is not positive"),
        (lambda dual: dual.pods[0].pod_uids.append("nobody"), "unknown pod"),
        (lambda dual: dual.pods.add(pod_uids=["wait"]), "priced 2 times"),
        (lambda dual: dual.pods.add(pod_uids=["fixed"]), "stays in any case"),
        (lambda dual: dual.pods.add(pod_uids=["high"]), "stays in any case"),
        (lambda dual: dual.pods.add(pod_uids=["late", "upper"]), "are not equal"),
    ],
)
def test_prices_that_may_not_be_are_refused(change: RuleChange, said: str) -> None:
    """Each of these would let prices prove what is not true."""
    snapshot, plan = two_tiers()
    assert refusals(snapshot, plan) == []

    change(plan.tiers[-1].place.dual_bound)

    assert said in "\n".join(refusals(snapshot, plan))


def test_what_only_the_strict_policy_keeps_is_no_ground_under_the_papers() -> None:
    """Under the paper's policy a plan may trade running pods of one priority."""
    snapshot, plan = two_tiers()

    _require(0, pb.PHASE_KEEP, 1)(plan.tiers[-1].place.dual_bound)

    assert "strict policy only" in refusals(snapshot, plan, pb.POLICY_PAPER)[-1]


def test_whom_a_budget_holds_stays_where_they_are() -> None:
    """No plan may disrupt them, so that nothing need be said of their prices."""
    builder = SnapshotBuilder()
    builder.node("n1", cpu_milli=3).pod("run", cpu_milli=3, node="n1")
    builder.pod("wait", cpu_milli=1).pod("late", cpu_milli=1)
    budgets = builder.message.disruption_budgets
    budgets.add(namespace="default", name="all", selector=pb.LabelSelector())
    reduced = reduced_snapshot(builder.message)
    plan = reduced.plan((None, None), Policy.STRICT)
    prices = plan.tiers[0].place.dual_bound.pods
    priced = [uid for one in prices for uid in one.pod_uids]
    assert (plan.tiers[0].upper_bound, "run" in priced) == (1, False)

    assert refusals(reduced.message, plan) == []

    del reduced.message.disruption_budgets[:]
    assert "its prices prove" in refusals(reduced.message, plan)[0]


def test_prices_count_every_pod_of_a_budget() -> None:
    """They prove a limit of the snapshot as it came: nothing was taken out of it."""
    builder = SnapshotBuilder().node("n1", cpu_milli=4).node("n2", cpu_milli=1)
    builder.pod_class("web", cpu_milli=2)
    builder.pod("a", of="web", node="n1").pod("b", of="web", node="n1")
    builder.pod("large", cpu_milli=5, priority=1)
    budgets = builder.message.disruption_budgets
    budgets.add(namespace="default", selector=pb.LabelSelector(), disruptions_allowed=1)
    reduced = reduced_snapshot(builder.message)
    assert {item.pod_uid for item in items_of(reduced.packing)} >= {"a", "b"}

    plan = reduced.plan(reduced.packing.current, Policy.STRICT)

    assert not reduced.left_alone
    assert refusals(reduced.message, plan) == []


def _run(*arguments: str | Path) -> int:
    with pytest.raises(SystemExit) as caught:
        main([str(argument) for argument in arguments])
    return int(caught.value.code or 0)


def _file(folder: Path, name: str, message: Message) -> Path:
    path = folder / name
    path.write_text(MessageToJson(message), encoding="utf-8")
    return path


def test_what_solve_writes_is_what_verify_checks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A proof can be kept with the plan, and checked years later without a service."""
    snapshot = _file(tmp_path, "snapshot.json", figure_1())
    answer = tmp_path / "answer.json"

    assert _run("solve", snapshot, "--certificate", answer) == 0
    assert _run("verify", snapshot, answer, "--certificate") == 0

    said = capsys.readouterr().out
    assert "proved optimal" in said
    assert "limits proved by their prices" in said


def test_a_limit_that_prices_do_not_prove_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 3, as for every plan that does not hold what it says."""
    plan = reduced_snapshot(figure_1()).plan((1, 1, 0), Policy.STRICT)
    snapshot = _file(tmp_path, "snapshot.json", figure_1())
    path = _file(tmp_path, "plan.json", plan)
    assert _run("verify", snapshot, path, "--certificate") == 0
    assert "2 limits proved by their prices" in capsys.readouterr().out

    for one in plan.tiers[0].disrupt.dual_bound.requirements:
        one.price = 0
    path = _file(tmp_path, "plan.json", plan)

    assert _run("verify", snapshot, path, "--certificate") == 3
    assert "claims 2, its prices prove" in capsys.readouterr().err


def test_classes_left_alone_are_read_from_the_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
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
    assert "claims 1, its prices prove 2" in capsys.readouterr().err
    assert _run("verify", snapshot, outspoken, "--certificate") == 0


def test_prices_are_told_once_where_a_tier_repeats_the_one_above() -> None:
    """They are of the tier that they were found for, and prove nothing of another."""
    builder = SnapshotBuilder().node("n", cpu_milli=5)
    builder.pod("wait", cpu_milli=9, priority=1)
    builder.pod("stays", cpu_milli=1, node="n", movable=False)
    packing = reduced_snapshot(builder.message).packing
    bounds, prices = trivial_bounds(packing), DualBound(1, (), ())
    bounds[0].place = Proof(ProofMethod.DUAL_BOUND, prices)

    plan = SolutionWriter(packing, Policy.STRICT).write((None,), bounds)

    assert [tier.place.dual for tier in plan.tiers] == [prices, None]
    assert plan.tiers[1].place.method is ProofMethod.DUAL_BOUND


def test_a_certificate_that_cannot_be_written_is_one_clear_message(
    tmp_path: Path,
) -> None:
    """No traceback after a solve of minutes."""
    with pytest.raises(OptimizerError, match="cannot be written"):
        write_answer(tmp_path / "no" / "answer.json", pb.SolveUpdate())
