"""A plan is worth its disruption, keeps within limits, and accounts for it truly."""

from collections import Counter
from collections.abc import Iterator, Set
from itertools import pairwise

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.verify.case import Case
from stowage_optimizer.verify.index import outlasts_its_node
from stowage_optimizer.verify.violation import Violation

MOVE_WEIGHT = 2
EVICTION_WEIGHT = 3


def count_tiers(case: Case) -> list[tuple[int, int, int, int]]:
    """Return (priority, placed before, placed after, disruption), highest first; placed is what pods count for."""
    of_class, before = case.index.priority, case.index.counted_for
    after, disruption = before.copy(), Counter[int]()
    for one in case.touched.values():
        priority = of_class[one.class_id]
        after[priority] += case.index.worth[one.class_id] * (bool(one.target) - bool(one.home))
        if one.home and one.home != one.target:
            disruption[priority] += MOVE_WEIGHT if one.target else EVICTION_WEIGHT
    counted = []
    reached = (0, 0, 0)
    priorities = {of_class[name] for name in case.index.present}
    for priority in sorted(priorities, reverse=True):
        own = (before[priority], after[priority], disruption[priority])
        reached = (reached[0] + own[0], reached[1] + own[1], reached[2] + own[2])
        counted.append((priority, *reached))
    return counted


def check_tiers(case: Case) -> Iterator[Violation]:
    """Yield tiers whose numbers are not those of the plan's changes."""
    counted = count_tiers(case)
    claimed = [(one.priority, one.placed_before, one.placed, one.disruption) for one in case.plan.tiers]
    if [one[0] for one in counted] != [one[0] for one in claimed]:
        wanted = ", ".join(str(one[0]) for one in counted)
        yield Violation("tiers", "plan", f"tiers must be {wanted}, highest first")
        return
    for actual, said in zip(counted, claimed, strict=True):
        if actual != said:
            yield Violation("tiers", str(actual[0]), f"before, placed, disruption are {actual[1:]}, said {said[1:]}")


def check_bounds(case: Case) -> Iterator[Violation]:
    """Yield bounds that contradict what was reached, or claims without a proof."""
    for tier in case.plan.tiers:
        if tier.upper_bound < tier.placed:
            yield _contradiction(tier, "upper bound below placed")
        if tier.disruption_lower_bound > tier.disruption:
            yield _contradiction(tier, "disruption below its lower bound")
        closed = tier.upper_bound == tier.placed and tier.disruption_lower_bound == tier.disruption
        if tier.optimal and not closed:
            yield _contradiction(tier, "optimal, but its bounds are open")
    proved = [tier.optimal for tier in case.plan.tiers]
    if proved != sorted(proved, reverse=True):
        yield Violation("bounds", "plan", "a tier is optimal below one that is not")
    if case.plan.optimal != all(proved):
        yield Violation("bounds", "plan", "optimal must mean that every tier is")


def _contradiction(tier: pb.TierResult, what: str) -> Violation:
    return Violation("bounds", str(tier.priority), what)


def check_emptied(case: Case) -> Iterator[Violation]:
    """Yield a violation unless every pod keeps a node and fewer nodes are in use.

    Where nodes have prices, those in use must cost less instead.
    """
    if case.changes_nothing:
        return
    for eviction in case.evictions:
        yield Violation("not-better", eviction.uid, "loses its node for consolidation")
    before, after = _in_use(case)
    prices = _prices(case, before, after)
    if prices is None:
        if len(after) >= len(before):
            problem = f"{len(after)} nodes in use, {len(before)} were before"
            yield Violation("not-better", "plan", problem)
        return
    for name in sorted(after - before):
        if not case.index.price_micros[name]:
            yield Violation("not-better", name, "taken into use, and its price is not known")
    if prices[1] >= prices[0]:
        problem = f"nodes in use cost {prices[1]} millionths, {prices[0]} before"
        yield Violation("not-better", "plan", problem)


