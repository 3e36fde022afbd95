"""Prices prove what is claimed, for any small snapshot."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import pytest
from brute_force import plan_to
from certified_plans import ReducedSnapshot, reduced_snapshot
from examples import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from packing_oracle import at_least, feasible_assignments
from snapshot_builder import SnapshotBuilder

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.objective import Score, score
from stowage_optimizer.model.options import Policy
from stowage_optimizer.verify.anti_affinity import check_anti_affinity
from stowage_optimizer.verify.case import Case
from stowage_optimizer.verify.certificate import Checked, verify_certificates
from stowage_optimizer.verify.certificate.conflict_amounts import Amounts
from stowage_optimizer.verify.certificate.knapsack import Choice, most_valuable
from stowage_optimizer.verify.certificate.pods import claims
from stowage_optimizer.verify.placements import check_ports

POLICIES = [Policy.STRICT, Policy.PAPER]
WIRE = {Policy.STRICT: pb.POLICY_STRICT, Policy.PAPER: pb.POLICY_PAPER}

EVERYWHERE = "0.0.0.0"  # noqa: S104 - the API's word for every address

SLOW = examples(80)


@st.composite
def reduced_snapshots(draw: st.DrawFn) -> ReducedSnapshot:
    """Up to 3 nodes and 5 pods of 3 tiers; replicas, and pods that stay.

    Some pods are not let in somewhere, some clash by a port, some keep apart, and some are held by a budget. In half of
    them pods count differently.
    """
    builder = SnapshotBuilder()
    names = [f"n{index}" for index in range(draw(st.integers(1, 3)))]
    for name in names:
        builder.node(
            name,
            cpu_milli=draw(st.integers(1, 8)),
            memory_bytes=draw(st.integers(2, 9)),
            pods=draw(st.integers(2, 5)),
            labels={"host": name} if draw(st.integers(0, 4)) else {},
        )
    classes = [f"c{index}" for index in range(draw(st.integers(1, 4)))]
    most_worth = draw(st.sampled_from([0, 4]))
    for name in classes:
        one = builder.pod_class(
            name,
            cpu_milli=draw(st.integers(0, 4)),
            memory_bytes=draw(st.integers(1, 5)),
            priority=draw(st.integers(0, 2)),
            worth=draw(st.integers(0, most_worth)),
        )
        one.labels["class"] = name
        if draw(st.integers(0, 3)) == 0:
            shut = draw(st.sampled_from(names))
            builder.message.forbidden_pairs.add(class_id=name, node=shut)
        if draw(st.integers(0, 4)) == 0:
            held = pb.LabelSelector(match_labels={"class": name})
            builder.message.disruption_budgets.add(namespace="default", selector=held)
        if draw(st.integers(0, 2)) == 0:
            for _ in range(draw(st.integers(1, 2))):
                _listen(one, draw)
        if draw(st.integers(0, 2)) == 0:
            _keep_apart(one, draw(st.sampled_from(["", *classes])))
    for index in range(draw(st.integers(1, 5))):
        builder.pod(
            f"p{index}",
            of=draw(st.sampled_from(classes)),
            node=draw(st.sampled_from(["", *names])),
            movable=draw(st.integers(0, 4)) > 0,
        )
    return reduced_snapshot(builder.message)


def _listen(one: pb.PodClass, draw: st.DrawFn) -> None:
    """Take a port of one address, of another or of all."""
    one.host_ports.add(
        port=draw(st.sampled_from([80, 80, 81])),
        protocol=draw(st.sampled_from(["", "TCP", "UDP"])),
        host_ip=draw(st.sampled_from(["", EVERYWHERE, "10.0.0.1", "10.0.0.2"])),
    )


def _keep_apart(one: pb.PodClass, other: str) -> None:
    """Keep pods of the class apart from those of ``other``, or from all others."""
    labels = {"class": other} if other else {}
    one.required_pod_anti_affinity.add(topology_key="host", label_selector=pb.LabelSelector(match_labels=labels))


@dataclass(frozen=True)
class _Planned:
    """A plan with prices for one of the assignments that can be carried out."""

    reduced: ReducedSnapshot
    policy: Policy
    plan: pb.Plan
    reached: Score
    scores: set[Score]

    def check(self) -> Checked:
        reduced = self.reduced
        return verify_certificates(reduced.message, self.plan, WIRE[self.policy], reduced.left_alone)

    def best(self, priority: int, phase: pb.Phase) -> int:
        """Return the true optimum of a phase in the plan's numbers."""
        packing = self.reduced.packing
        tier = packing.tiers.index(priority)
        places = phase == pb.PHASE_PLACE
        earlier = ("kept",) if places else ("kept", "placed")
        among = [one[tier] for one in self.scores if at_least(one, self.reached, tier, earlier)]
        if places:
            return self.reduced.staying(priority) + max(one.placed for one in among)
        return min(-one.stability for one in among)


