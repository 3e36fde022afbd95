"""Packing problems drawn from a seed, too large for the oracle."""

from __future__ import annotations

import random

from stowage_optimizer.model.packing import Item, Packing, packing_of

NODES = 4


def random_packing(
    seed: int, *, pods: int = 24, overcommitted: bool = False
) -> Packing:
    """Return nearly full nodes of two sizes, replicas, three tiers, and masks.

    Parameters
    ----------
    seed
        Of everything that is drawn.
    pods
        How many items there are.
    overcommitted
        Whether some nodes hold more than they have room for.
    """
    draw = random.Random(seed)  # noqa: S311 - not for secrets
    room = [(draw.choice([60, 90]), draw.choice([60, 90])) for _ in range(NODES)]
    left = [list(amounts) for amounts in room]
    items: list[Item] = []
    while len(items) < pods:
        demand = (draw.randint(2, 20), draw.randint(0, 20))
        priority = draw.randint(0, 2)
        nodes = draw.sample(range(NODES), draw.choice([2, 3, 4, 4, 4]))
        for _ in range(min(draw.randint(1, 4), pods - len(items))):
            fitting = [node for node in nodes if _fits(demand, left[node])]
            home = draw.choice(fitting) if fitting else None
            if home is not None:
                left[home] = [a - b for a, b in zip(left[home], demand, strict=True)]
            name = f"pod-{len(items)}"
            items.append(Item(name, priority, demand, tuple(sorted(nodes)), home))
    if overcommitted:
        room[0] = (room[0][0] // 2, room[0][1])
    tiers = tuple(sorted({item.priority for item in items}, reverse=True))
    names = tuple(f"node-{index}" for index in range(NODES))
    return packing_of(names, tuple(room), tuple(items), tiers)


def _fits(demand: tuple[int, ...], left: list[int]) -> bool:
    return all(amount <= room for amount, room in zip(demand, left, strict=True))
