"""No pod comes to a node without room for all that it requests."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from stowage_optimizer.verify.case import Case, amounts
from stowage_optimizer.verify.violation import Violation


def check_capacity(case: Case) -> Iterator[Violation]:
    """Yield each node and resource that arriving pods overfill.

    A node may be overcommitted before the plan; what matters is that no pod which
    asks for a scarce resource is added to it.
    """
    coming: defaultdict[str, list[str]] = defaultdict(list)
    for pod, node in case.arrivals():
        coming[node.name].append(pod.uid)
    asked: dict[str, set[str]] = {}
    # Nodes that no pod comes to are unchanged.
    load: dict[str, Counter[str]] = {}
    for where, newcomers in coming.items():
        asked[where] = {name for uid in newcomers for name, _ in case.asked_for(uid)}
        used = load[where] = Counter()
        for uid in (*case.staying_on(where), *newcomers):
            for name, amount in case.asked_for(uid):
                used[name] += amount
    for reservation in case.snapshot.reservations:
        if reservation.node in asked:
            load[reservation.node].update(amounts(reservation.held))
    for name, resources in asked.items():
        room = amounts(case.nodes[name].allocatable)
        for resource in sorted(resources):
            taken = load[name][resource]
            if taken > room[resource]:
                yield Violation(
                    "capacity",
                    name,
                    f"{taken} of {resource} used, {room[resource]} allocatable",
                )
