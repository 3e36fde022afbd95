"""The oracle of packings: every assignment of a small one is tried."""

from collections.abc import Iterator
from itertools import product

from hypothesis import strategies as st
from made_packings import Item, packing_of

from stowage_optimizer.bounds.phase import Phase
from stowage_optimizer.model.objective import Score, TierScore, score
from stowage_optimizer.model.options import Policy
from stowage_optimizer.model.packing import Assignment, Packing


@st.composite
def packings(draw: st.DrawFn, *, nodes: int = 3, items: int = 6) -> Packing:
    """Up to 3 tiers, 2 dimensions, replicas, masks; some nodes overcommitted.

    In half of them pods count differently.
    """
    room = tuple((draw(st.integers(0, 8)), draw(st.integers(2, 9))) for _ in range(draw(st.integers(1, nodes))))
    places = list(range(len(room)))
    most = draw(st.sampled_from([1, 5]))
    kinds = [
        (
            draw(st.integers(0, 2)),
            (draw(st.integers(0, 5)), draw(st.integers(1, 5))),
            tuple(n for n in places if draw(st.integers(0, 4))),
            draw(st.integers(1, most)),
        )
        for _ in range(draw(st.integers(1, 4)))
    ]
    members = []
    for index in range(draw(st.integers(1, items))):
        priority, demand, open_to, worth = draw(st.sampled_from(kinds))
        home = draw(st.sampled_from([None, *places]))
        eligible = sorted({*open_to, home} - {None}, key=lambda n: n or 0)
        nodes_of = tuple(n for n in eligible if n is not None)
        members.append(Item(f"p{index}", priority, demand, nodes_of, home, worth))
    tiers = tuple(sorted({item.priority for item in members}, reverse=True))
    names = tuple(f"n{index}" for index in places)
    return packing_of(names, room, tuple(members), tiers)


def items_of(packing: Packing) -> tuple[Item, ...]:
    """Return each item of ``packing`` by itself."""
    rows = zip(packing.pod_uids, packing.kind_of, packing.current, strict=True)
    return tuple(Item(uid, kind.priority, kind.demand, kind.eligible, home, kind.worth) for uid, kind, home in rows)


def feasible_scores(packing: Packing, policy: Policy) -> set[Score]:
    """Return the scores of all feasible assignments."""
    return {score(packing, one, policy) for one in feasible_assignments(packing)}


def feasible_assignments(packing: Packing) -> Iterator[Assignment]:
    """Yield every assignment in which all coming pods fit their nodes."""
    choices = [(None, *item.eligible) for item in items_of(packing)]
    for assignment in product(*choices):
        if has_room(packing, assignment):
            yield assignment


def has_room(packing: Packing, assignment: Assignment) -> bool:
    """Return whether all nodes have room for what comes to them."""
    return all(_fits(packing, assignment, node) for node in range(len(packing.room)))


def overcommitted(packing: Packing) -> bool:
    """Return whether on some node more runs than fits."""
    return any(
        sum(item.demand[d] for item in items_of(packing) if item.home == node) > room
        for node, amounts in enumerate(packing.room)
        for d, room in enumerate(amounts)
    )


EARLIER = {Phase.KEEP: (), Phase.PLACE: ("kept",), Phase.DISRUPT: ("kept", "placed")}
"""What of a tier is settled before a phase."""


def number_of(found: Score, tier: int, phase: Phase) -> int:
    """Return the number of a phase as bounds have it: disruption is positive."""
    one = found[tier]
    return (one.kept, one.placed, -one.stability)[phase.value]


def best_number(scores: set[Score], reached: Score, tier: int, phase: Phase) -> int:
    """Return the best of those ``scores`` that are as good in all before the phase."""
    among = [number_of(one, tier, phase) for one in scores if at_least(one, reached, tier, EARLIER[phase])]
    return min(among) if phase is Phase.DISRUPT else max(among)


def at_least(found: Score, wanted: Score, tier: int, own: tuple[str, ...]) -> bool:
    """Return whether ``found`` is as good above ``tier``, and in ``own`` there."""

    def fine(at: int, names: tuple[str, ...]) -> bool:
        one, other = found[at], wanted[at]
        return all(getattr(one, name) >= getattr(other, name) for name in names)

    return all(fine(at, TierScore._fields) for at in range(tier)) and fine(tier, own)


def _fits(packing: Packing, assignment: Assignment, node: int) -> bool:
    here = [item for item, where in zip(items_of(packing), assignment, strict=True) if where == node]
    return all(
        sum(item.demand[d] for item in here) <= room
        for d, room in enumerate(packing.room[node])
        if any(item.demand[d] and item.home != node for item in here)
    )
