"""What is proved of a cluster: the optimiser's proof, and what it leaves aside."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.text.lines import count
from stowage_testbed.whatif.findings import Proof, Tier
from stowage_testbed.whatif.in_use import TERMINATING, UNSUPPORTED
from stowage_testbed.whatif.judged import SELECTS_NAMESPACES
from stowage_testbed.whatif.outcome import Outcome


@dataclass(frozen=True, slots=True)
class Aside:
    """What the plan was looked for without.

    Attributes
    ----------
    about
        Which pods and which plans it was about.
    classes
        Pod classes that were not judged, and why.
    of_unread
        Why pods cannot be judged since something was not read, by their UIDs.
    limits
        Limits on plans, in words.
    pairs
        Pairs of pods and nodes that a plugin refused within one plan.
    dropped
        Waiting pods that were dropped, since a plan evicted others for their sake.
    alike
        Whether the plan disrupts pods that were all taken for equally important.
    budgets_unread
        Whether disruption budgets exist that could not be read.
    left_out
        Objects that made no sense.
    unknown
        Fields that the scheduler does not know.
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
    for one in snapshot.pod_classes:
        if one.unsupported:
            refused[one.id] = f"it needs {', '.join(one.unsupported)}"
    for pod in snapshot.pods:
        if pod.uid in unread:
            refused[pod.class_id] = unread[pod.uid]
    return refused


def unjudged_running(
    snapshot: pb.Snapshot, refused: Mapping[str, str], nodes: frozenset[str] | None = None
) -> Iterator[str]:
    """Yield, in words, the running pods that no plan moves although no rule keeps them.

    Plans that would move them were not judged, so a proof says nothing of these.

    Parameters
    ----------
    refused
        The pod classes that no plan contains, and why.
    nodes
        Only pods on these count; ``None`` is all.
    """
    held = Counter(
        refused[pod.class_id]
        for pod in snapshot.pods
        if pod.node
        and (nodes is None or pod.node in nodes)
        and pod.class_id in refused
        and (pod.movable or pod.immovable_reason == UNSUPPORTED)
    )
    for why, pods in held.items():
        yield f"{count(pods, 'running pod')} that no plan could move: {why}"


def proof_of(snapshot: pb.Snapshot, plan: pb.Plan, found: Outcome, tiers: Iterable[Tier], aside: Aside) -> Proof:
    """Return what is proved of the outcome.

    The optimiser's proof is about its own plan. Besides, nothing is better than an
    outcome without disruptions in which each tier is at its proved limit.
    """
    waiting = [pod for pod in snapshot.pods if not pod.node]
    if not waiting or (len(found.placed) == len(waiting) and not found.disruptions):
        return Proof(True, aside.about)
    by_plan = _is_by_plan(snapshot, plan, found, aside)
    at_limit = not found.disruptions and all(one.after == one.at_most for one in tiers)
    return Proof(
        holds=(by_plan and plan.optimal) or at_limit,
        about=aside.about,
        not_about=(*aside.limits, *_left_aside(snapshot, found, aside)),
        limits=aside.limits,
    )


def _is_by_plan(snapshot: pb.Snapshot, plan: pb.Plan, found: Outcome, aside: Aside) -> bool:
    """Return whether the optimiser's plan is all that happens to pods it judged."""
    classes = {pod.uid: pod.class_id for pod in snapshot.pods}
    beside = found.added - {one.pod_uid for one in plan.placements}
    return (
        list(found.moves) == list(plan.moves)
        and list(found.evictions) == list(plan.evictions)
        and all(one.pod_uid in found.placed for one in plan.placements)
        and all(classes[uid] in aside.classes for uid in beside)
    )


def _left_aside(snapshot: pb.Snapshot, found: Outcome, aside: Aside) -> Iterator[str]:
    waiting = [pod for pod in snapshot.pods if not pod.node]
    left = [pod for pod in waiting if pod.uid not in found.placed]
    running = [pod for pod in snapshot.pods if pod.node]
    unjudged = sum(pod.class_id in aside.classes for pod in left)
    if unjudged:
        yield (
            f"{unjudged:,} pods that wait and were not judged"
            if unjudged > 1
            else "1 pod that waits and was not judged"
        )
    yield from unjudged_running(snapshot, aside.classes)
    selecting = sum(aside.of_unread.get(pod.uid) == SELECTS_NAMESPACES for pod in running)
    if selecting:
        yield (
            f"{count(selecting, 'running pod')} whose affinity selects namespaces, the labels of which were not read"
        )
    leaving = sum(pod.immovable_reason == TERMINATING for pod in running)
    if leaving and left:
        yield (
            f"{leaving:,} pods that are leaving, whose room comes free"
            if leaving > 1
            else "1 pod that is leaving, whose room comes free"
        )
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
