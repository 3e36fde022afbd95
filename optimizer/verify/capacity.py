"""Nobody comes to a node that has not room for all they ask for."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from optimizer.verify.case import Case, amounts
from optimizer.verify.violation import Violation


def check_capacity(case: Case) -> Iterator[Violation]:
    """Yield each node and resource that arriving pods overfill.

    A node may be overcommitted before the plan; what matters is that no pod which
    asks for a scarce resource is added to it.
    """
    asked: defaultdict[str, set[str]] = defaultdict(set)
    for pod, node in case.arrivals():
        asked[node.name].update(name for name, _ in case.asked_for(pod.uid))
    # Nodes that nobody comes to are as they were.
    load: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for uid, where in case.after.items():
        if where in asked:
            used = load[where]
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
