"""Plans that tell of themselves what is not so, or that gain nothing."""

from __future__ import annotations

from broken_plans.scene import Mutations, Scene, disturbs
from stowage_optimizer.contract import optimizer_pb2 as pb


def _wrong_count(scene: Scene) -> None:
    scene.plan.tiers[0].placed = scene.plan.tiers[0].upper_bound = 4


def _wrong_count_before(scene: Scene) -> None:
    scene.plan.tiers[0].placed_before = 1


def _wrong_disruption(scene: Scene) -> None:
    disturbs(scene, 3)


def _missing_tier(scene: Scene) -> None:
    del scene.plan.tiers[:]


def _bound_below_placed(scene: Scene) -> None:
    scene.plan.tiers[0].upper_bound = 2


def _optimal_without_proof(scene: Scene) -> None:
    scene.plan.tiers[0].upper_bound = 4


def _lower_bound_above_disruption(scene: Scene) -> None:
    scene.plan.tiers[0].disruption_lower_bound = 3


def _lower_bound_is_open(scene: Scene) -> None:
    scene.plan.tiers[0].disruption_lower_bound = 1


def _optimal_in_name_only(scene: Scene) -> None:
    scene.plan.tiers[0].optimal = False


def _optimal_below_an_open_tier(scene: Scene) -> None:
    scene.snapshot.pod_classes[1].priority = 1
    above = pb.TierResult(priority=1, placed_before=1, placed=1, upper_bound=1)
    scene.plan.tiers.insert(0, above)
    scene.plan.optimal = False


def _gains_nothing(scene: Scene) -> None:
    del scene.plan.placements[:]
    (tier,) = scene.plan.tiers
    tier.placed = tier.upper_bound = 2


def _consolidates_nothing(scene: Scene) -> None:
    scene.asked.objective = pb.OBJECTIVE_CONSOLIDATE


def _other_nodes_in_use(scene: Scene) -> None:
    scene.plan.nodes_in_use.before = 2
    scene.plan.nodes_in_use.after = 1


def _fewer_nodes_than_possible(scene: Scene) -> None:
    told = scene.plan.nodes_in_use
    told.before = told.after = 2
    told.lower_bound = 3


def _fewer_moves_than_possible(scene: Scene) -> None:
    told = scene.plan.nodes_in_use
    told.before = told.after = 2
    told.moves_lower_bound = 2


def _curve_ends_elsewhere(scene: Scene) -> None:
    scene.plan.gain_by_moves.add(moves=1, placed=2)


def _curve_does_not_rise(scene: Scene) -> None:
    scene.plan.gain_by_moves.add(moves=0, placed=3)
    scene.plan.gain_by_moves.add(moves=1, placed=3)


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
