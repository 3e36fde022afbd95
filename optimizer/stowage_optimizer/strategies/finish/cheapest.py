"""Among the replicas on one node, the cheapest are disrupted.

Which of them a strategy names makes no difference to its plan. So the pods with the
lowest ``controller.kubernetes.io/pod-deletion-cost`` go, then the youngest, as a
ReplicaSet that shrinks would choose; and of those that go, the cheapest are evicted and
the others moved.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from stowage_optimizer.model.plan import Plan
from stowage_optimizer.model.snapshot import Pod, Snapshot

Place = tuple[str, str | None]
"""A class, and the node that some of its pods are on."""


@dataclass(slots=True)
class Replicas:
    """The replicas on each node, looked for once however many plans there are.

    Parameters
    ----------
    snapshot
        The snapshot that all plans answer.
    """

    snapshot: Snapshot
    _pods: dict[str, Pod] = field(init=False, default_factory=dict)
    _varied: set[str] = field(init=False, default_factory=set)
    _movable: defaultdict[Place, list[Pod]] = field(
        init=False, default_factory=lambda: defaultdict(list)
    )

    def disrupt_cheapest(self, plan: Plan) -> Plan:
        """Return ``plan`` with other replicas disrupted in place of dearer ones."""
        disrupted = [one.pod_uid for one in plan.evictions]
        disrupted += [one.pod_uid for one in plan.moves]
        if not disrupted:
            return plan
        chosen = self._chosen(disrupted)
        return replace(
            plan,
            evictions=tuple(
                replace(one, pod_uid=chosen[one.pod_uid]) for one in plan.evictions
            ),
            moves=tuple(
                replace(one, pod_uid=chosen[one.pod_uid]) for one in plan.moves
            ),
        )

    def _chosen(self, disrupted: Iterable[str]) -> dict[str, str]:
        """Return the pod that is disrupted in place of each of ``disrupted``."""
        if not self._pods:
            self._index_pods()
        going: defaultdict[Place, list[str]] = defaultdict(list)
        for uid in disrupted:
            pod = self._pods[uid]
            going[pod.class_id, pod.node].append(uid)
        chosen: dict[str, str] = {}
        for place, uids in going.items():
            if place[0] not in self._varied:
                chosen.update(zip(uids, uids, strict=True))
                continue
            rank = {uid: number for number, uid in enumerate(uids)}
            named = [self._pods[uid] for uid in uids if not self._pods[uid].movable]
            # Among pods of equal cost those already named stay named.
            cheap = sorted(
                self._movable[place] + named,
                key=lambda pod, rank=rank: (  # type: ignore[misc]
                    pod.deletion_cost,
                    pod.age_s,
                    rank.get(pod.uid, len(rank)),
                ),
            )
            chosen.update(zip(uids, (pod.uid for pod in cheap), strict=False))
        return chosen

    def _index_pods(self) -> None:
        costs: dict[str, tuple[int, float]] = {}
        for pod in self.snapshot.pods:
            self._pods[pod.uid] = pod
            cost = (pod.deletion_cost, pod.age_s)
            if costs.setdefault(pod.class_id, cost) != cost:
                self._varied.add(pod.class_id)
        # If all cost the same there is no choice, and lists take time.
        for pod in self.snapshot.pods:
            if pod.class_id in self._varied and pod.node is not None and pod.movable:
                self._movable[pod.class_id, pod.node].append(pod)
