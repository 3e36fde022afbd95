"""Hard topology spread, refused by name where only capacities are known."""

from __future__ import annotations

from collections.abc import Iterator

from stowage_optimizer.constraints.pod_affinity import NO_CAPACITY
from stowage_optimizer.constraints.refusing import class_refusal
from stowage_optimizer.model.refusal import Refusal
from stowage_optimizer.model.snapshot import Snapshot


def refuse_topology_spread(snapshot: Snapshot) -> Iterator[tuple[str, Refusal]]:
    """Yield the classes with a spread constraint that says DoNotSchedule."""
    for pod_class in snapshot.classes.values():
        hard = [spread for spread in pod_class.topology_spread if spread.hard]
        if hard:
            keys = ", ".join(spread.topology_key for spread in hard)
            yield class_refusal(
                pod_class,
                "topology-spread",
                f"spread over {keys} {NO_CAPACITY}",
            )
