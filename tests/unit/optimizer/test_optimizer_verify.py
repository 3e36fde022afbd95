"""The checker finds every kind of wrong plan, and looks no more often than it must."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from types import ModuleType
from typing import Any, get_args

import pytest
from brute_force import plan_to
from google.protobuf.message import Message
from snapshot_builder import GB, SnapshotBuilder, figure_1

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.service.metrics import Metrics
from stowage_optimizer.service.vetting import PlanGate
from stowage_optimizer.verify import eligibility, index, places, verify_plan
from stowage_optimizer.verify.case import Case
from stowage_optimizer.verify.checker import NAMES, RULES, check_snapshot
from stowage_optimizer.verify.movability import Disruptable
from stowage_optimizer.verify.violation import RuleName
from stowage_optimizer.verify.worth import count_tiers

EVERY_POD = pb.LabelSelector()


def tier(
    priority: int, before: int, placed: int, disruption: int = 0, bound: int = 9
) -> pb.TierResult:
    return pb.TierResult(
        priority=priority,
        placed_before=before,
        placed=placed,
        upper_bound=bound,
        disruption=disruption,
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
                namespace="default",
                name=name,
                selector=EVERY_POD,
                disruptions_allowed=allowed,
            )

    def nodes_in_use(self, **claims: int) -> None:
        put(self.plan.nodes_in_use, **{"before": 2, "after": 2} | claims)

    def priced(self) -> None:
        put(*self.snapshot.nodes, hourly_price_micros=1)

    def rules_broken(self) -> set[str]:
        found = verify_plan(self.snapshot, self.plan, self.policy, self.asked)
        return {violation.rule for violation in found}


Mutation = Callable[[GoodPlan], object]


def _places_a_running_pod(c: GoodPlan) -> None:
    c.plan.placements.add(pod_uid="pod-1", node="node-2")
    del c.plan.moves[:]


def _comes_from_elsewhere(c: GoodPlan) -> None:
    c.snapshot.nodes.add(name="node-3")
    c.plan.moves[0].from_node = "node-3"


def _no_room(c: GoodPlan) -> None:
    del c.plan.moves[:]
    put(c.tier, disruption=0, disruption_lower_bound=0)


def _room_is_reserved(c: GoodPlan) -> None:
    for node in c.snapshot.nodes:
        held = pb.Resources(memory_bytes=2 * GB)
        c.snapshot.reservations.add(name="held", node=node.name, held=held)


def _tainted(c: GoodPlan) -> None:
    for node in c.snapshot.nodes:
        node.taints.add(key="k", value="v", effect="NoExecute")


def _wants_labels(terms: Any) -> None:
    terms.add().match_expressions.add(key="disk", operator="Exists")


def _has_host_port(c: GoodPlan) -> None:
    for pod_class in c.snapshot.pod_classes:
        pod_class.host_ports.add(port=80)


def _is_kept_away(c: GoodPlan) -> None:
    for node in c.snapshot.nodes:
        node.labels["zone"] = "z"
    c.snapshot.pod_classes[0].required_pod_anti_affinity.add(
        topology_key="zone", label_selector=EVERY_POD
    )


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


MUTATIONS: dict[RuleName, dict[str, Mutation]] = {
    "snapshot": {
        "a class twice": lambda c: put(c.snapshot.pod_classes[1], id="class-pod-1"),
        "a pod twice": lambda c: c.snapshot.pods.append(c.snapshot.pods[0]),
        "lacks a class": lambda c: put(c.snapshot.pods[1], class_id="nobody"),
        "lacks a node": lambda c: c.snapshot.reservations.add(name="h", node="none"),
    },
    "snapshot-id": {"another": lambda c: put(c.plan, snapshot_id="snapshot-0")},
    "duplicate": {
        "named twice": lambda c: c.plan.placements.append(c.plan.placements[0])
    },
    "unknown-pod": {"a ghost": lambda c: put(c.plan.placements[0], pod_uid="ghost")},
    "unknown-node": {"nowhere": lambda c: put(c.plan.placements[0], node="nowhere")},
    "origin": {
        "places a running pod": _places_a_running_pod,
        "moves to its own node": lambda c: put(c.plan.moves[0], from_node="node-2"),
        "comes from elsewhere": _comes_from_elsewhere,
    },
    "capacity": {
        "no room": _no_room,
        "too many pods": lambda c: put(
            *(node.allocatable for node in c.snapshot.nodes), pods=1
        ),
        "room is reserved": _room_is_reserved,
        "wants a GPU": lambda c: c.waits.requests.extended.update({"e.com/gpu": 1}),
        "wants a disk": lambda c: put(c.waits.requests, ephemeral_storage_bytes=1),
    },
    "eligibility": {
        "tainted": _tainted,
        "cordoned": lambda c: put(*c.snapshot.nodes, unschedulable=True),
        "selects elsewhere": lambda c: c.waits.node_selector.update(disk="ssd"),
        "affine elsewhere": lambda c: _wants_labels(c.waits.required_node_affinity),
        "volume elsewhere": lambda c: _wants_labels(
            c.waits.volume_node_affinity.add().terms
        ),
        "refused there": lambda c: c.snapshot.forbidden_pairs.add(
            class_id="class-pod-3", node="node-1"
        ),
    },
    "host-ports": {"has a port": _has_host_port},
    "pod-anti-affinity": {"is kept away": _is_kept_away},
    "pod-affinity": {
        "nobody near": lambda c: c.waits.required_pod_affinity.add(topology_key="zone")
    },
    "topology-spread": {
        "no zone": lambda c: c.waits.topology_spread.add(
            max_skew=1, topology_key="zone", when_unsatisfiable="DoNotSchedule"
        )
    },
    "unverifiable": {"has volumes": lambda c: c.waits.unsupported.append("volumes")},
    "immovable": {"stays": lambda c: put(*c.snapshot.pods, movable=False)},
    "disruption-budget": {
        "is spent": lambda c: c.budgets("budget", allowed=0),
        "allows fewer": _budget_allows_fewer,
        "two budgets": lambda c: c.budgets("one", "two", allowed=5),
    },
    "policy": {"evicts for its own kind": _evicts_for_its_own_kind},
    "limits": {
        "moves": lambda c: put(c.asked, max_moves=0),
        "of an owner": _too_many_of_an_owner,
        "gain by move": lambda c: put(c.asked, min_gain_per_move=1.5),
        "evictions": _too_many_evictions,
    },
    "tiers": {
        "wrong count": lambda c: put(c.tier, placed=4, upper_bound=4),
        "wrong count before": lambda c: put(c.tier, placed_before=1),
        "wrong disruption": lambda c: put(
            c.tier, disruption=3, disruption_lower_bound=3
        ),
        "missing": lambda c: c.plan.ClearField("tiers"),
    },
    "bounds": {
        "below placed": lambda c: put(c.tier, upper_bound=2),
        "optimal without proof": lambda c: put(c.tier, upper_bound=4),
        "above disruption": lambda c: put(c.tier, disruption_lower_bound=3),
        "open": lambda c: put(c.tier, disruption_lower_bound=1),
        "optimal in name only": lambda c: put(c.tier, optimal=False),
        "optimal below an open tier": _optimal_below_an_open_tier,
    },
    "worth": {
        "gains nothing": _gains_nothing,
        "consolidates nothing": lambda c: put(
            c.asked, objective=pb.OBJECTIVE_CONSOLIDATE
        ),
        "consolidates without saving": _consolidates_without_saving,
    },
    "nodes-in-use": {
        "others": lambda c: c.nodes_in_use(after=1),
        "fewer than possible": lambda c: c.nodes_in_use(lower_bound=3),
        "fewer moves than possible": lambda c: c.nodes_in_use(moves_lower_bound=2),
        "another price": _another_price,
        "cheaper than possible": lambda c: c.nodes_in_use(price_lower_bound_micros=1),
    },
    "gains": {
        "curve ends elsewhere": lambda c: c.plan.gain_by_moves.add(moves=1, placed=2),
        "curve does not rise": _curve_does_not_rise,
    },
}
"""Ways to break a plan, by the name of the rule that they break, and no other."""

EVERY = [
    pytest.param(mutate, rule, id=f"{rule}: {name}")
    for rule, many in MUTATIONS.items()
    for name, mutate in many.items()
]


def test_a_good_plan_breaks_no_rule_and_every_rule_is_broken_by_some_mutant() -> None:
    """The mutants below start from something that passes."""
    assert GoodPlan().rules_broken() == set()
    assert set(MUTATIONS) == set(get_args(RuleName)) - {"certificate"}


@pytest.mark.parametrize(("mutate", "rule"), EVERY)
def test_each_mutant_is_caught_by_its_rule_alone(mutate: Mutation, rule: str) -> None:
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
            ROOMY, {"low": "b"}, [tier(1, 1, 1), tier(0, 2, 2, 2)],
            {"worth"}, {"worth"}, id="moves for nothing",
        ),
        pytest.param(
            ROOMY, {"low": ""}, [tier(1, 1, 1), tier(0, 2, 1, 3)],
            {"policy", "worth"}, {"worth"}, id="loses a pod",
        ),
        pytest.param(
            ROOMY, {"wait": "a", "high": "b"}, [tier(1, 1, 1, 2), tier(0, 2, 3, 2)],
            {"worth"}, {"worth"}, id="moves a higher pod for a lower one",
        ),
        pytest.param(
            TOO_FULL, {"b": "free"}, [tier(0, 1, 2)],
            set(), set(), id="who is on an overcommitted node may stay",
        ),
        pytest.param(
            TOO_FULL, {"b": "full"}, [tier(0, 1, 2)],
            {"capacity"}, {"capacity"}, id="who comes to an overcommitted node",
        ),
    ],
)  # fmt: skip
def test_plans_break_the_rules_of_their_policy(
    snapshot: pb.Snapshot,
    goes: dict[str, str],
    tiers: list[pb.TierResult],
    strict: set[str],
    paper: set[str],
) -> None:
    """The policies differ in trades of equal priority, and in nothing else."""
    plan = plan_to(snapshot, goes)
    plan.tiers.extend(tiers)

    for policy, broken in ((pb.POLICY_STRICT, strict), (pb.POLICY_PAPER, paper)):
        found = verify_plan(snapshot, plan, policy)
        assert {one.rule for one in found} == broken


def test_the_eviction_of_a_pod_that_waits_is_told_and_stumbled_over_by_no_rule() -> (
    None
):
    """It stopped the checker with an error as soon as a pod above it gained."""
    snapshot = cluster({"n": 4}, waits=(2, 0, ""), high=(2, 1, ""))
    plan = plan_to(snapshot, {"high": "n"})
    plan.evictions.add(pod_uid="waits", node="n")
    plan.tiers.extend([tier(1, 0, 1), tier(0, 0, 1)])

    found = verify_plan(snapshot, plan, pb.POLICY_STRICT)

    assert {one.rule for one in found} == {"origin"}


def disruptable(case: Case) -> list[str]:
    return [uid for uid in case.pods if uid in Disruptable(case)]


def free(case: Case) -> dict[str, list[int]]:
    return case.free


LOOKS: tuple[Callable[[Case], Iterable[object]], ...] = (
    *NAMES,
    *RULES,
    check_snapshot,
    count_tiers,
    disruptable,
    free,
)
"""Every rule and every account of a plan."""


def a_snapshot() -> pb.Snapshot:
    """Return pods that give every rule something to look at."""
    builder = SnapshotBuilder().node("a", cpu_milli=2, labels={"zone": "a"})
    builder.node("b", cpu_milli=4, labels={"zone": "b"})
    low = builder.pod_class("low", cpu_milli=2)
    low.labels["app"] = low.owner.uid = "low"
    low.host_ports.add(port=80)
    selects = pb.LabelSelector(match_labels={"app": "low"})
    low.required_pod_anti_affinity.add(topology_key="zone", label_selector=selects)
    builder.pod_class("spread", cpu_milli=1).topology_spread.add(
        topology_key="zone", max_skew=1, label_selector=EVERY_POD
    )
    builder.pod("low-a", of="low", node="a").pod("low-b", of="low", node="b")
    builder.pod("quiet", cpu_milli=1, node="b").pod("waits", of="spread")
    builder.pod("high", cpu_milli=2, priority=1)
    builder.message.disruption_budgets.add(
        namespace="default", name="low", selector=selects, disruptions_allowed=1
    )
    return builder.message


def a_plan() -> pb.Plan:
    """Return a plan for `a_snapshot` with a step of each kind."""
    goes = {"high": "a", "waits": "b", "quiet": "a", "low-a": ""}
    plan = plan_to(a_snapshot(), goes)
    plan.gain_by_moves.add(moves=1, placed=4)
    plan.nodes_in_use.before = plan.nodes_in_use.after = 2
    return plan


def _places_nowhere(plan: pb.Plan) -> None:
    plan.placements[0].node, plan.placements[1].node = "nowhere", ""


def _moves_nowhere(plan: pb.Plan) -> None:
    plan.moves[0].to_node = "nowhere"
    plan.moves.add(pod_uid="low-b", from_node="nowhere", to_node="")


def _names_pods_again(plan: pb.Plan) -> None:
    for uid in ("high", "low-a"):
        plan.placements.add(pod_uid=uid, node="b")
        plan.evictions.add(pod_uid=uid, node="a")
    plan.moves.add(pod_uid="low-a", from_node="a", to_node="b")
    plan.moves.add(pod_uid="waits", from_node="b", to_node="a")


Spoil = Callable[[pb.Plan], object]

ODD: dict[str, tuple[Spoil, RuleName]] = {
    "places nobody": (
        lambda plan: plan.placements.extend(
            pb.Placement(pod_uid=uid, node="a") for uid in ("nobody", "")
        ),
        "unknown-pod",
    ),
    "moves nobody": (
        lambda plan: plan.moves.extend(
            pb.Move(pod_uid=uid, from_node="a", to_node="b") for uid in ("nobody", "")
        ),
        "unknown-pod",
    ),
    "evicts nobody": (
        lambda plan: plan.evictions.extend(
            pb.Eviction(pod_uid=uid, node="a") for uid in ("nobody", "")
        ),
        "unknown-pod",
    ),
    "places nowhere": (_places_nowhere, "unknown-node"),
    "moves nowhere": (_moves_nowhere, "unknown-node"),
    "evicts from nowhere": (
        lambda plan: put(plan.evictions[0], node="nowhere"),
        "unknown-node",
    ),
    "names pods again": (_names_pods_again, "duplicate"),
}
"""What is odd about the names of a plan, and the rule that tells."""


@pytest.mark.parametrize(
    "objective", [pb.OBJECTIVE_PLACE, pb.OBJECTIVE_CONSOLIDATE], ids=pb.Objective.Name
)
@pytest.mark.parametrize(("spoil", "rule"), ODD.values(), ids=ODD)
def test_odd_names_are_refused_by_their_rule_and_no_other_stumbles_over_them(
    spoil: Spoil, rule: str, objective: pb.Objective
) -> None:
    """The plan is from a process not trusted; an error for a verdict ends the call."""
    asked = pb.SolveOptions(objective=objective, max_disruptions_per_owner=9)
    snapshot, plan = a_snapshot(), a_plan()
    spoil(plan)

    for look in LOOKS:
        list(look(Case(snapshot, plan, pb.POLICY_STRICT, asked)))
    found = verify_plan(snapshot, plan, pb.POLICY_STRICT, asked)
    request = pb.SolveRequest(snapshot=snapshot, options=asked)
    update = pb.SolveUpdate(plan=plan, last=True)
    answer = PlanGate(request, Metrics()).check(update, lambda: False)

    assert {violation.rule for violation in found} == {rule}
    assert answer is not None
    assert answer.end_reason == pb.END_REASON_ERROR
    assert not answer.HasField("plan")
    assert rule in answer.message


ASKED_OF_CLASSES: list[tuple[ModuleType, str]] = [
    (eligibility, "problems"),
    (index, "pod_labels_match"),
    (index, "term_speaks_of"),
    (index, "covers"),
    (places, "clash"),
]
"""What is asked of a class and a node, or of a class and what speaks of it."""


def check(
    monkeypatch: pytest.MonkeyPatch, *, classes: int, nodes: int, pods: int
) -> tuple[Counter[str], list[str]]:
    """Check a plan that lets running pods of each class make way for others.

    Returns how often each thing is asked, and the rules that the plan breaks: pods of
    a class come to one node and clash.
    """
    builder = SnapshotBuilder()
    where: dict[str, str] = {}
    names = [f"n{number}" for number in range(nodes)]
    for name in names:
        builder.node(name, labels={"disk": "ssd", "host": name})
    for number in range(classes):
        for name, priority in ((f"low-{number}", 0), (f"high-{number}", 1)):
            one = builder.pod_class(name, priority=priority)
            one.labels["app"] = name
            one.node_selector["disk"] = "ssd"
            one.host_ports.add(port=number)
            selects = pb.LabelSelector(match_labels={"app": name})
            one.required_pod_anti_affinity.add(
                topology_key="host", label_selector=selects
            )
            builder.message.disruption_budgets.add(
                namespace="default", name=name, selector=selects, disruptions_allowed=9
            )
        for pod in range(pods):
            low, high = f"low-{number}-{pod}", f"high-{number}-{pod}"
            builder.pod(low, of=f"low-{number}", node=names[pod % nodes])
            builder.pod(high, of=f"high-{number}")
            where |= {low: "", high: names[pod % nodes]}
    plan, looks = plan_to(builder.message, where), Counter[str]()
    with monkeypatch.context() as patched:
        for module, name in ASKED_OF_CLASSES:
            look = partial(_count, looks, name, getattr(module, name))
            patched.setattr(module, name, look)
        found = verify_plan(builder.message, plan, pb.POLICY_STRICT)
    return looks, [violation.rule for violation in found]


def _count(
    counted: Counter[str], name: str, look: Callable[..., Any], *arguments: Any
) -> Any:
    counted[name] += 1
    return look(*arguments)


def test_looks_grow_with_classes_and_not_with_pods_and_nodes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Clusters have far more pods and nodes than kinds of them, and a plan waits.

    Classes that speak of themselves alone are not compared with one another.
    """
    few, _ = check(monkeypatch, classes=2, nodes=2, pods=4)
    same, broken = check(monkeypatch, classes=2, nodes=8, pods=64)
    more, _ = check(monkeypatch, classes=20, nodes=2, pods=4)

    assert same == few
    assert few.keys() == {name for _, name in ASKED_OF_CLASSES}
    # Yet each pod is told of.
    assert broken.count("host-ports") >= 2 * 64
    for name in few.keys() - {"clash"}:
        assert more[name] == 10 * few[name]
