"""What blocks pods that wait."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.amounts.message import resources_of
from stowage_testbed.amounts.resources import ONE_POD
from stowage_testbed.api.label_selector import selects
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
from stowage_testbed.whatif.inventory import Inventory, labels_of, part_of, uid_of
from stowage_testbed.whatif.outcome import Outcome
from stowage_testbed.whatif.release import limit_in_words

BUDGET = "PodDisruptionBudget"

CHANGEABLE = frozenset(
    {
        "cooling-down",
        "disruption-budget",
        "job",
        "local-storage",
        "long-grace-period",
        "not-ready",
        "opted-out",
        "protected-namespace",
        "singleton",
        "statefulset",
        "too-young",
    }
)
"""Rules that a value, a label or a budget may change; the others are facts."""

DEAR = 2**30  # Cost of a pod that a rule keeps: among equal plans the others are disrupted


def refused_classes(snapshot: pb.Snapshot, refusals: Iterable[pb.Refusal], unread: Mapping[str, str]) -> dict[str, str]:
    """Return the pod classes that no plan contains, and why."""
    refused = {
        one.subject.removeprefix("class "): one.detail or one.reason
        for one in refusals
        if one.subject.startswith("class ")
    }
    refused |= {one.id: f"it needs {', '.join(one.unsupported)}" for one in snapshot.pod_classes if one.unsupported}
    return refused | {pod.class_id: unread[pod.uid] for pod in snapshot.pods if pod.uid in unread}


@dataclass(frozen=True, slots=True)
class Helped:
    """Whom it would help, class by class, if but facts kept pods in place, and what would have to change.

    ``everyone`` is whether it is proved that it would help nobody else.
    """

    classes: Mapping[str, int] = field(default_factory=dict)
    rules: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    everyone: bool = False


def without_rules(snapshot: pb.Snapshot) -> pb.Snapshot | None:
    """Return the snapshot without changeable rules and budgets; ``None`` if there are none."""
    kept = [one for one in snapshot.pods if one.immovable_reason in CHANGEABLE]
    if not kept and not snapshot.disruption_budgets:
        return None
    free = pb.Snapshot()
    free.CopyFrom(snapshot)
    del free.disruption_budgets[:]
    for pod in free.pods:
        if pod.immovable_reason in CHANGEABLE:
            pod.movable, pod.immovable_reason, pod.deletion_cost = True, "", DEAR
    return free


def helped(
    snapshot: pb.Snapshot, plan: pb.Plan, found: Outcome, inventory: Inventory, limits: Mapping[str, int]
) -> Helped:
    """Return whom a plan for the snapshot `without_rules` places beside those with a place; limits are by name."""
    classes = {pod.uid: pod.class_id for pod in snapshot.pods}
    more = Counter(classes[one.pod_uid] for one in plan.placements)
    more.subtract(classes[uid] for uid in found.placed)
    gained = {one: number for one, number in more.items() if number > 0}
    if not gained:
        return Helped(everyone=plan.optimal)
    gone = {one.pod_uid for one in plan.moves} | {one.pod_uid for one in plan.evictions}
    disrupted = [pod for pod in snapshot.pods if pod.uid in gone]
    rules = sorted({pod.immovable_reason for pod in disrupted} & CHANGEABLE)
    changes = [f"the rule {one}" for one in rules]
    labels = {uid_of(pod): labels_of(pod) for pod in inventory.pods}
    for budget in (one for one in inventory.objects if one["kind"] == BUDGET):
        selector = part_of(budget, "spec").get("selector")
        allowed = part_of(budget, "status").get("disruptionsAllowed") or 0
        covered = sum(
            selector is not None
            and pod.namespace == budget["metadata"].get("namespace", "default")
            and selects(selector, labels.get(pod.uid, {}))
            and not pod.exempt_from_budget
            for pod in disrupted
        )
        if covered > allowed:
            changes.append(f"the budget {budget['metadata']['name']}, which allows {allowed}")
    for name, number in (("maxMoves", len(plan.moves)), ("maxEvictions", len(plan.evictions))):
        if number > limits.get(name, number):
            changes.append(f"the limit of {limit_in_words(name, limits[name])}")
    return Helped(gained, tuple(rules), tuple(changes), plan.optimal)


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


@dataclass(slots=True)
class Blocked:
    """The pods that have no place in the end, by workload, and why; nominated are nodes by UID."""

    snapshot: pb.Snapshot
    proof: Proof
    unjudged: Mapping[str, str]
    nominated: Mapping[str, str]
    now: Outcome
    found: Outcome
    helped: Helped | None = None

    def workloads(self) -> tuple[StillPending, ...]:
        """Return them in the order of their names."""
        immovable = Immovable(self.snapshot)
        classes = {one.id: one for one in self.snapshot.pod_classes}
        left = defaultdict[str, list[str]](list)
        for pod in self.snapshot.pods:
            if not pod.node and pod.uid not in self.found.placed:
                left[pod.class_id].append(pod.uid)
        placed = (classes[pod.class_id].priority for pod in self.snapshot.pods if pod.uid in self.found.placed)
        highest = max(placed, default=None)
        ordered = sorted(left.items(), key=lambda item: _name(classes[item[0]]))
        return tuple(self._still(immovable, classes[class_id], uids, highest) for class_id, uids in ordered)

    def _still(self, immovable: Immovable, one: pb.PodClass, uids: Sequence[str], highest: int | None) -> StillPending:
        large_enough, rules = immovable.room_for(one.requests)
        changes: list[str] = []
        if self.helped is not None and one.id in self.helped.classes:
            rules, changes = self.helped.rules, [*self.helped.changes]
        elif self.helped is not None and self.helped.everyone:
            # Room that a rule keeps is not enough: something else is in the way.
            rules = ()
        changes += [f"the rule {rule}" for rule in rules if rule in CHANGEABLE]
        proof, aside = self.proof, next(iter(self.proof.others), "")
        promised = next((self.nominated[uid] for uid in uids if uid in self.nominated), "")
        verdicts = (
            (one.id in self.unjudged, NOT_JUDGED, f"not judged: {self.unjudged.get(one.id)}"),
            (not large_enough, TOO_LARGE, "no node is large enough, even when empty"),
            (promised, OPEN, f"promised the node {promised}, where room is to come free"),
            (not proof.holds, NOT_FOUND, f"no plan{''.join(f' {limit}' for limit in proof.limits)} was found in time"),
            (aside, OPEN, f"the best plan places none; this leaves aside {aside}"),
            (proof.limits, LIMITED, f"no plan {' '.join(proof.limits)} places more: proved"),
            # Had no pod of that priority or above a place, a plan that places one would be better.
            (
                highest is not None and highest >= one.priority,
                BESIDE,
                "no plan places more pods: proved; another may place these",
            ),
            (True, PROVED, "no plan places it: proved"),
        )
        verdict, reason = next((verdict, reason) for holds, verdict, reason in verdicts if holds)
        if verdict == NOT_FOUND:
            changes.append("the time limit")
        now, after = (
            next((end.reasons[uid] for uid in uids if uid in end.reasons), "") for end in (self.now, self.found)
        )
        changed = tuple(dict.fromkeys(changes))
        return StillPending(_name(one), len(uids), verdict, reason, rules, now, after, changed)


def _name(one: pb.PodClass) -> str:
    return f"{one.namespace}/{one.owner.name or one.id}"
