"""Gangs: a plan leaves enough pods of a gang with a node, or none, or the gang as it was."""

from collections import Counter, defaultdict
from collections.abc import Container, Iterator
from typing import NamedTuple

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.verify.case import Case
from stowage_optimizer.verify.index import Gang
from stowage_optimizer.verify.violation import Violation


class Together(NamedTuple):
    """The evicted pods of a gang, and how many must have been able to stay for that to be unjust."""

    uids: list[str]
    needed: int


def check_gangs(case: Case) -> Iterator[Violation]:
    """Yield gangs that a plan breaks, and steps that are of another unit than their gang."""
    plan = case.plan
    units = {one.pod_uid: one.unit for one in plan.placements}
    units |= {one.pod_uid: one.unit for one in plan.moves}
    units |= {one.pod_uid: one.unit for one in plan.evictions}
    gangs = case.index.gangs
    touched: dict[str, Gang] = {}
    for uid, *_, class_id, _ in case.touched.values():
        gang = gangs.get(class_id)
        if gang is not None:
            touched[gang.message.id] = gang
        unit = f"gang/{gang.message.id}" if gang is not None else ""
        if units[uid] != unit and (gang is not None or units[uid].startswith("gang/")):
            yield Violation("gang", uid, f"is of unit {units[uid] or '(none)'}, not of {unit or 'one of its own'}")
    for name, gang in touched.items():
        for problem in _problems(case, gang):
            yield Violation("gang", name, problem)


def _problems(case: Case, gang: Gang) -> Iterator[str]:
    """Yield what is wrong with a gang of which the plan changes something."""
    wanted, there = gang.message, _there(case, gang)
    if there and len(there) < wanted.min_count:
        yield f"{len(there)} of its pods have a node, fewer than {wanted.min_count}"
    if there and wanted.topology_key:
        domains = case.index.domains(wanted.topology_key)
        counts = Counter(domains.get(case.after(uid), "(none)") for uid in there)
        if len(counts) > 1 or "(none)" in counts:
            yield f"its pods are in several domains of {wanted.topology_key}: {', '.join(sorted(counts))}"
    if wanted.leaves_whole:
        running = [uid for uid in gang.uids if case.before(uid) and not is_terminating(case.pods[uid])]
        leaves = [uid for uid in running if case.after(uid) != case.before(uid)]
        if 0 < len(leaves) < len(running):
            yield f"{len(leaves)} of its {len(running)} running pods leave their node"


def _there(case: Case, gang: Gang) -> list[str]:
    """Return its pods that have a node after the plan."""
    return [uid for uid in gang.uids if case.after(uid) and not is_terminating(case.pods[uid])]


def is_terminating(pod: pb.Pod) -> bool:
    """Return whether the pod is being deleted, so that it does not count for its gang."""
    return bool(pod.node) and not pod.movable and pod.immovable_reason == "terminating"


def held_together(case: Case, class_id: str, disruptable: Container[str]) -> bool:
    """Return whether the gang of a class cannot leave as a whole, since some of its pods stay whatever happens.

    Parameters
    ----------
    disruptable
        The classes whose movable pods may be disrupted.
    """
    gang = case.index.gangs.get(class_id)
    if gang is None:
        return False
    counted = [uid for uid in gang.uids if case.before(uid) and not is_terminating(case.pods[uid])]
    fixed = sum(not case.pods[uid].movable or case.class_id(uid) not in disruptable for uid in counted)
    return bool(fixed) and (gang.message.leaves_whole or fixed < gang.message.min_count)


def leaving_together(case: Case) -> Iterator[Together]:
    """Yield the evicted pods of each gang that loses pods because of itself: it leaves, or shares a domain."""
    evicted: defaultdict[str, list[str]] = defaultdict(list)
    for one in case.evictions:
        gang = case.index.gangs.get(one.class_id)
        if gang is not None and one.home:
            evicted[gang.message.id].append(one.uid)
    gangs = {gang.message.id: gang for gang in case.index.gangs.values()}
    for name, uids in evicted.items():
        wanted = gangs[name].message
        if not _there(case, gangs[name]):
            yield Together(uids, len(uids) if wanted.leaves_whole else min(wanted.min_count, len(uids)))
        elif wanted.leaves_whole or wanted.topology_key:
            yield Together(uids, len(uids) + 1)