def _planned(reduced: ReducedSnapshot, data: st.DataObject, policy: Policy, *, by_kind: bool = False) -> _Planned:
    scored = {one: score(reduced.packing, one, policy) for one in feasible_assignments(reduced.packing)}
    assignment = data.draw(st.sampled_from(list(scored)))
    plan = reduced.plan(assignment, policy, by_kind=by_kind)
    return _Planned(reduced, policy, plan, scored[assignment], set(scored.values()))


@pytest.mark.parametrize("by_kind", [False, True])
@pytest.mark.parametrize("policy", POLICIES)
@SLOW
@given(reduced=reduced_snapshots(), data=st.data())
def test_the_prices_of_a_dual_bound_confirm_it(
    policy: Policy, by_kind: bool, reduced: ReducedSnapshot, data: st.DataObject
) -> None:
    """Prover and checker share no code, so they agree only if both are right."""
    planned = _planned(reduced, data, policy, by_kind=by_kind)

    checked = planned.check()

    assert checked.violations == ()
    assert checked.claims == sum(1 for _ in claims(planned.plan))


@pytest.mark.parametrize("policy", POLICIES)
@SLOW
@given(reduced=reduced_snapshots(), data=st.data())
def test_whatever_is_altered_no_false_limit_is_confirmed(
    policy: Policy, reduced: ReducedSnapshot, data: st.DataObject
) -> None:
    """A certificate convinces by itself, so a forged one must prove something true."""
    planned = _planned(reduced, data, policy)
    made = list(claims(planned.plan))
    assume(made)
    claim = data.draw(st.sampled_from(made))
    _alter(claim.dual, data)
    (tier,) = (one for one in planned.plan.tiers if one.priority == claim.priority)
    if claim.phase == pb.PHASE_PLACE:
        tier.upper_bound -= data.draw(st.integers(0, 2))
    else:
        tier.disruption_lower_bound += data.draw(st.integers(0, 3))

    refused = {violation.subject for violation in planned.check().violations}

    for one in claims(planned.plan):
        over = one.bound - planned.best(one.priority, one.phase)
        holds = over >= 0 if one.phase == pb.PHASE_PLACE else over <= 0
        assert holds or one.name in refused


@pytest.mark.parametrize("policy", POLICIES)
@SLOW
@given(reduced=reduced_snapshots(), data=st.data())
def test_a_limit_beyond_the_truth_is_refused(policy: Policy, reduced: ReducedSnapshot, data: st.DataObject) -> None:
    """One pod more or one move less than possible is the worst thing to certify."""
    planned = _planned(reduced, data, policy)
    for tier in planned.plan.tiers:
        if tier.place.HasField("dual_bound"):
            tier.upper_bound = planned.best(tier.priority, pb.PHASE_PLACE) - 1
        if tier.disrupt.HasField("dual_bound"):
            least = planned.best(tier.priority, pb.PHASE_DISRUPT)
            tier.disruption_lower_bound = least + 1

    refused = {violation.subject for violation in planned.check().violations}

    assert refused == {claim.name for claim in claims(planned.plan)}


def _alter(dual: pb.DualBound, data: st.DataObject) -> None:
    """Change one thing of the prices."""
    what = data.draw(st.sampled_from(["pod", "run", "requirement", "drop", "scale"]))
    change = data.draw(st.sampled_from([-1, 1]) | st.integers(-(2**21), 2**21))
    if what == "scale":
        dual.scale = max(1, dual.scale + change)
    elif what == "requirement" and dual.requirements:
        data.draw(st.sampled_from(list(dual.requirements))).price += change
    elif what == "drop" and dual.pods:
        del dual.pods[data.draw(st.integers(0, len(dual.pods) - 1))]
    elif dual.pods:
        one = data.draw(st.sampled_from(list(dual.pods)))
        if what == "run":
            one.run += change
        else:
            one.pod += change


