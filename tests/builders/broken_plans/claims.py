"""Plans that tell of themselves what is not so, or that gain nothing."""

from __future__ import annotations

from broken_plans.context import Mutations, PlanContext, set_disruption
from stowage_optimizer.contract import optimizer_pb2 as pb


def _wrong_count(context: PlanContext) -> None:
    context.plan.tiers[0].placed = context.plan.tiers[0].upper_bound = 4


def _wrong_count_before(context: PlanContext) -> None:
    context.plan.tiers[0].placed_before = 1


def _wrong_disruption(context: PlanContext) -> None:
    set_disruption(context, 3)


def _missing_tier(context: PlanContext) -> None:
    del context.plan.tiers[:]


def _bound_below_placed(context: PlanContext) -> None:
    context.plan.tiers[0].upper_bound = 2


def _optimal_without_proof(context: PlanContext) -> None:
    context.plan.tiers[0].upper_bound = 4


def _lower_bound_above_disruption(context: PlanContext) -> None:
    context.plan.tiers[0].disruption_lower_bound = 3


def _lower_bound_is_open(context: PlanContext) -> None:
    context.plan.tiers[0].disruption_lower_bound = 1


def _optimal_in_name_only(context: PlanContext) -> None:
    context.plan.tiers[0].optimal = False


def _optimal_below_an_open_tier(context: PlanContext) -> None:
    context.snapshot.pod_classes[1].priority = 1
    above = pb.TierResult(priority=1, placed_before=1, placed=1, upper_bound=1)
    context.plan.tiers.insert(0, above)
    context.plan.optimal = False


def _gains_nothing(context: PlanContext) -> None:
    del context.plan.placements[:]
    (tier,) = context.plan.tiers
    tier.placed = tier.upper_bound = 2


def _consolidates_nothing(context: PlanContext) -> None:
    context.asked.objective = pb.OBJECTIVE_CONSOLIDATE


def _other_nodes_in_use(context: PlanContext) -> None:
    context.plan.nodes_in_use.before = 2
    context.plan.nodes_in_use.after = 1


def _fewer_nodes_than_possible(context: PlanContext) -> None:
    nodes_in_use = context.plan.nodes_in_use
    nodes_in_use.before = nodes_in_use.after = 2
    nodes_in_use.lower_bound = 3


def _fewer_moves_than_possible(context: PlanContext) -> None:
    nodes_in_use = context.plan.nodes_in_use
    nodes_in_use.before = nodes_in_use.after = 2
    nodes_in_use.moves_lower_bound = 2


def _curve_ends_elsewhere(context: PlanContext) -> None:
    context.plan.gain_by_moves.add(moves=1, placed=2)


def _curve_does_not_rise(context: PlanContext) -> None:
    context.plan.gain_by_moves.add(moves=0, placed=3)
    context.plan.gain_by_moves.add(moves=1, placed=3)


CLAIMS: Mutations = {
    "tiers": (_wrong_count, _wrong_count_before, _wrong_disruption, _missing_tier),
    "bounds": (
        _bound_below_placed,
        _optimal_without_proof,
        _lower_bound_above_disruption,
        _lower_bound_is_open,
        _optimal_in_name_only,
        _optimal_below_an_open_tier,
    ),
    "worth": (_gains_nothing, _consolidates_nothing),
    "nodes-in-use": (
        _other_nodes_in_use,
        _fewer_nodes_than_possible,
        _fewer_moves_than_possible,
    ),
    "gains": (_curve_ends_elsewhere, _curve_does_not_rise),
}
