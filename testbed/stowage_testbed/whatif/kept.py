"""Which rules keep running pods where they are, and in whose way those pods are."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.whatif.findings import Kept

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
        return any(fits(amounts(requests), node) for node in self._nodes.values())


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
