"""What a dual bound proves is written down, kept in a file, and checked anew."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from certified_plans import ReducedSnapshot, reduced_snapshot
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
from stowage_optimizer.model.packing import Assignment
from stowage_optimizer.verify.certificate import verify_certificates
from stowage_optimizer.verify.certificate.pods import Claim, claims

Case = tuple[ReducedSnapshot, Assignment]
Change = Callable[[int], None]


def moved() -> Case:
    """Return figure 1: a pod moves, so that the large one fits."""
    return reduced_snapshot(figure_1()), (1, 1, 0)


def two_tiers() -> Case:
    """Return two full nodes; who waits is of the lower priority."""
    builder = SnapshotBuilder()
    builder.node("n1", cpu_milli=5).node("n2", cpu_milli=5)
    builder.pod("high", cpu_milli=3, priority=1, node="n1")
    builder.pod("upper", cpu_milli=4, priority=1)
    builder.pod("run", cpu_milli=2, node="n1").pod("wait", cpu_milli=2)
    builder.pod("fixed", cpu_milli=1, node="n2", movable=False)
    return reduced_snapshot(builder.message), (0, 1, 0, None)


def one_port() -> Case:
    """Return two roomy nodes, and one pod too many that listens on a port."""
    builder = SnapshotBuilder().node("n1").node("n2")
    one = builder.pod_class("web")
    one.host_ports.add(port=80)
    builder.pod("a", of="web", node="n1").pod("b", of="web").pod("c", of="web")
    return reduced_snapshot(builder.message), (0, 1, None)


def apart() -> Case:
    """Return a pod that shares its node with no other, on one of two nodes."""
    builder = SnapshotBuilder()
    for name in ("n1", "n2"):
        builder.node(name, labels={"host": name})
    one = builder.pod_class("quiet")
    one.required_pod_anti_affinity.add(
        topology_key="host", label_selector=pb.LabelSelector()
    )
    builder.pod("q1", of="quiet", node="n1").pod("p").pod("q2", of="quiet")
    return reduced_snapshot(builder.message), (0, 1, None)


CASES = [moved, two_tiers, one_port, apart]


@pytest.mark.parametrize("by", [-1, 1])
@pytest.mark.parametrize("case", CASES)
def test_no_price_that_is_off_by_one_proves_what_is_false(
    case: Callable[[], Case], by: int
) -> None:
    """It is refused, or it still proves no more than what is true."""
    plan = _plan(case)
    for claim in claims(plan):
        _tighten(plan, claim, 1)
    count = sum(1 for claim in claims(plan) for _ in _numbers(claim.dual))
    assert count >= 4

    for at in range(count):
        altered = pb.Plan.FromString(plan.SerializeToString())
        every = [n for claim in claims(altered) for n in _numbers(claim.dual)]
        every[at](by)
        names = {claim.name for claim in claims(altered)}
        assert _refused(case, altered) == names


def _plan(case: Callable[[], Case]) -> pb.Plan:
    reduced, assignment = case()
    return reduced.plan(assignment, Policy.STRICT)


def _refused(case: Callable[[], Case], plan: pb.Plan) -> set[str]:
    checked = verify_certificates(case()[0].message, plan, pb.POLICY_STRICT)
    return {one.subject for one in checked.violations}


def _tighten(plan: pb.Plan, claim: Claim, by: int) -> None:
    tier = next(one for one in plan.tiers if one.priority == claim.priority)
    if claim.phase == pb.PHASE_PLACE:
        tier.upper_bound -= by
    else:
        tier.disruption_lower_bound += by


def _numbers(dual: pb.DualBound) -> Iterator[Change]:
    """Yield a change of each number."""

    def change(message: object, name: str) -> Change:
        return lambda by: setattr(message, name, getattr(message, name) + by)

    yield change(dual, "scale")
    for pod in dual.pods:
        yield change(pod, "pod")
        yield change(pod, "run")
    for requirement in dual.requirements:
        yield change(requirement, "price")
        yield change(requirement, "priority")


RuleChange = Callable[[pb.DualBound], object]


def _case() -> tuple[pb.Snapshot, pb.Plan]:
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


def _refusal(change: RuleChange) -> str:
    """Return what is said of the lower tier's limit on pods placed."""
    snapshot, plan = _case()
    dual = plan.tiers[-1].place.dual_bound
    assert dual.pods
    change(dual)
    checked = verify_certificates(snapshot, plan, pb.POLICY_STRICT)
    return "\n".join(str(one) for one in checked.violations)


