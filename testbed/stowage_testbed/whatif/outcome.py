"""What would be in the end, by a plan or as things are: who has a place, which nodes are in use, what room is left."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import accumulate

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.amounts.resources import ONE_POD, resources_of
from stowage_testbed.metrics.free_room import FreeRoom
from stowage_testbed.simulate.instance import Continued
from stowage_testbed.whatif.devices import needs_in_words
from stowage_testbed.whatif.findings import Kept, Room, Tier

GOES_WITH_ITS_NODE = frozenset({"daemonset", "mirror", "static"})
"""Why a pod may not be moved that keeps no node in use, as the optimiser counts."""

TERMINATING = "terminating"  # The rule for pods that are leaving; their room comes free
UNSUPPORTED = "unsupported"  # Why a pod stays that no rule of the cluster keeps: plans cannot say what it needs
OF_REQUESTS = "devices.stowage.dev/"
"""Begins the name of an amount of devices in a snapshot: those that serve some requests, by names for these."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Where pods are after a plan, by UID, and the scheduler's words on others; it adds some pods beside the plan."""

    plan: pb.Plan = field(default_factory=pb.Plan)
    placed: Mapping[str, str] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)
    added: frozenset[str] = frozenset()

    @property
    def disruptions(self) -> int:
        """How many running pods lose their place."""
        return len(self.plan.moves) + len(self.plan.evictions)


def outcome_of(snapshot: pb.Snapshot, plan: pb.Plan, continued: Continued | None) -> Outcome:
    """Return what comes of a plan, after which the scheduler places what it can."""
    uids = {f"{pod.namespace}/{pod.name}": pod.uid for pod in snapshot.pods}
    after = continued or Continued()
    added = {uids[name]: node for name, node in after.nodes.items() if name in uids}
    placed = {one.pod_uid: one.node for one in plan.placements} | added
    reasons = {uids[name]: reason for name, reason in after.reasons.items() if name in uids}
    return Outcome(plan, placed, reasons, frozenset(added))


def counts_pods(snapshot: pb.Snapshot) -> bool:
    """Return whether plans maximize pods; else it is what these ask for in devices."""
    return all(one.worth <= 1 for one in snapshot.pod_classes)


class Ranking:
    """Counts the pods that have a node, by priority and above, the highest first."""

    def __init__(self, snapshot: pb.Snapshot) -> None:
        classes = {one.id: one.priority for one in snapshot.pod_classes}
        self.of_pod = {pod.uid: classes[pod.class_id] for pod in snapshot.pods}
        self.counts_pods = counts_pods(snapshot)
        worth = {one.id: max(1, one.worth) for one in snapshot.pod_classes}
        self.worth = {pod.uid: worth[pod.class_id] for pod in snapshot.pods}
        self.priorities = sorted(set(self.of_pod.values()), reverse=True)
        self.before = self._from_above(Counter(classes[pod.class_id] for pod in snapshot.pods if pod.node))
        self.all = self._from_above(Counter(self.of_pod.values()))

    def gains(self, found: Outcome) -> list[int]:
        """Return how many more have a node, of each priority and above."""
        return self._gained(found, lambda _: 1)

    def worths(self, found: Outcome) -> list[int]:
        """Return what the release maximizes, pods or devices, of each priority and above."""
        return self._gained(found, self.worth.__getitem__)

    def _gained(self, found: Outcome, counts_for: Callable[[str], int]) -> list[int]:
        gained = Counter[int]()
        for uid in found.placed:
            gained[self.of_pod[uid]] += counts_for(uid)
        for one in found.plan.evictions:
            gained[self.of_pod[one.pod_uid]] -= counts_for(one.pod_uid)
        return self._from_above(gained)

    def better(self, one: Outcome, other: Outcome) -> bool:
        """Return whether one is better by priority, the highest first, or as good with less disruption."""
        return (self.worths(one), -one.disruptions) > (self.worths(other), -other.disruptions)

    def tiers(self, found: Outcome, plan: pb.Plan) -> tuple[Tier, ...]:
        """Return the outcome by tiers, with what is proved of each as long as those above got what the plan gives.

        Bounds on devices say nothing of how many pods there could be.
        """
        proved = {one.priority: one for one in plan.tiers}
        holds, tiers = True, []
        for priority, before, gain, every in zip(
            self.priorities, self.before, self.gains(found), self.all, strict=True
        ):
            after, most, one = before + gain, every, proved.get(priority)
            if one is not None and holds and self.counts_pods:
                unseen = max(before - one.placed_before, 0)
                most = max(after, min(every, one.upper_bound + unseen))
                holds = after - unseen == one.placed
            tiers.append(Tier(priority, before, after, most))
        return tuple(tiers)

    def curve(self, plan: pb.Plan, now: Outcome, found: Outcome) -> tuple[tuple[int, int], ...]:
        """Return how many more pods have a node with at most so many moves, ascending; with none, as things are."""
        if not (found.plan.moves and self.counts_pods):
            return ()
        before = max((one.placed_before for one in plan.tiers), default=0)
        points = [(0, len(now.placed)), *((one.moves, one.placed - before) for one in plan.gain_by_moves)]
        rising = list[tuple[int, int]]()
        for moves, gained in sorted([*points, (len(found.plan.moves), self.gains(found)[-1])]):
            if rising and gained <= rising[-1][1]:
                continue
            if rising and moves == rising[-1][0]:
                rising.pop()
            rising.append((moves, gained))
        return tuple(rising)

    def _from_above(self, counts: Mapping[int, int]) -> list[int]:
        return list(accumulate(counts.get(priority, 0) for priority in self.priorities))


