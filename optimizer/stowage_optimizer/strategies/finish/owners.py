"""The owner of each item."""

from __future__ import annotations

from stowage_optimizer.model.packing import Packing
from stowage_optimizer.model.snapshot import Snapshot


def owners_of(snapshot: Snapshot, packing: Packing) -> tuple[str, ...]:
    """Return the UID of each item's owner, empty where it has none."""
    owner = {}
    for pod in snapshot.pods:
        found = snapshot.class_of(pod).owner
        owner[pod.uid] = "" if found is None else found.uid
    return tuple(owner[item.pod_uid] for item in packing.items)
