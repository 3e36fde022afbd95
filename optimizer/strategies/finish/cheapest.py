"""Among replicas on one node, those are disturbed whose loss costs least.

Which of them a strategy names makes no difference to its plan. So the pods with the
lowest ``controller.kubernetes.io/pod-deletion-cost`` go, then the youngest, as a
ReplicaSet that shrinks would choose; and of those that go, the cheapest are evicted and
the others moved.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from optimizer.model.plan import Plan
from optimizer.model.snapshot import Pod, Snapshot


def disturb_the_cheapest(snapshot: Snapshot, plan: Plan) -> Plan:
    """Return ``plan`` with other replicas disturbed in place of dearer ones."""
    disturbed = [one.pod_uid for one in plan.evictions]
    disturbed += [one.pod_uid for one in plan.moves]
    if not disturbed:
        return plan
    chosen = _chosen(snapshot, disturbed)
    return replace(
        plan,
        evictions=tuple(
            replace(one, pod_uid=chosen[one.pod_uid]) for one in plan.evictions
        ),
        moves=tuple(replace(one, pod_uid=chosen[one.pod_uid]) for one in plan.moves),
    )


def _chosen(snapshot: Snapshot, disturbed: list[str]) -> dict[str, str]:
    """Return who goes in the place of each of ``disturbed``."""
    rank = {uid: place for place, uid in enumerate(disturbed)}
    replicas: defaultdict[tuple[str, str], list[Pod]] = defaultdict(list)
    for pod in snapshot.pods:
        if pod.node is not None and (pod.movable or pod.uid in rank):
            replicas[pod.class_id, pod.node].append(pod)
    chosen: dict[str, str] = {}
    for pods in replicas.values():
        going = sorted(
            (pod.uid for pod in pods if pod.uid in rank), key=rank.__getitem__
        )
        if going:
            # Who was named already stays named among pods that cost the same.
            cheap = sorted(
                pods,
                key=lambda pod: (
                    pod.deletion_cost,
                    pod.age_s,
                    rank.get(pod.uid, len(rank)),
                ),
            )
            chosen.update(zip(going, (pod.uid for pod in cheap), strict=False))
    return chosen
