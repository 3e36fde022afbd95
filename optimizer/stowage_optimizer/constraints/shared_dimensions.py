"""Constraints between the pods of one node, put as more things that nodes offer.

Every strategy and every bound knows capacities; what a capacity expresses exactly costs
them nothing.

Host ports (the NodePorts filter): two pods clash if they take the same port of the same
protocol, and the address is the same or one of them takes every address. With one
dimension an address, of which pods for every address take all, pods clash exactly when
a dimension overflows.

Required anti-affinity works both ways: pods that carry a term and pods that it selects
keep apart, whichever comes second. Where each node is a domain of its own, as with host
names, and the carriers select each other, that is a capacity: a carrier takes all of it
and a selected pod one unit, of as many units as there are pods to select. So a carrier
fits beside no other pod, and the selected pods fit beside each other.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from stowage_optimizer.constraints.pod_selection import PodIndex, domains, each_its_own
from stowage_optimizer.model.pod_class import HostPort, PodAffinityTerm
from stowage_optimizer.model.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class SharedDimension:
    """One more dimension of every node.

    Parameters
    ----------
    takes
        What one pod takes, by class id; others take nothing.
    unlimited
        Indices of the nodes that the constraint does not concern.
    """

    takes: Mapping[str, int]
    capacity: int
    unlimited: frozenset[int] = frozenset()

    def offer(self, node: int, present: Counter[str]) -> int:
        """Return what the node of index ``node`` offers.

        Parameters
        ----------
        present
            Pods of the snapshot by class id; an unlimited node has room for all.
        """
        if node not in self.unlimited:
            return self.capacity
        return sum(amount * present[name] for name, amount in self.takes.items())


EVERY_ADDRESS = "0.0.0.0"  # noqa: S104 - what the API calls every address
DEFAULT_PROTOCOL = "TCP"

Takers = dict[str, set[str]]
"""Ids of the classes that take a port, by address."""


def port_dimensions(snapshot: Snapshot, present: Counter[str]) -> tuple[SharedDimension, ...]:
    """Return the fewest dimensions that keep apart all pods whose ports clash.

    Parameters
    ----------
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


@dataclass(frozen=True, slots=True)
class AntiAffinityRule:
    """One term: pods of ``carrier`` keep away from those of ``selected`` classes."""

    carrier: str
    term: PodAffinityTerm
    selected: frozenset[str]


@dataclass(frozen=True, slots=True)
class AntiAffinity:
    """Every anti-affinity of a snapshot."""

    dimensions: tuple[SharedDimension, ...]
    others: tuple[AntiAffinityRule, ...]


def anti_affinity(snapshot: Snapshot, present: Counter[str]) -> AntiAffinity:
    """Return the anti-affinity of the pods in ``present``, counted by class id."""
    others: list[AntiAffinityRule] = []
    groups: defaultdict[tuple[str, frozenset[str]], list[AntiAffinityRule]] = defaultdict(list)
    unique: dict[str, bool] = {}
    for rule in _terms(snapshot, present):
        key = rule.term.topology_key
        if key not in unique:
            unique[key] = each_its_own(snapshot.nodes, key)
        if unique[key]:
            groups[key, rule.selected].append(rule)
        else:
            others.append(rule)
    dimensions: dict[tuple[object, ...], SharedDimension] = {}
    for (key, selected), members in groups.items():
        unlimited = _without(snapshot, key)
        for takes in _capacities(members, selected, present, others):
            signature = (key, tuple(sorted(takes.items())))
            dimensions[signature] = SharedDimension(takes, max(takes.values()), unlimited)
    return AntiAffinity(tuple(dimensions.values()), tuple(others))


def _terms(snapshot: Snapshot, present: Counter[str]) -> Iterator[AntiAffinityRule]:
    """Yield the terms that select some pod that is there."""
    index = PodIndex(snapshot, present)
    for class_id in present:
        carrier = snapshot.classes[class_id]
        for term in carrier.required_pod_anti_affinity:
            selected = index.picked(term, carrier)
            if selected:
                yield AntiAffinityRule(class_id, term, selected)


def _capacities(
    members: Sequence[AntiAffinityRule], selected: frozenset[str], present: Counter[str], others: list[AntiAffinityRule]
) -> Iterator[dict[str, int]]:
    """Yield what each class takes; terms that no capacity expresses join ``others``."""
    inside = {one.carrier for one in members} & selected
    if inside:
        yield _takings(inside, selected, present)
    for rule in members:
        if rule.carrier in selected:
            continue
        if min(present[rule.carrier], _count(selected, present)) > 1:
            # Many of these or many of those, but never both: no capacity says that.
            others.append(rule)
        else:
            yield _takings({rule.carrier}, selected, present)


def _without(snapshot: Snapshot, key: str) -> frozenset[int]:
    return frozenset(index for index, domain in enumerate(domains(snapshot.nodes, key)) if domain is None)


def _takings(carriers: set[str], selected: frozenset[str], present: Counter[str]) -> dict[str, int]:
    """Return what carriers, which all keep apart, and selected pods take."""
    units = max(1, _count(selected - carriers, present))
    if len(carriers) == 1 and not carriers & selected and units == 1:
        # One pod is selected, by carriers that need not keep apart themselves.
        (carrier,) = carriers
        return {carrier: 1, **dict.fromkeys(sorted(selected), max(1, present[carrier]))}
    return dict.fromkeys(sorted(selected), 1) | dict.fromkeys(sorted(carriers), units)


def _count(classes: Iterable[str], present: Counter[str]) -> int:
    return sum(present[class_id] for class_id in classes)
