"""Which pods stay as they are, running or pending, and why."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.whatif.findings import (
    NOT_FOUND,
    NOT_JUDGED,
    PROVED,
    TOO_LARGE,
    Kept,
    StillPending,
)

Amounts = dict[str, int]


class KeptPods:
    """The running pods of a snapshot that may not be moved.

    Parameters
    ----------
    snapshot
        Each of these pods has the rule's name in it.
    """

    def __init__(self, snapshot: pb.Snapshot) -> None:
        kept = [pod for pod in snapshot.pods if pod.node and pod.immovable_reason]
        self._pods = Counter(pod.immovable_reason for pod in kept)
        self._examples: dict[str, str] = {}
        self._rules: defaultdict[str, set[str]] = defaultdict(set)
        sizes = {one.id: amounts(one.requests) for one in snapshot.pod_classes}
        self._nodes = {
            node.name: amounts(node.allocatable, node.allocatable.pods)
            for node in snapshot.nodes
        }
        # What would be there if all went that may go.
        self._left = {name: dict(size) for name, size in self._nodes.items()}
        for pod in kept:
            rule = pod.immovable_reason
            self._examples.setdefault(rule, f"{pod.namespace}/{pod.name}")
            self._rules[pod.node].add(rule)
            left = self._left[pod.node]
            for resource, amount in sizes[pod.class_id].items():
                left[resource] = left.get(resource, 0) - amount

    def in_the_way_of(self, requests: pb.Resources) -> tuple[str, ...]:
        """Return the rules, for one of which a pod that large finds no room on a node.

        Only room counts, not what else a node must have.
        """
        asked = amounts(requests)
        return tuple(
            sorted(
                {
                    rule
                    for node, rules in self._rules.items()
                    if fits(asked, self._nodes[node])
                    and not fits(asked, self._left[node])
                    for rule in rules
                }
            )
        )

    def by_rule(self) -> Iterator[Kept]:
        """Yield each rule that keeps a pod, the one with most pods first."""
        for rule, pods in self._pods.most_common():
            yield Kept(rule, pods, self._examples[rule])

    def large_enough(self, requests: pb.Resources) -> bool:
        """Return whether any node has so much when it is empty."""
        asked = amounts(requests)
        return any(fits(asked, node) for node in self._nodes.values())


def amounts(resources: pb.Resources, pods: int = 1) -> Amounts:
    """Return how much of each resource; a pod counts as one of a node's pods."""
    return {
        "cpu": resources.cpu_milli,
        "memory": resources.memory_bytes,
        "ephemeral-storage": resources.ephemeral_storage_bytes,
        "pods": pods,
        **resources.extended,
    }


def fits(asked: Amounts, there: Amounts) -> bool:
    """Return whether there is enough of all that is asked for."""
    return all(amount <= max(there.get(name, 0), 0) for name, amount in asked.items())


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
    # Many workloads ask for the same; each amount is compared with the nodes once.
    ways = dict[bytes, tuple[bool, tuple[str, ...]]]()

    def still(class_id: str, pods: int) -> StillPending:
        one = classes[class_id]
        asked = one.requests.SerializeToString(deterministic=True)
        if asked not in ways:
            ways[asked] = (
                kept.large_enough(one.requests),
                kept.in_the_way_of(one.requests),
            )
        large_enough, rules = ways[asked]
        verdict, reason = _verdict(
            one, refused, large_enough=large_enough, proved=plan.optimal
        )
        return StillPending(_name(one), pods, verdict, reason, rules)

    ordered = sorted(counts.items(), key=lambda item: _name(classes[item[0]]))
    return tuple(still(class_id, pods) for class_id, pods in ordered)


def _name(one: pb.PodClass) -> str:
    return f"{one.namespace}/{one.owner.name or one.id}"


def _verdict(
    one: pb.PodClass,
    refused: dict[str, pb.Refusal],
    *,
    large_enough: bool,
    proved: bool,
) -> tuple[str, str]:
    """Return the verdict on a pod that stays pending, and the reason in words."""
    if one.unsupported:
        return NOT_JUDGED, f"not judged: it needs {', '.join(one.unsupported)}"
    for subject in (one.id, _name(one)):
        if subject in refused:
            return NOT_JUDGED, f"not judged: {refused[subject].reason}"
    if not large_enough:
        return TOO_LARGE, "no node is large enough, even when empty"
    if proved:
        return PROVED, "no plan places it: proved"
    return NOT_FOUND, "no plan was found in time"
