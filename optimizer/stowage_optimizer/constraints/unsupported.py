"""What the snapshot itself reports as unsupported, as in volumes or resource claims."""

from __future__ import annotations

from collections.abc import Iterator

from stowage_optimizer.constraints.refusing import class_refusal
from stowage_optimizer.model.refusal import Refusal
from stowage_optimizer.model.snapshot import Snapshot


def refuse_unsupported(snapshot: Snapshot) -> Iterator[tuple[str, Refusal]]:
    """Yield the classes that name needs beyond the contract."""
    for pod_class in snapshot.classes.values():
        if pod_class.unsupported:
            needs = ", ".join(pod_class.unsupported)
            yield class_refusal(
                pod_class, "unsupported", f"needs what a plan cannot give: {needs}"
            )
