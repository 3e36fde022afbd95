"""Which pods stay as they are, running or pending, and why."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.amounts.message import resources_of
from stowage_testbed.amounts.resources import ONE_POD
from stowage_testbed.whatif.findings import (
    BESIDE,
    LIMITED,
    NOT_FOUND,
    NOT_JUDGED,
    OPEN,
    PROVED,
    TOO_LARGE,
    Kept,
    Proof,
    StillPending,
)
from stowage_testbed.whatif.lifted import LIFTABLE, Helped
from stowage_testbed.whatif.outcome import Outcome


class KeptPods:
    """The running pods of a snapshot that may not be moved, each by a rule's name."""

    def __init__(self, snapshot: pb.Snapshot) -> None:
        kept = [pod for pod in snapshot.pods if pod.node and pod.immovable_reason]
        self._pods = Counter(pod.immovable_reason for pod in kept)
        self._examples: dict[str, str] = {}
        self._rules: defaultdict[str, set[str]] = defaultdict(set)
        takes = {one.id: resources_of(one.requests) + ONE_POD for one in snapshot.pod_classes}
        self._nodes = {node.name: resources_of(node.allocatable) for node in snapshot.nodes}
        # What would be there if all went that may go.
        self._left = dict(self._nodes)
        for pod in kept:
            rule = pod.immovable_reason
            self._examples.setdefault(rule, f"{pod.namespace}/{pod.name}")
            self._rules[pod.node].add(rule)
            self._left[pod.node] -= takes[pod.class_id]

    def in_the_way_of(self, requests: pb.Resources) -> tuple[str, ...]:
        """Return the rules, for one of which a pod that large finds no room on a node.

        Only room counts, not what else a node must have.
        """
        asked = resources_of(requests) + ONE_POD
        return tuple(
            sorted(
                {
                    rule
                    for node, rules in self._rules.items()
                    if asked.fits(self._nodes[node]) and not asked.fits(self._left[node])
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
        asked = resources_of(requests) + ONE_POD
        return any(asked.fits(node) for node in set(self._nodes.values()))


class Workloads:
    """Says of each workload that waits why it stays pending.

    Pod classes that were not judged come with the reason, and pods that are promised a
    node with that, by UID.
    """

    def __init__(
        self, snapshot: pb.Snapshot, proof: Proof, unjudged: Mapping[str, str], nominated: Mapping[str, str]
    ) -> None:
        self._snapshot = snapshot
        self._proof = proof
        self._unjudged = unjudged
        self._nominated = nominated
        self._kept = KeptPods(snapshot)
        # Many workloads ask for the same; each amount is compared with the nodes once.
        self._ways: dict[bytes, tuple[bool, tuple[str, ...]]] = {}

    def left(self, now: Outcome, found: Outcome, helped: Helped | None) -> tuple[StillPending, ...]:
        """Return the pods that have no place in the end, by workload."""
        left = defaultdict[str, list[pb.Pod]](list)
        for pod in self._snapshot.pods:
            if not pod.node and pod.uid not in found.placed:
                left[pod.class_id].append(pod)
        classes = {one.id: one for one in self._snapshot.pod_classes}
        ranking = {pod.uid: classes[pod.class_id].priority for pod in self._snapshot.pods}
        self._highest = max((ranking[uid] for uid in found.placed), default=None)
        ordered = sorted(left.items(), key=lambda item: _name(classes[item[0]]))
        return tuple(self._still(classes[class_id], pods, now, found, helped) for class_id, pods in ordered)

    def _still(
        self, one: pb.PodClass, pods: list[pb.Pod], now: Outcome, found: Outcome, helped: Helped | None
    ) -> StillPending:
        asked = one.requests.SerializeToString(deterministic=True)
        if asked not in self._ways:
            self._ways[asked] = (self._kept.large_enough(one.requests), self._kept.in_the_way_of(one.requests))
        large_enough, rules = self._ways[asked]
        verdict, reason = self._verdict(one, pods, large_enough=large_enough)
        changes: list[str] = []
        if helped is not None and one.id in helped.classes:
            rules, changes = helped.rules, [*helped.changes]
        elif helped is not None and helped.everyone:
            # Room that a rule keeps is not enough: something else is in the way.
            rules = ()
        changes += [text for rule in rules if rule in LIFTABLE and (text := f"the rule {rule}") not in changes]
        if verdict == NOT_FOUND:
            changes.append("the time limit")
        return StillPending(
            _name(one),
            len(pods),
            verdict,
            reason,
            rules,
            now=_of_any(pods, now.reasons),
            after=_of_any(pods, found.reasons),
            changes=tuple(changes),
        )

    def _verdict(self, one: pb.PodClass, pods: list[pb.Pod], *, large_enough: bool) -> tuple[str, str]:
        """Return the verdict on pods that stay pending, and the reason in words."""
        if one.id in self._unjudged:
            return NOT_JUDGED, f"not judged: {self._unjudged[one.id]}"
        if not large_enough:
            return TOO_LARGE, "no node is large enough, even when empty"
        promised = [pod.uid for pod in pods if pod.uid in self._nominated]
        if promised:
            node = self._nominated[promised[0]]
            return OPEN, f"promised the node {node}, where room is to come free"
        if self._proof.holds:
            return self._proved(one.priority)
        within = "".join(f" {one}" for one in self._proof.limits)
        return NOT_FOUND, f"no plan{within} was found in time"

    def _proved(self, priority: int) -> tuple[str, str]:
        """Return what the proof says of pods of a priority that have no place.

        If no pod of that priority or above gets a place, none of these could either:
        a plan that places one would be better.
        """
        proof = self._proof
        if proof.others:
            aside = proof.others[0]
            return OPEN, f"the best plan places none; this leaves aside {aside}"
        if proof.limits:
            return LIMITED, f"no plan {' '.join(proof.limits)} places more: proved"
        if self._highest is not None and self._highest >= priority:
            return BESIDE, "no plan places more pods: proved; another may place these"
        return PROVED, "no plan places it: proved"


def _of_any(pods: Iterable[pb.Pod], reasons: Mapping[str, str]) -> str:
    return next((reasons[pod.uid] for pod in pods if pod.uid in reasons), "")


def _name(one: pb.PodClass) -> str:
    return f"{one.namespace}/{one.owner.name or one.id}"
