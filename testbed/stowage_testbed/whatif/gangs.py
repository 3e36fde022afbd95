"""Gangs that wait: whether each is placed as things are, or by a plan, and which moves make room for it."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.whatif.findings import WaitingGang
from stowage_testbed.whatif.outcome import TERMINATING, Outcome


def waiting_gangs(
    snapshot: pb.Snapshot, now: Outcome, found: Outcome, unjudged: Mapping[str, str]
) -> tuple[WaitingGang, ...]:
    """Return the gangs that have fewer pods with a node than they need, by name.

    ``unjudged`` says why some classes are not judged. Groups of which a single pod is enough are none.
    """
    needs = {one.id: one.min_count for one in snapshot.gangs if one.min_count > 1}
    gang_of = {one.id: one.gang for one in snapshot.pod_classes if one.gang in needs}
    members = defaultdict[str, list[pb.Pod]](list)
    for pod in snapshot.pods:
        if pod.class_id in gang_of and pod.immovable_reason != TERMINATING:
            members[gang_of[pod.class_id]].append(pod)
    gangs = []
    for gang in sorted(members):
        pods, least = members[gang], needs[gang]
        before = sum(bool(pod.node) for pod in pods)
        if before >= least:
            continue
        after = _count_placed(pods, found)
        moves, evictions = _making_room(pods, found) if after >= least else (0, 0)
        gangs.append(
            WaitingGang(
                gang,
                len(pods),
                least,
                before,
                _count_placed(pods, now),
                after,
                moves,
                evictions,
                "" if after >= least else _why(pods, least, now, found, unjudged),
            )
        )
    return tuple(gangs)


def _count_placed(pods: Sequence[pb.Pod], outcome: Outcome) -> int:
    """Return how many pods have a node in the end."""
    gone = {one.pod_uid for one in outcome.plan.evictions}
    return sum(pod.uid in outcome.placed or (bool(pod.node) and pod.uid not in gone) for pod in pods)


def _making_room(pods: Sequence[pb.Pod], found: Outcome) -> tuple[int, int]:
    """Return how many moves and evictions clear the nodes on which pods arrive, also those that make room for moves."""
    cleared = {found.placed[pod.uid] for pod in pods if pod.uid in found.placed}
    others, made = list(found.plan.moves), 0
    while making := [one for one in others if one.from_node in cleared]:
        others = [one for one in others if one.from_node not in cleared]
        cleared |= {one.to_node for one in making}
        made += len(making)
    return made, sum(one.node in cleared for one in found.plan.evictions)


def _why(pods: Sequence[pb.Pod], least: int, now: Outcome, found: Outcome, unjudged: Mapping[str, str]) -> str:
    if len(pods) < least:
        return f"only {len(pods)} of the {least} pods that it needs exist"
    waiting = [pod for pod in pods if not pod.node]
    refused = (f"not judged: {unjudged[pod.class_id]}" for pod in waiting if pod.class_id in unjudged)
    said = (reasons[pod.uid] for reasons in (found.reasons, now.reasons) for pod in waiting if pod.uid in reasons)
    return next(refused, "") or next(said, "")