@st.composite
def classes(draw: st.DrawFn, *, apart: bool) -> SnapshotBuilder:
    """Up to 3 classes of up to 2 waiting pods, on a node with or without its name."""
    builder = SnapshotBuilder()
    builder.node("n", labels=draw(st.sampled_from([{}, {"host": "n"}])))
    names = [f"c{index}" for index in range(draw(st.integers(1, 3)))]
    for name in names:
        one = builder.pod_class(name)
        one.labels["class"] = name
        for _ in range(draw(st.integers(0, 2))):
            if apart:
                _keep_apart(one, draw(st.sampled_from(["", *names])))
            else:
                _listen(one, draw)
        for index in range(draw(st.integers(1, 2))):
            builder.pod(f"{name}-{index}", of=name)
    return builder


def _case(builder: SnapshotBuilder, data: st.DataObject) -> tuple[Case, bool]:
    """Return pods on one node, and whether amounts say that they are too many."""
    comes = {pod.uid: "n" for pod in builder.message.pods if data.draw(st.booleans())}
    plan = plan_to(builder.message, comes)
    case = Case(builder.message, plan, pb.POLICY_STRICT)
    amounts = Amounts(case)
    left = amounts.offered("n")
    for uid in comes:
        left.subtract(amounts.taken(uid))
    return case, min(left.values(), default=0) < 0


@pytest.mark.parametrize("apart", [False, True])
@settings(max_examples=300, deadline=None, derandomize=True)
@given(data=st.data())
def test_who_clashes_or_keeps_apart_overflows_a_node_together(apart: bool, data: st.DataObject) -> None:
    """Too strict an amount certifies what is false, too lax a one refuses truth.

    Only of two groups that may each be large, but never meet, is nothing said.
    """
    builder = data.draw(classes(apart=apart))
    case, overflows = _case(builder, data)

    met = any(check_ports(case)) or any(check_anti_affinity(case))

    assert met or not overflows
    assert overflows or not met or _one_sided(builder.message)


def _one_sided(snapshot: pb.Snapshot) -> bool:
    """Tell whether a class of two keeps away from another one only."""
    number = [pod.class_id for pod in snapshot.pods].count
    return any(
        number(one.id) > 1 and "" != other != one.id and number(other) > 1
        for one in snapshot.pod_classes
        for term in one.required_pod_anti_affinity
        for other in [term.label_selector.match_labels.get("class", "")]
    )


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


def refusals(snapshot: pb.Snapshot, plan: pb.Plan, policy: pb.Policy = pb.POLICY_STRICT) -> list[str]:
    found = verify_certificates(snapshot, plan, policy).violations
    return [str(violation) for violation in found]


RuleChange = Callable[[pb.DualBound], object]


def _require(priority: int, phase: pb.Phase, price: int) -> RuleChange:
    return lambda dual: dual.requirements.add(priority=priority, phase=phase, price=price)


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


@settings(max_examples=500, deadline=None, derandomize=True)
@given(
    choices=st.lists(
        st.builds(Choice, st.integers(-3, 12), st.tuples(st.integers(0, 5), st.integers(0, 5)), st.integers(0, 3)),
        max_size=5,
    ),
    room=st.tuples(st.integers(0, 14), st.integers(0, 14)),
    slack=st.integers(0, 4),
    steps=st.sampled_from([0, 10_000]),
    cells=st.sampled_from([1, 12, 10_000]),
)
def test_no_content_is_worth_more_than_is_said(
    choices: list[Choice], room: tuple[int, int], slack: int, steps: int, cells: int
) -> None:
    """A content overlooked here would let a false certificate pass, and one too many refuse a true one."""
    best = 0
    for numbers in product(*(range(one.most + 1) for one in choices)):
        content = list(zip(numbers, choices, strict=True))
        taken = [sum(n * one.need[d] for n, one in content) for d in range(2)]
        if taken[0] <= room[0] and taken[1] <= room[1]:
            best = max(best, sum(n * one.value for n, one in content))

    said = most_valuable(choices, room, slack, steps=steps, cells=cells)

    assert best <= said
    assert said <= best + slack or (not steps and cells < 10_000)