def check_nodes_in_use(case: Case) -> Iterator[Violation]:
    """Yield false statements of the plan about the nodes in use."""
    if not case.plan.HasField("nodes_in_use"):
        return
    claimed = case.plan.nodes_in_use
    before, after = _in_use(case)
    counted = len(before), len(after)
    if (claimed.before, claimed.after) != counted:
        problem = f"{counted} before and after, said {(claimed.before, claimed.after)}"
        yield Violation("nodes-in-use", "plan", problem)
    cost = _prices(case, before, after) or (0, 0)
    said = claimed.price_before_micros, claimed.price_after_micros
    if said != cost:
        problem = f"cost {cost} millionths before and after, said {said}"
        yield Violation("nodes-in-use", "plan", problem)
    if claimed.price_lower_bound_micros > claimed.price_after_micros:
        yield Violation("nodes-in-use", "plan", "cheaper than the lower bound")
    if claimed.lower_bound > claimed.after:
        yield Violation("nodes-in-use", "plan", "fewer nodes than the lower bound")
    if claimed.moves_lower_bound > len(case.plan.moves):
        yield Violation("nodes-in-use", "plan", "fewer moves than the lower bound")


def _prices(case: Case, before: Set[str], after: Set[str]) -> tuple[int, int] | None:
    """Return what the nodes in use cost before and after; None without prices."""
    prices = case.index.price_micros
    if not prices:
        return None
    return sum(map(prices.__getitem__, before)), sum(map(prices.__getitem__, after))


def _in_use(case: Case) -> tuple[Set[str], Set[str]]:
    """Return the nodes in use, before the plan and after it.

    They hold a pod which would not go with its node, or may not be removed.
    """
    before = case.index.in_use
    after = before.copy()
    for pairs, change in ((case.arrivals, 1), (case.departures, -1)):
        for (_, node), uids in pairs.items():
            lasting = sum(outlasts_its_node(case.pods[uid]) for uid in uids)
            after[node] += change * lasting
    always = case.index.irremovable
    return before.keys() | always, (+after).keys() | always


def check_better(case: Case) -> Iterator[Violation]:
    """Yield a violation if the first tier that changes does not gain pods."""
    if case.consolidates:
        yield from check_emptied(case)
        return
    if case.changes_nothing:
        return
    for priority, before, after, disruption in count_tiers(case):
        if after > before:
            return
        if after < before:
            yield Violation("not-better", str(priority), f"{after} placed, {before} were before")
            return
        if disruption:
            yield Violation("not-better", str(priority), "pods are disrupted and none is gained")
            return
    yield Violation("not-better", "plan", "changes something and gains nothing")


def check_limits(case: Case) -> Iterator[Violation]:
    """Yield limits of the request that the plan goes beyond."""
    asked, plan = case.asked, case.plan
    if asked.HasField("max_moves") and len(plan.moves) > asked.max_moves:
        yield _beyond("max_moves", f"{len(plan.moves)}, not {asked.max_moves}")
    if asked.HasField("max_evictions") and len(plan.evictions) > asked.max_evictions:
        yield _beyond("max_evictions", f"{len(plan.evictions)}")
    if asked.HasField("max_disruptions_per_owner"):
        for owner, count in _by_owner(case).items():
            if count > asked.max_disruptions_per_owner:
                yield _beyond("max_disruptions_per_owner", f"{count} of {owner}")
    least = asked.min_gain_per_move * len(plan.moves)
    if not case.consolidates and len(plan.placements) < least:
        yield _beyond("min_gain_per_move", f"{len(plan.placements)}, not {least}")


def check_gains(case: Case) -> Iterator[Violation]:
    """Yield points of the curve that do not rise, or do not end at the plan."""
    points = [(one.moves, one.placed) for one in case.plan.gain_by_moves]
    if not points:
        return
    placed = case.index.counted_for.total()
    for pairs, sign in ((case.arrivals, 1), (case.departures, -1)):
        placed += sign * sum(case.index.worth[class_id] * len(uids) for (class_id, _), uids in pairs.items())
    if points[-1] != (len(case.plan.moves), placed):
        yield Violation("gains", "plan", f"the curve ends at {points[-1]}")
    for one, other in pairwise(points):
        if one[0] >= other[0] or one[1] >= other[1]:
            yield Violation("gains", "plan", f"{other} comes after {one}")


def _by_owner(case: Case) -> Counter[str]:
    owners = (case.classes[one.class_id].owner.uid for one in case.disrupted)
    return Counter(owner for owner in owners if owner)


def _beyond(limit: str, what: str) -> Violation:
    return Violation("limits", limit, f"the plan has {what}")