def _require(priority: int, phase: pb.Phase, price: int) -> RuleChange:
    return lambda dual: dual.requirements.add(
        priority=priority, phase=phase, price=price
    )


def test_the_case_itself_is_confirmed() -> None:
    """Otherwise the refusals below would prove nothing."""
    assert _refusal(lambda dual: None) == ""


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
        (
            lambda dual: dual.pods.add(pod_uids=["late", "upper"]),
            "are not equal",
        ),
    ],
)
def test_prices_that_may_not_be_are_refused(change: RuleChange, said: str) -> None:
    """Each of these would let prices prove what is not true."""
    assert said in _refusal(change)


def test_what_only_the_strict_policy_keeps_is_no_ground_under_the_papers() -> None:
    """Under the paper's policy a plan may trade running pods of one priority."""
    snapshot, plan = _case()
    plan.tiers[-1].place.dual_bound.requirements.add(
        priority=0, phase=pb.PHASE_KEEP, price=1
    )

    checked = verify_certificates(snapshot, plan, pb.POLICY_PAPER)

    assert "strict policy only" in str(checked.violations[-1])


def test_pods_of_refused_classes_do_not_count() -> None:
    """A strategy that leaves a class alone states its limits without it."""
    builder = SnapshotBuilder()
    builder.node("n1", cpu_milli=5).pod("wait", cpu_milli=2)
    builder.pod_class("refused", cpu_milli=2).unsupported.append("volumes")
    builder.pod("late", of="refused")
    reduced = reduced_snapshot(builder.message)
    plan = reduced.plan((0,), Policy.STRICT)
    assert plan.tiers[0].upper_bound == 1

    unaware = verify_certificates(reduced.message, plan, pb.POLICY_STRICT)
    aware = verify_certificates(reduced.message, plan, pb.POLICY_STRICT, {"refused"})

    assert "claims 1, its prices prove 2" in str(unaware.violations[0])
    assert not aware.violations


def test_whom_a_budget_holds_stays_where_they_are() -> None:
    """No plan may disrupt them, so that nothing need be said of their prices."""
    builder = SnapshotBuilder()
    builder.node("n1", cpu_milli=3).pod("run", cpu_milli=3, node="n1")
    builder.pod("wait", cpu_milli=1).pod("late", cpu_milli=1)
    builder.message.disruption_budgets.add(
        namespace="default", name="all", selector=pb.LabelSelector()
    )
    reduced = reduced_snapshot(builder.message)
    plan = reduced.plan((None, None), Policy.STRICT)
    assert plan.tiers[0].upper_bound == 1
    assert "run" not in {
        uid for one in plan.tiers[0].place.dual_bound.pods for uid in one.pod_uids
    }

    assert not verify_certificates(reduced.message, plan, pb.POLICY_STRICT).violations

    del reduced.message.disruption_budgets[:]
    freed = verify_certificates(reduced.message, plan, pb.POLICY_STRICT)
    assert "its prices prove" in str(freed.violations[0])


def test_prices_count_every_pod_of_a_budget() -> None:
    """They prove a limit of the snapshot as it came: nothing was taken out of it."""
    builder = SnapshotBuilder().node("n1", cpu_milli=4).node("n2", cpu_milli=1)
    builder.pod_class("web", cpu_milli=2)
    builder.pod("a", of="web", node="n1").pod("b", of="web", node="n1")
    builder.pod("large", cpu_milli=5, priority=1)
    builder.message.disruption_budgets.add(
        namespace="default",
        name="web",
        selector=pb.LabelSelector(),
        disruptions_allowed=1,
    )
    reduced = reduced_snapshot(builder.message)
    assert {item.pod_uid for item in items_of(reduced.packing)} >= {"a", "b"}
    plan = reduced.plan(reduced.packing.current, Policy.STRICT)
    assert not reduced.left_alone

    assert not verify_certificates(reduced.message, plan, pb.POLICY_STRICT).violations


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