def nodes_in_use(snapshot: pb.Snapshot, goes: Mapping[str, str] | None = None) -> frozenset[str]:
    """Return the nodes in use, as things are or when pods, by UID, are where they ``go``."""
    goes = goes or {}
    return frozenset(node.name for node in snapshot.nodes if node.irremovable_reason) | frozenset(
        goes.get(pod.uid, pod.node)
        for pod in snapshot.pods
        if pod.node and (pod.movable or pod.immovable_reason not in GOES_WITH_ITS_NODE)
    )


def nodes_kept_in_use(snapshot: pb.Snapshot) -> frozenset[str]:
    """Return the nodes that rules of the cluster keep in use, whatever pods move."""
    leaves = {*GOES_WITH_ITS_NODE, TERMINATING, UNSUPPORTED}
    return frozenset(node.name for node in snapshot.nodes if node.irremovable_reason) | frozenset(
        pod.node for pod in snapshot.pods if pod.node and not pod.movable and pod.immovable_reason not in leaves
    )


def leaving_in_turn(snapshot: pb.Snapshot) -> pb.Snapshot:
    """Return a snapshot for plans that empty nodes: a budget's pods leave in turn, so that allowing one allows all."""
    changed = pb.Snapshot()
    changed.CopyFrom(snapshot)
    for budget in changed.disruption_budgets:
        if budget.disruptions_allowed > 0:
            budget.disruptions_allowed = len(changed.pods)
    return changed


def rooms(snapshot: pb.Snapshot) -> tuple[Room, ...]:
    """Return cpu, memory and each other resource of the nodes but devices, as requests leave them.

    Selectors and taints do not count.
    """
    takes = {one.id: resources_of(one.requests) + ONE_POD for one in snapshot.pod_classes}
    there = FreeRoom(
        {node.name: resources_of(node.allocatable) for node in snapshot.nodes},
        ((pod.node, takes[pod.class_id]) for pod in snapshot.pods if pod.node),
    )
    shapes = {takes[one.id] for one in snapshot.pod_classes}
    return tuple(
        Room(
            resource=name,
            capacity=sum(size.tolist()),
            free=sum(free.tolist()),
            stranded=there.count_stranded(shapes, name),
            nodes=int((size > 0).sum()),
            free_nodes=int((free > 0).sum()),
            largest_free=int(free.max(initial=0)),
        )
        for name in there.names
        for size, free in [(there.size[name], there.free[name])]
        if size.any() and not name.startswith(OF_REQUESTS)
    )


def refused_classes(snapshot: pb.Snapshot, refusals: Iterable[pb.Refusal], unread: Mapping[str, str]) -> dict[str, str]:
    """Return the pod classes that no plan contains, and why."""
    refused = {
        one.subject.removeprefix("class "): one.detail or one.reason
        for one in refusals
        if one.subject.startswith("class ")
    }
    refused |= {
        one.id: f"it needs {needs_in_words(one.unsupported)}" for one in snapshot.pod_classes if one.unsupported
    }
    return refused | {pod.class_id: unread[pod.uid] for pod in snapshot.pods if pod.uid in unread}


class Immovable:
    """The running pods of a snapshot that may not be moved, each by a rule's name."""

    def __init__(self, snapshot: pb.Snapshot) -> None:
        kept = [pod for pod in snapshot.pods if pod.node and pod.immovable_reason]
        self._pods = Counter(pod.immovable_reason for pod in kept)
        self._examples: dict[str, str] = {}
        self._rules: defaultdict[str, set[str]] = defaultdict(set)
        self._rooms: dict[bytes, tuple[bool, tuple[str, ...]]] = {}
        takes = {one.id: resources_of(one.requests) + ONE_POD for one in snapshot.pod_classes}
        self._nodes = {node.name: resources_of(node.allocatable) for node in snapshot.nodes}
        self._sizes = set(self._nodes.values())
        # What would be there if all went that may go.
        self._left = dict(self._nodes)
        for pod in kept:
            self._examples.setdefault(pod.immovable_reason, f"{pod.namespace}/{pod.name}")
            self._rules[pod.node].add(pod.immovable_reason)
            self._left[pod.node] -= takes[pod.class_id]

    def by_rule(self) -> tuple[Kept, ...]:
        """Return the rules, the one with most pods first."""
        return tuple(Kept(rule, pods, self._examples[rule]) for rule, pods in self._pods.most_common())

    def room_for(self, requests: pb.Resources) -> tuple[bool, tuple[str, ...]]:
        """Return whether an empty node has so much, and the rules for one of which such a pod finds no room on one."""
        # Many workloads ask for the same; each amount is compared with the nodes once.
        key = requests.SerializeToString(deterministic=True)
        if key not in self._rooms:
            asked = resources_of(requests) + ONE_POD
            blocking = {
                rule
                for node, rules in self._rules.items()
                if asked.fits(self._nodes[node]) and not asked.fits(self._left[node])
                for rule in rules
            }
            self._rooms[key] = any(map(asked.fits, self._sizes)), tuple(sorted(blocking))
        return self._rooms[key]
