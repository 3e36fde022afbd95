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
        wanted = case.requests(pod.uid)
        asked[node.name].update(name for name, amount in wanted.items() if amount)
    # Nodes that nobody comes to are as they were.
    load: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for uid, where in case.after.items():
        if where in asked:
            load[where].update(case.requests(uid))
    for reservation in case.snapshot.reservations:
        if reservation.node in asked:
            load[reservation.node].update(amounts(reservation.held))
    for name, resources in asked.items():
        room = amounts(case.nodes[name].allocatable)
        for resource in sorted(resources):
            used = load[name][resource]
            if used > room[resource]:
                yield Violation(
                    "capacity",
                    name,
                    f"{used} of {resource} used, {room[resource]} allocatable",
                )
