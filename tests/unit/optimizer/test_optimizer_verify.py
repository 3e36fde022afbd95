"""The checker finds every kind of wrong plan: one table, by the rule that is broken."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, get_args

import pytest
from brute_force import plan_to
from google.protobuf.message import Message
from snapshot_builder import GB, SnapshotBuilder, figure_1

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.verify import verify_plan
from stowage_optimizer.verify.violation import RuleName

EVERY_POD = pb.LabelSelector()


def tier(priority: int, before: int, placed: int, disruption: int = 0, bound: int = 9) -> pb.TierResult:
    return pb.TierResult(
        priority=priority, placed_before=before, placed=placed, upper_bound=bound, disruption=disruption
    )


def put(*messages: Message, **fields: object) -> None:
    for message in messages:
        for name, value in fields.items():
            setattr(message, name, value)


@dataclass(slots=True)
class GoodPlan:
    """The paper's figure 1 with its best plan: `pod-1` makes way for `pod-3`.

    Nothing of it is solved, so that what is broken here is the same everywhere.
    """

    snapshot: pb.Snapshot = field(default_factory=figure_1)
    plan: pb.Plan = field(init=False)
    policy: pb.Policy = pb.POLICY_STRICT
    asked: pb.SolveOptions = field(default_factory=pb.SolveOptions)

    def __post_init__(self) -> None:
        where = {"pod-1": "node-2", "pod-3": "node-1"}
        self.plan = plan_to(self.snapshot, where)
        self.plan.tiers.add().CopyFrom(tier(0, 2, 3, 2, bound=3))
        put(self.tier, optimal=True, disruption_lower_bound=2)
        self.plan.optimal = True

    @property
    def tier(self) -> pb.TierResult:
        return self.plan.tiers[0]

    @property
    def waits(self) -> pb.PodClass:
        """Return the class of the pod that the plan places."""
        return self.snapshot.pod_classes[2]

    def budgets(self, *names: str, allowed: int) -> None:
        for name in names:
            self.snapshot.disruption_budgets.add(
                namespace="default", name=name, selector=EVERY_POD, disruptions_allowed=allowed
            )

    def nodes_in_use(self, **claims: int) -> None:
        put(self.plan.nodes_in_use, **{"before": 2, "after": 2} | claims)

    def priced(self) -> None:
        put(*self.snapshot.nodes, hourly_price_micros=1)

    def rules_broken(self) -> set[str]:
        found = verify_plan(self.snapshot, self.plan, self.policy, self.asked)
        return {violation.rule for violation in found}


Mutation = Callable[[GoodPlan], object]


def _no_room(c: GoodPlan) -> None:
    del c.plan.moves[:]
    put(c.tier, disruption=0, disruption_lower_bound=0)


def _room_is_reserved(c: GoodPlan) -> None:
    for node in c.snapshot.nodes:
        held = pb.Resources(memory_bytes=2 * GB)
        c.snapshot.reservations.add(name="held", node=node.name, held=held)


def _wants_labels(terms: Any) -> None:
    terms.add().match_expressions.add(key="disk", operator="Exists")


def _has_host_port(c: GoodPlan) -> None:
    for pod_class in c.snapshot.pod_classes:
        pod_class.host_ports.add(port=80)


def _asks_for_a_device(c: GoodPlan) -> None:
    c.snapshot.device_requests.add(id="gpu").first_available.add(count=1)
    c.waits.device_requests.append("gpu")


def _is_kept_away(c: GoodPlan) -> None:
    for node in c.snapshot.nodes:
        node.labels["zone"] = "z"
    c.snapshot.pod_classes[0].required_pod_anti_affinity.add(topology_key="zone", label_selector=EVERY_POD)


def _budget_allows_fewer(c: GoodPlan) -> None:
    SnapshotBuilder(c.snapshot).pod("pod-4", node="node-1")
    c.plan.moves.add(pod_uid="pod-4", from_node="node-1", to_node="node-2")
    put(c.tier, placed_before=3, placed=4, upper_bound=4)
    put(c.tier, disruption=4, disruption_lower_bound=4)
    c.budgets("budget", allowed=1)


def _evicts_for_its_own_kind(c: GoodPlan) -> None:
    """Evict a pod, and place two of its own priority in its stead."""
    for pod, node in zip(c.snapshot.pods, ("", "node-1", ""), strict=True):
        pod.node = node
    for one, gigabytes in zip(c.snapshot.pod_classes, (2, 4, 2), strict=True):
        one.requests.memory_bytes = gigabytes * GB
    c.snapshot.nodes[1].unschedulable = True
    where = {"pod-1": "node-1", "pod-2": "", "pod-3": "node-1"}
    c.plan.CopyFrom(plan_to(c.snapshot, where))
    c.plan.tiers.add().CopyFrom(tier(0, 1, 2, 3, bound=3))
    c.tier.disruption_lower_bound = 3


def _too_many_of_an_owner(c: GoodPlan) -> None:
    c.snapshot.pod_classes[0].owner.uid = "owner"
    c.asked.max_disruptions_per_owner = 0


def _too_many_evictions(c: GoodPlan) -> None:
    _evicts_for_its_own_kind(c)
    c.policy = pb.POLICY_PAPER
    c.asked.max_evictions = 0


def _optimal_below_an_open_tier(c: GoodPlan) -> None:
    c.snapshot.pod_classes[1].priority = 1
    c.plan.tiers.insert(0, tier(1, 1, 1, bound=1))
    c.plan.optimal = False


def _gains_nothing(c: GoodPlan) -> None:
    del c.plan.placements[:]
    put(c.tier, placed=2, upper_bound=2)


def _consolidates_without_saving(c: GoodPlan) -> None:
    c.asked.objective = pb.OBJECTIVE_CONSOLIDATE
    c.priced()


def _another_price(c: GoodPlan) -> None:
    c.priced()
    c.nodes_in_use(price_before_micros=2, price_after_micros=1)


def _curve_does_not_rise(c: GoodPlan) -> None:
    for moves in (0, 1):
        c.plan.gain_by_moves.add(moves=moves, placed=3)


def _placed_gang_lacks_a_pod(good: GoodPlan) -> None:
    """Make the placed pod one of a gang of two."""
    good.snapshot.gangs.add(id="default/g", min_count=2)
    good.waits.gang = "default/g"
    good.plan.placements[0].unit = "gang/default/g"


MUTANTS: list[tuple[RuleName, Mutation]] = [
    ("snapshot", lambda c: put(c.snapshot.pod_classes[1], id="class-pod-1")),
    ("snapshot", lambda c: c.snapshot.pods.append(c.snapshot.pods[0])),
    ("snapshot", lambda c: put(c.snapshot.pods[1], class_id="nobody")),
    ("snapshot", lambda c: c.snapshot.reservations.add(name="h", node="none")),
    ("snapshot-id", lambda c: put(c.plan, snapshot_id="snapshot-0")),
    ("duplicate", lambda c: c.plan.placements.append(c.plan.placements[0])),
    ("unknown-pod", lambda c: put(c.plan.placements[0], pod_uid="ghost")),
    ("unknown-pod", lambda c: c.plan.evictions.add(pod_uid="", node="node-1")),
    ("unknown-node", lambda c: put(c.plan.placements[0], node="nowhere")),
    ("unknown-node", lambda c: put(c.plan.moves[0], from_node="")),
    ("origin", lambda c: put(c.plan.moves[0], from_node="node-2")),
    ("capacity", _no_room),
    ("capacity", lambda c: put(*(n.allocatable for n in c.snapshot.nodes), pods=1)),
    ("capacity", _room_is_reserved),
    ("capacity", lambda c: c.waits.requests.extended.update({"e.com/gpu": 1})),
    ("capacity", lambda c: put(c.waits.requests, ephemeral_storage_bytes=1)),
    ("eligibility", lambda c: c.snapshot.nodes[0].taints.add(effect="NoExecute")),
    ("eligibility", lambda c: put(*c.snapshot.nodes, unschedulable=True)),
    ("eligibility", lambda c: c.waits.node_selector.update(disk="ssd")),
    ("eligibility", lambda c: _wants_labels(c.waits.required_node_affinity)),
    ("eligibility", lambda c: _wants_labels(c.waits.volume_node_affinity.add().terms)),
    ("eligibility", lambda c: c.snapshot.forbidden_pairs.add(class_id=c.waits.id, node="node-1")),
    ("host-ports", _has_host_port),
    ("gang", _placed_gang_lacks_a_pod),
    ("gang", lambda c: put(c.plan.moves[0], unit="gang/x")),
    ("devices", _asks_for_a_device),
    ("devices", lambda c: put(c.plan.moves[0], turn=1)),
    ("pod-anti-affinity", _is_kept_away),
    ("pod-affinity", lambda c: c.waits.required_pod_affinity.add(topology_key="zone")),
    (
        "topology-spread",
        lambda c: c.waits.topology_spread.add(max_skew=1, topology_key="zone", when_unsatisfiable="DoNotSchedule"),
    ),
    ("unverifiable", lambda c: c.waits.unsupported.append("volumes")),
    ("immovable", lambda c: put(*c.snapshot.pods, movable=False)),
    ("disruption-budget", lambda c: c.budgets("budget", allowed=0)),
    ("disruption-budget", _budget_allows_fewer),
    ("disruption-budget", lambda c: c.budgets("one", "two", allowed=5)),
    ("policy", _evicts_for_its_own_kind),
    ("limits", lambda c: put(c.asked, max_moves=0)),
    ("limits", _too_many_of_an_owner),
    ("limits", lambda c: put(c.asked, min_gain_per_move=1.5)),
    ("limits", _too_many_evictions),
    ("tiers", lambda c: put(c.tier, placed=4, upper_bound=4)),
    ("tiers", lambda c: put(c.tier, placed_before=1)),
    ("tiers", lambda c: put(c.tier, disruption=3, disruption_lower_bound=3)),
    ("tiers", lambda c: c.plan.ClearField("tiers")),
    ("bounds", lambda c: put(c.tier, upper_bound=2)),
    ("bounds", lambda c: put(c.tier, upper_bound=4)),
    ("bounds", lambda c: put(c.tier, disruption_lower_bound=3)),
    ("bounds", lambda c: put(c.tier, disruption_lower_bound=1)),
    ("bounds", lambda c: put(c.tier, optimal=False)),
    ("bounds", _optimal_below_an_open_tier),
    ("not-better", _gains_nothing),
    ("not-better", lambda c: put(c.asked, objective=pb.OBJECTIVE_CONSOLIDATE)),
    ("not-better", _consolidates_without_saving),
    ("nodes-in-use", lambda c: c.nodes_in_use(after=1)),
    ("nodes-in-use", lambda c: c.nodes_in_use(lower_bound=3)),
    ("nodes-in-use", lambda c: c.nodes_in_use(moves_lower_bound=2)),
    ("nodes-in-use", _another_price),
    ("nodes-in-use", lambda c: c.nodes_in_use(price_lower_bound_micros=1)),
    ("gains", lambda c: c.plan.gain_by_moves.add(moves=1, placed=2)),
    ("gains", _curve_does_not_rise),
]
"""Ways to break a plan, with the name of the rule that they break, and no other."""


def test_a_good_plan_breaks_no_rule_and_every_rule_is_broken_by_some_mutant() -> None:
    """The mutants below start from something that passes."""
    assert GoodPlan().rules_broken() == set()
    assert {rule for rule, _ in MUTANTS} == set(get_args(RuleName)) - {"certificate"}


@pytest.mark.parametrize(("rule", "mutate"), MUTANTS)
def test_each_mutant_is_caught_by_its_rule_alone(rule: RuleName, mutate: Mutation) -> None:
    """A rule that never fires is no rule, nor is one that others must cover (R12)."""
    good = GoodPlan()

    mutate(good)

    assert good.rules_broken() == {rule}


def cluster(nodes: dict[str, int], **pods: tuple[int, int, str]) -> pb.Snapshot:
    """Return nodes with so many cores, and pods with cores, priority and node."""
    builder = SnapshotBuilder()
    for name, cores in nodes.items():
        builder.node(name, cpu_milli=cores)
    for name, (cores, priority, node) in pods.items():
        builder.pod(name, cpu_milli=cores, priority=priority, node=node)
    return builder.message


TRADE = cluster({"n": 4}, runs=(4, 0, "n"), one=(2, 0, ""), two=(2, 0, ""))
NOT_FORCED = cluster({"n": 6}, runs=(2, 0, "n"), high=(2, 1, ""), wide=(4, 0, ""))
ROOMY = cluster({"a": 9, "b": 9}, high=(1, 1, "a"), low=(1, 0, "a"), wait=(1, 0, ""))
TOO_FULL = cluster({"full": 1, "free": 4}, a=(2, 0, "full"), b=(1, 0, ""))


@pytest.mark.parametrize(
    ("snapshot", "goes", "tiers", "strict", "paper"),
    [
        pytest.param(
            TRADE, {"runs": "", "one": "n", "two": "n"}, [tier(0, 1, 2, 3)],
            {"policy"}, set(), id="equal priorities are traded",
        ),
        pytest.param(
            NOT_FORCED, {"high": "n", "wide": "n", "runs": ""},
            [tier(1, 0, 1), tier(0, 1, 2, 3)],
            {"policy"}, set(), id="a gain above is no licence to trade below",
        ),
        pytest.param(
            ROOMY, {"wait": "a", "high": "b"}, [tier(1, 1, 1, 2), tier(0, 2, 3, 2)],
            {"not-better"}, {"not-better"}, id="moves a higher pod for a lower one",
        ),
        pytest.param(
            TOO_FULL, {"b": "free"}, [tier(0, 1, 2)],
            set(), set(), id="who is on an overcommitted node may stay",
        ),
    ],
)  # fmt: skip
def test_plans_break_the_rules_of_their_policy(
    snapshot: pb.Snapshot, goes: dict[str, str], tiers: list[pb.TierResult], strict: set[str], paper: set[str]
) -> None:
    """The policies differ in trades of equal priority, and in nothing else."""
    plan = plan_to(snapshot, goes)
    plan.tiers.extend(tiers)

    for policy, broken in ((pb.POLICY_STRICT, strict), (pb.POLICY_PAPER, paper)):
        found = verify_plan(snapshot, plan, policy)
        assert {one.rule for one in found} == broken


def test_the_eviction_of_a_pod_that_waits_is_told_and_stumbled_over_by_no_rule() -> None:
    """It stopped the checker with an error as soon as a pod above it gained."""
    snapshot = cluster({"n": 4}, waits=(2, 0, ""), high=(2, 1, ""))
    plan = plan_to(snapshot, {"high": "n"})
    plan.evictions.add(pod_uid="waits", node="n")
    plan.tiers.extend([tier(1, 0, 1), tier(0, 0, 1)])

    found = verify_plan(snapshot, plan, pb.POLICY_STRICT)

    assert {one.rule for one in found} == {"origin"}
