"""No pod comes to a node on which one of its host ports is taken."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.verify.case import Case
from stowage_optimizer.verify.violation import Violation

ALL = "0.0.0.0"  # noqa: S104 - the API's word for every address


def check_ports(case: Case) -> Iterator[Violation]:
    """Yield each arrival whose ports clash with those of another pod there."""
    holders: defaultdict[str, list[str]] = defaultdict(list)
    wanting = {name for name, one in case.classes.items() if one.host_ports}
    if not wanting:
        return
    for uid, where in case.after.items():
        if where and case.class_of(uid).id in wanting:
            holders[where].append(uid)
    for pod, node in case.arrivals():
        for other in port_clashes(case, pod.uid, holders[node.name]):
            yield Violation(
                "host-ports", pod.uid, f"on {node.name}: {other} has its port"
            )


def port_clashes(case: Case, uid: str, others: Iterable[str]) -> Iterator[str]:
    """Yield the pods of ``others`` that take a port of the pod ``uid``."""
    wanted = case.class_of(uid).host_ports
    if not wanted:
        return
    for other in others:
        taken = case.class_of(other).host_ports
        if other != uid and any(_clash(a, b) for a in wanted for b in taken):
            yield other


def _clash(one: pb.HostPort, other: pb.HostPort) -> bool:
    if one.port != other.port or (one.protocol or "TCP") != (other.protocol or "TCP"):
        return False
    addresses = {one.host_ip or ALL, other.host_ip or ALL}
    return ALL in addresses or len(addresses) == 1
