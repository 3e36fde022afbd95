"""Host ports (the NodePorts filter), as dimensions that a node offers once each.

Two pods clash if they take the same port of the same protocol, and the address is the
same or one of them takes every address. With one dimension an address, of which pods
for every address take all, pods clash exactly when a dimension overflows.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from stowage_optimizer.constraints.shared_dimension import SharedDimension
from stowage_optimizer.model.pod_class import HostPort
from stowage_optimizer.model.snapshot import Snapshot

EVERY_ADDRESS = "0.0.0.0"  # noqa: S104 - what the API calls every address
DEFAULT_PROTOCOL = "TCP"

Takers = dict[str, set[str]]
"""Ids of the classes that take a port, by address."""


def port_dimensions(
    snapshot: Snapshot, present: Counter[str]
) -> tuple[SharedDimension, ...]:
    """Return the fewest dimensions that keep apart all pods whose ports clash.

    Parameters
    ----------
    snapshot
        The snapshot.
    present
        Its pods by class id; a port that one pod alone takes needs no dimension.
    """
    taken: defaultdict[tuple[str, int], Takers] = defaultdict(dict)
    for class_id in present:
        for port in snapshot.classes[class_id].host_ports:
            protocol = port.protocol or DEFAULT_PROTOCOL
            takers = taken[protocol, port.port]
            takers.setdefault(_address(port), set()).add(class_id)
    groups = {group for takers in taken.values() for group in _clashing(takers)}
    return tuple(
        SharedDimension(dict.fromkeys(sorted(group), 1), capacity=1)
        for group in sorted(_largest(groups), key=sorted)
        if sum(present[class_id] for class_id in group) > 1
    )


def _clashing(takers: Mapping[str, set[str]]) -> Iterable[frozenset[str]]:
    """Return the sets of classes of which each node may hold one pod."""
    everywhere = takers.get(EVERY_ADDRESS, set())
    addresses = [address for address in takers if address != EVERY_ADDRESS]
    if not addresses:
        return [frozenset(everywhere)]
    return [frozenset(everywhere | takers[address]) for address in addresses]


def _largest(groups: Iterable[frozenset[str]]) -> list[frozenset[str]]:
    """Return the groups that are not contained in another one."""
    largest: list[frozenset[str]] = []
    for group in sorted(groups, key=len, reverse=True):
        if not any(group <= other for other in largest):
            largest.append(group)
    return largest


def _address(port: HostPort) -> str:
    return port.host_ip or EVERY_ADDRESS
