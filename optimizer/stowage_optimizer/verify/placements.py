"""No pod comes to a node that refuses it, lacks room, or has its port taken."""

from collections import defaultdict
from collections.abc import Iterator

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.verify.case import Case
from stowage_optimizer.verify.index import amounts
from stowage_optimizer.verify.violation import Violation


def check_eligibility(case: Case) -> Iterator[Violation]:
    """Yield each arrival that a cordon, taint, selector or refusal forbids."""
    for (class_id, node), uids in case.arrivals.items():
        problems = case.index.eligibility.problems(class_id, node)
        for uid in uids if problems else ():
            for problem in problems:
                yield Violation("eligibility", uid, f"on {node}: {problem}")


def check_capacity(case: Case) -> Iterator[Violation]:
    """Yield each node and resource that arriving pods overfill.

    A node may be overcommitted before the plan; what matters is that no pod which
    asks for a scarce resource is added to it.
    """
    index = case.index
    scarce = {
        (node, name)
        for class_id, node in case.arrivals
        for name, _ in index.asked_for[class_id]
        if case.free[name][index.number[node]] < 0
    }
    for node, name in sorted(scarce):
        room = amounts(case.nodes[node].allocatable)[name]
        taken = room - case.free[name][index.number[node]]
        yield Violation("capacity", node, f"{taken} of {name} used, {room} allocatable")


ALL = "0.0.0.0"  # noqa: S104 - the API's word for every address


def check_ports(case: Case) -> Iterator[Violation]:
    """Yield each arrival whose ports clash with those of another pod there."""
    classes = {class_id for class_id, _ in case.arrivals}
    rivals = {one: found for one in classes if (found := port_rivals(case, one))}
    holders: defaultdict[str, list[str]] = defaultdict(list)
    for rival in sorted({one for found in rivals.values() for one in found}):
        for uid in case.index.members[rival]:
            holders[case.after(uid)].append(uid)
    for (class_id, node), uids in case.arrivals.items():
        if class_id not in rivals:
            continue
        for uid in uids:
            for other in holders[node]:
                if other != uid and case.class_id(other) in rivals[class_id]:
                    yield Violation("host-ports", uid, f"on {node}: {other} has its port")


def port_rivals(case: Case, class_id: str) -> set[str]:
    """Return the classes whose pods take a port of pods of the class."""
    wanted = case.classes[class_id].host_ports
    if not wanted:
        return set()
    return {
        other
        for other in case.index.listening
        if any(clash(a, b) for a in wanted for b in case.classes[other].host_ports)
    }


def clash(one: pb.HostPort, other: pb.HostPort) -> bool:
    """Return whether no two pods on a node may have these ports."""
    if one.port != other.port or (one.protocol or "TCP") != (other.protocol or "TCP"):
        return False
    addresses = {one.host_ip or ALL, other.host_ip or ALL}
    return ALL in addresses or len(addresses) == 1
