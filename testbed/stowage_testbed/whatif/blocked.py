"""What blocks pods that wait, and how far that is proved."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.amounts.message import resources_of
from stowage_testbed.amounts.resources import ONE_POD
from stowage_testbed.api.label_selector import selects
from stowage_testbed.text.lines import count
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
    Tier,
)
from stowage_testbed.whatif.inventory import SELECTS_NAMESPACES, Manifest
from stowage_testbed.whatif.outcome import TERMINATING, Outcome, unjudged_running
from stowage_testbed.whatif.release import limit_in_words

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


@dataclass(frozen=True, slots=True)
class Aside:
    """What plans were looked for without, and what a proof is thus not about.

    See `Proposal` for pairs, dropped, alike.
    """

    about: str
    classes: Mapping[str, str]
    of_unread: Mapping[str, str] = field(default_factory=dict)
    limits: tuple[str, ...] = ()
    pairs: int = 0
    dropped: int = 0
    alike: bool = False
    budgets_unread: bool = False
    left_out: int = 0
    unknown: int = 0


def refused_classes(snapshot: pb.Snapshot, refusals: Iterable[pb.Refusal], unread: Mapping[str, str]) -> dict[str, str]:
    """Return the pod classes that no plan contains, and why."""
    refused = {
        one.subject.removeprefix("class "): one.detail or one.reason
        for one in refusals
        if one.subject.startswith("class ")
    }
    refused |= {one.id: f"it needs {', '.join(one.unsupported)}" for one in snapshot.pod_classes if one.unsupported}
    return refused | {pod.class_id: unread[pod.uid] for pod in snapshot.pods if pod.uid in unread}


def proof_of(snapshot: pb.Snapshot, plan: pb.Plan, found: Outcome, tiers: Iterable[Tier], aside: Aside) -> Proof:
    """Return what is proved of the outcome: by the optimiser, or since nobody moves and each tier is at its limit."""
    waiting = [pod for pod in snapshot.pods if not pod.node]
    if not waiting or (len(found.placed) == len(waiting) and not found.disruptions):
        return Proof(True, aside.about)
    classes = {pod.uid: pod.class_id for pod in snapshot.pods}
    planned = {one.pod_uid for one in plan.placements}
    # The plan must be all that happens to pods that it judged.
    by_plan = (
        list(found.moves) == list(plan.moves)
        and list(found.evictions) == list(plan.evictions)
        and all(uid in found.placed for uid in planned)
        and all(classes[uid] in aside.classes for uid in found.added - planned)
    )
    at_limit = not found.disruptions and all(one.after == one.at_most for one in tiers)
    return Proof(
        holds=(by_plan and plan.optimal) or at_limit,
        about=aside.about,
        not_about=(*aside.limits, *_left_aside(snapshot, found, aside)),
        limits=aside.limits,
    )


def _left_aside(snapshot: pb.Snapshot, found: Outcome, aside: Aside) -> Iterator[str]:
    left = [pod for pod in snapshot.pods if not pod.node and pod.uid not in found.placed]
    running = [pod for pod in snapshot.pods if pod.node]
    unjudged = sum(pod.class_id in aside.classes for pod in left)
    if unjudged:
        one = unjudged == 1
        yield f"{count(unjudged, 'pod')} that {'waits and was' if one else 'wait and were'} not judged"
    yield from unjudged_running(snapshot, aside.classes)
    selecting = sum(aside.of_unread.get(pod.uid) == SELECTS_NAMESPACES for pod in running)
    if selecting:
        yield f"{count(selecting, 'running pod')} whose affinity selects namespaces, the labels of which were not read"
    leaving = sum(pod.immovable_reason == TERMINATING for pod in running)
    if leaving and left:
        yield f"{count(leaving, 'pod')} that {'is' if leaving == 1 else 'are'} leaving, whose room comes free"
    if aside.dropped:
        yield (
            f"{count(aside.dropped, 'waiting pod')} with preemptionPolicy Never, for "
            "which plans would have evicted others"
        )
    if aside.alike and found.disruptions:
        yield "which priorities the moved pods have"
    if aside.budgets_unread and found.disruptions:
        yield "disruption budgets, which could not be read"
    for number, what, why in (
        (aside.pairs, "placement", "that a plugin refused in one plan"),
        (aside.left_out, "object", "that could not be taken in"),
        (aside.unknown, "field", "that the scheduler does not know"),
    ):
        if number:
            yield f"{count(number, what)} {why}"


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


@dataclass(frozen=True, slots=True)
class Bounds:
    """What bounds a plan besides rules: limits by name, and budgets, for pods with these labels, by UID."""

    limits: Mapping[str, int]
    budgets: Sequence[Manifest]
    labels: Mapping[str, Mapping[str, str]]


def helped(snapshot: pb.Snapshot, plan: pb.Plan, found: Outcome, bounds: Bounds) -> Helped:
    """Return whom a plan for the snapshot `without_rules` places beside those with a place."""
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
    for budget in bounds.budgets:
        selector = (budget.get("spec") or {}).get("selector")
        allowed = (budget.get("status") or {}).get("disruptionsAllowed") or 0
        covered = sum(
            selector is not None
            and pod.namespace == budget["metadata"].get("namespace", "default")
            and selects(selector, bounds.labels.get(pod.uid, {}))
            and not pod.exempt_from_budget
            for pod in disrupted
        )
        if covered > allowed:
            changes.append(f"the budget {budget['metadata']['name']}, which allows {allowed}")
    for name, number in (("maxMoves", len(plan.moves)), ("maxEvictions", len(plan.evictions))):
        if number > bounds.limits.get(name, number):
            changes.append(f"the limit of {limit_in_words(name, bounds.limits[name])}")
    return Helped(gained, tuple(rules), tuple(changes), plan.optimal)


class Immovable:
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
            self._examples.setdefault(pod.immovable_reason, f"{pod.namespace}/{pod.name}")
            self._rules[pod.node].add(pod.immovable_reason)
            self._left[pod.node] -= takes[pod.class_id]

    def in_the_way_of(self, requests: pb.Resources) -> tuple[str, ...]:
        """Return the rules for one of which a pod that large finds no room on a node."""
        asked = resources_of(requests) + ONE_POD
        blocking = {
            rule
            for node, rules in self._rules.items()
            if asked.fits(self._nodes[node]) and not asked.fits(self._left[node])
            for rule in rules
        }
        return tuple(sorted(blocking))

    def by_rule(self) -> tuple[Kept, ...]:
        """Return the rules, the one with most pods first."""
        return tuple(Kept(rule, pods, self._examples[rule]) for rule, pods in self._pods.most_common())

    def large_enough(self, requests: pb.Resources) -> bool:
        """Return whether any node has so much when it is empty."""
        asked = resources_of(requests) + ONE_POD
        return any(asked.fits(node) for node in set(self._nodes.values()))


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
    _immovable: Immovable = field(init=False)
    _rules: dict[bytes, tuple[bool, tuple[str, ...]]] = field(init=False, default_factory=dict)

    def workloads(self) -> tuple[StillPending, ...]:
        """Return them in the order of their names."""
        self._immovable = Immovable(self.snapshot)
        classes = {one.id: one for one in self.snapshot.pod_classes}
        left = defaultdict[str, list[str]](list)
        for pod in self.snapshot.pods:
            if not pod.node and pod.uid not in self.found.placed:
                left[pod.class_id].append(pod.uid)
        placed = (classes[pod.class_id].priority for pod in self.snapshot.pods if pod.uid in self.found.placed)
        highest = max(placed, default=None)
        ordered = sorted(left.items(), key=lambda item: _name(classes[item[0]]))
        return tuple(self._still(classes[class_id], uids, highest) for class_id, uids in ordered)

    def _still(self, one: pb.PodClass, uids: Sequence[str], highest: int | None) -> StillPending:
        # Many workloads ask for the same; each amount is compared with the nodes once.
        asked = one.requests.SerializeToString(deterministic=True)
        if asked not in self._rules:
            blocking = self._immovable.large_enough(one.requests), self._immovable.in_the_way_of(one.requests)
            self._rules[asked] = blocking
        large_enough, rules = self._rules[asked]
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
