"""A good plan, and ways to break it: each breaks one rule of the checker, no other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

from snapshot_builder import GB, figure_1

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.verify import verify_plan
from stowage_optimizer.verify.violation import RuleName


def _answer() -> pb.Plan:
    tier = pb.TierResult(
        placed_before=2,
        placed=3,
        upper_bound=3,
        optimal=True,
        disruption=2,
        disruption_lower_bound=2,
    )
    return pb.Plan(
        snapshot_id="snapshot-1",
        placements=[pb.Placement(pod_uid="pod-3", node="node-1")],
        moves=[pb.Move(pod_uid="pod-1", from_node="node-1", to_node="node-2")],
        tiers=[tier],
        optimal=True,
    )


@dataclass(slots=True)
class PlanContext:
    """The paper's figure 1 with its best plan: `pod-1` makes way for `pod-3`.

    Nothing of it is solved, so that what is broken here is the same everywhere.
    """

    snapshot: pb.Snapshot = field(default_factory=figure_1)
    plan: pb.Plan = field(default_factory=_answer)
    policy: pb.Policy = pb.POLICY_STRICT
    asked: pb.SolveOptions = field(default_factory=pb.SolveOptions)

    def rules_broken(self) -> set[str]:
        """Return the rules that the checker finds broken."""
        found = verify_plan(self.snapshot, self.plan, self.policy, self.asked)
        return {violation.rule for violation in found}


Mutation = Callable[[PlanContext], None]

MUTATIONS: defaultdict[RuleName, list[Mutation]] = defaultdict(list)
"""Ways to break a plan, by the name of the rule that they break."""


def breaks(rule: RuleName) -> Callable[[Mutation], Mutation]:
    """Note that a mutation breaks ``rule``, and no other."""

    def note(mutation: Mutation) -> Mutation:
        MUTATIONS[rule].append(mutation)
        return mutation

    return note


def set_disruption(context: PlanContext, disruption: int) -> None:
    """Have the plan tell of so many disruptions, and no fewer possible."""
    (tier,) = context.plan.tiers
    tier.disruption = tier.disruption_lower_bound = disruption


@breaks("snapshot")
def _snapshot_names_a_class_twice(context: PlanContext) -> None:
    context.snapshot.pod_classes[1].id = context.snapshot.pod_classes[0].id


@breaks("snapshot")
def _snapshot_names_a_pod_twice(context: PlanContext) -> None:
    context.snapshot.pods.append(context.snapshot.pods[0])


@breaks("snapshot")
def _snapshot_lacks_a_class(context: PlanContext) -> None:
    context.snapshot.pods[1].class_id = "nobody"


@breaks("snapshot")
def _snapshot_lacks_a_node(context: PlanContext) -> None:
    context.snapshot.reservations.add(name="held", node="nowhere")


@breaks("snapshot-id")
def _other_snapshot(context: PlanContext) -> None:
    context.plan.snapshot_id = "snapshot-0"


@breaks("duplicate")
def _named_twice(context: PlanContext) -> None:
    context.plan.placements.add(pod_uid="pod-3", node="node-1")


@breaks("unknown-pod")
def _unknown_pod(context: PlanContext) -> None:
    context.plan.placements[0].pod_uid = "ghost"


@breaks("unknown-node")
def _unknown_node(context: PlanContext) -> None:
    context.plan.placements[0].node = "nowhere"


@breaks("origin")
def _places_a_running_pod(context: PlanContext) -> None:
    (move,) = context.plan.moves
    context.plan.placements.add(pod_uid=move.pod_uid, node=move.to_node)
    del context.plan.moves[:]


@breaks("origin")
def _moves_to_its_own_node(context: PlanContext) -> None:
    context.plan.moves[0].from_node = context.plan.moves[0].to_node


@breaks("origin")
def _comes_from_elsewhere(context: PlanContext) -> None:
    context.snapshot.nodes.add(name="node-3")
    context.plan.moves[0].from_node = "node-3"


@breaks("capacity")
def _no_room(context: PlanContext) -> None:
    del context.plan.moves[:]
    set_disruption(context, 0)


@breaks("capacity")
def _too_many_pods(context: PlanContext) -> None:
    for node in context.snapshot.nodes:
        node.allocatable.pods = 1


@breaks("capacity")
def _room_is_reserved(context: PlanContext) -> None:
    for node in context.snapshot.nodes:
        context.snapshot.reservations.add(
            name="held", node=node.name, held=pb.Resources(memory_bytes=2 * GB)
        )


@breaks("capacity")
def _wants_a_gpu(context: PlanContext) -> None:
    context.snapshot.pod_classes[2].requests.extended["example.com/gpu"] = 1


@breaks("capacity")
def _wants_a_disk(context: PlanContext) -> None:
    context.snapshot.pod_classes[2].requests.ephemeral_storage_bytes = 1


@breaks("eligibility")
def _tainted(context: PlanContext) -> None:
    for node in context.snapshot.nodes:
        node.taints.add(key="k", value="v", effect="NoExecute")


@breaks("eligibility")
def _cordoned(context: PlanContext) -> None:
    for node in context.snapshot.nodes:
        node.unschedulable = True


@breaks("eligibility")
def _selects_elsewhere(context: PlanContext) -> None:
    context.snapshot.pod_classes[2].node_selector["disk"] = "ssd"


@breaks("eligibility")
def _affine_elsewhere(context: PlanContext) -> None:
    term = context.snapshot.pod_classes[2].required_node_affinity.add()
    term.match_expressions.add(key="disk", operator="Exists")


@breaks("eligibility")
def _volume_is_elsewhere(context: PlanContext) -> None:
    term = context.snapshot.pod_classes[2].volume_node_affinity.add().terms.add()
    term.match_expressions.add(key="zone", operator="Exists")


@breaks("eligibility")
def _refused_there(context: PlanContext) -> None:
    context.snapshot.forbidden_pairs.add(
        class_id="class-pod-3", node=context.plan.placements[0].node
    )


@breaks("host-ports")
def _has_host_port(context: PlanContext) -> None:
    for pod_class in context.snapshot.pod_classes:
        pod_class.host_ports.add(port=80)


@breaks("pod-anti-affinity")
def _is_kept_away(context: PlanContext) -> None:
    for node in context.snapshot.nodes:
        node.labels["zone"] = "z"
    context.snapshot.pod_classes[0].required_pod_anti_affinity.add(
        topology_key="zone", label_selector=pb.LabelSelector()
    )


@breaks("pod-affinity")
def _has_affinity(context: PlanContext) -> None:
    context.snapshot.pod_classes[2].required_pod_affinity.add(topology_key="zone")


@breaks("topology-spread")
def _has_spread(context: PlanContext) -> None:
    context.snapshot.pod_classes[2].topology_spread.add(
        max_skew=1, topology_key="zone", when_unsatisfiable="DoNotSchedule"
    )


@breaks("unverifiable")
def _has_volumes(context: PlanContext) -> None:
    context.snapshot.pod_classes[2].unsupported.append("volumes")


@breaks("immovable")
def _immovable(context: PlanContext) -> None:
    for pod in context.snapshot.pods:
        pod.movable = False


@breaks("disruption-budget")
def _budget_is_spent(context: PlanContext) -> None:
    context.snapshot.disruption_budgets.add(
        namespace="default", name="budget", selector=pb.LabelSelector()
    )


@breaks("disruption-budget")
def _budget_allows_fewer(context: PlanContext) -> None:
    context.snapshot.pod_classes.add(id="class-pod-4", namespace="default")
    context.snapshot.pods.add(
        uid="pod-4", class_id="class-pod-4", node="node-1", movable=True
    )
    context.plan.moves.add(pod_uid="pod-4", from_node="node-1", to_node="node-2")
    (tier,) = context.plan.tiers
    tier.placed_before += 1
    tier.placed = tier.upper_bound = 4
    set_disruption(context, 4)
    context.snapshot.disruption_budgets.add(
        namespace="default",
        name="budget",
        selector=pb.LabelSelector(),
        disruptions_allowed=1,
    )


@breaks("disruption-budget")
def _two_budgets(context: PlanContext) -> None:
    for name in ("one", "two"):
        context.snapshot.disruption_budgets.add(
            namespace="default",
            name=name,
            selector=pb.LabelSelector(),
            disruptions_allowed=5,
        )


@breaks("policy")
def _evicts_for_its_own_kind(context: PlanContext) -> None:
    """Evict a pod, and place two of its own priority in its stead."""
    context.snapshot.pods[0].node = context.snapshot.pods[2].node = ""
    context.snapshot.pods[1].node = "node-1"
    context.snapshot.pod_classes[1].requests.memory_bytes = 4 * GB
    context.snapshot.nodes[1].unschedulable = True
    context.snapshot.pod_classes[2].requests.memory_bytes = 2 * GB
    del context.plan.moves[:]
    context.plan.placements.add(pod_uid="pod-1", node="node-1")
    context.plan.evictions.add(pod_uid="pod-2", node="node-1")
    (tier,) = context.plan.tiers
    tier.placed_before, tier.placed = 1, 2
    tier.optimal = context.plan.optimal = False
    set_disruption(context, 3)


@breaks("limits")
def _too_many_moves(context: PlanContext) -> None:
    context.asked.max_moves = 0


@breaks("limits")
def _too_many_of_an_owner(context: PlanContext) -> None:
    context.snapshot.pod_classes[0].owner.uid = "owner"
    context.asked.max_disruptions_per_owner = 0


@breaks("limits")
def _moves_too_much_for_its_gain(context: PlanContext) -> None:
    context.asked.min_gain_per_move = 1.5


@breaks("limits")
def _too_many_evictions(context: PlanContext) -> None:
    _evicts_for_its_own_kind(context)
    context.policy = pb.POLICY_PAPER
    context.asked.max_evictions = 0


@breaks("tiers")
def _wrong_count(context: PlanContext) -> None:
    context.plan.tiers[0].placed = context.plan.tiers[0].upper_bound = 4


@breaks("tiers")
def _wrong_count_before(context: PlanContext) -> None:
    context.plan.tiers[0].placed_before = 1


@breaks("tiers")
def _wrong_disruption(context: PlanContext) -> None:
    set_disruption(context, 3)


@breaks("tiers")
def _missing_tier(context: PlanContext) -> None:
    del context.plan.tiers[:]


@breaks("bounds")
def _bound_below_placed(context: PlanContext) -> None:
    context.plan.tiers[0].upper_bound = 2


@breaks("bounds")
def _optimal_without_proof(context: PlanContext) -> None:
    context.plan.tiers[0].upper_bound = 4


@breaks("bounds")
def _lower_bound_above_disruption(context: PlanContext) -> None:
    context.plan.tiers[0].disruption_lower_bound = 3


@breaks("bounds")
def _lower_bound_is_open(context: PlanContext) -> None:
    context.plan.tiers[0].disruption_lower_bound = 1


@breaks("bounds")
def _optimal_in_name_only(context: PlanContext) -> None:
    context.plan.tiers[0].optimal = False


@breaks("bounds")
def _optimal_below_an_open_tier(context: PlanContext) -> None:
    context.snapshot.pod_classes[1].priority = 1
    above = pb.TierResult(priority=1, placed_before=1, placed=1, upper_bound=1)
    context.plan.tiers.insert(0, above)
    context.plan.optimal = False


@breaks("worth")
def _gains_nothing(context: PlanContext) -> None:
    del context.plan.placements[:]
    (tier,) = context.plan.tiers
    tier.placed = tier.upper_bound = 2


@breaks("worth")
def _consolidates_nothing(context: PlanContext) -> None:
    context.asked.objective = pb.OBJECTIVE_CONSOLIDATE


@breaks("nodes-in-use")
def _other_nodes_in_use(context: PlanContext) -> None:
    context.plan.nodes_in_use.before = 2
    context.plan.nodes_in_use.after = 1


@breaks("nodes-in-use")
def _fewer_nodes_than_possible(context: PlanContext) -> None:
    nodes_in_use = context.plan.nodes_in_use
    nodes_in_use.before = nodes_in_use.after = 2
    nodes_in_use.lower_bound = 3


@breaks("nodes-in-use")
def _fewer_moves_than_possible(context: PlanContext) -> None:
    nodes_in_use = context.plan.nodes_in_use
    nodes_in_use.before = nodes_in_use.after = 2
    nodes_in_use.moves_lower_bound = 2


@breaks("worth")
def _consolidates_without_saving(context: PlanContext) -> None:
    context.asked.objective = pb.OBJECTIVE_CONSOLIDATE
    for node in context.snapshot.nodes:
        node.hourly_price_micros = 1


@breaks("nodes-in-use")
def _another_price(context: PlanContext) -> None:
    for node in context.snapshot.nodes:
        node.hourly_price_micros = 1
    nodes_in_use = context.plan.nodes_in_use
    nodes_in_use.before = nodes_in_use.after = 2
    nodes_in_use.price_before_micros, nodes_in_use.price_after_micros = 2, 1


@breaks("nodes-in-use")
def _cheaper_than_possible(context: PlanContext) -> None:
    nodes_in_use = context.plan.nodes_in_use
    nodes_in_use.before = nodes_in_use.after = 2
    nodes_in_use.price_lower_bound_micros = 1


@breaks("gains")
def _curve_ends_elsewhere(context: PlanContext) -> None:
    context.plan.gain_by_moves.add(moves=1, placed=2)


@breaks("gains")
def _curve_does_not_rise(context: PlanContext) -> None:
    context.plan.gain_by_moves.add(moves=0, placed=3)
    context.plan.gain_by_moves.add(moves=1, placed=3)
