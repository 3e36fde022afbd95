"""Pods that would stay pending whatever moves, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.whatif.findings import StillPending
from stowage_testbed.whatif.kept import KeptPods


def left_pending(
    snapshot: pb.Snapshot,
    plan: pb.Plan,
    refusals: Iterable[pb.Refusal],
    kept: KeptPods,
) -> tuple[StillPending, ...]:
    """Return the pods that the plan does not place, by workload."""
    placed = {one.pod_uid for one in plan.placements}
    counts = Counter(
        pod.class_id for pod in snapshot.pods if not pod.node and pod.uid not in placed
    )
    classes = {one.id: one for one in snapshot.pod_classes}
    refused = {one.subject: one for one in refusals}
    return tuple(
        StillPending(
            _name(classes[class_id]),
            pods,
            _reason(kept, classes[class_id], refused, proved=plan.optimal),
            kept.in_the_way_of(classes[class_id].requests),
        )
        for class_id, pods in sorted(
            counts.items(), key=lambda item: _name(classes[item[0]])
        )
    )


def _name(one: pb.PodClass) -> str:
    return f"{one.namespace}/{one.owner.name or one.id}"


def _reason(
    kept: KeptPods,
    one: pb.PodClass,
    refused: dict[str, pb.Refusal],
    *,
    proved: bool,
) -> str:
    if one.unsupported:
        return f"not judged: it needs {', '.join(one.unsupported)}"
    for subject in (one.id, _name(one)):
        if subject in refused:
            return f"not judged: {refused[subject].reason}"
    if not kept.large_enough(one.requests):
        return "no node is large enough, even when empty"
    if proved:
        return "no plan places it: proved"
    return "no plan was found in time"
