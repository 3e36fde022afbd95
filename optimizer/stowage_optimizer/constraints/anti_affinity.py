"""Required anti-affinity between pods, as dimensions where that is exact.

A term works both ways: pods that carry it and pods that it selects keep apart,
whichever comes second. Where each node is a domain of its own, as with host names, and
the carriers select each other, that is a capacity: a carrier takes all of it and a
selected pod one unit, of as many units as there are pods to select. So a carrier fits
beside no other pod, and the selected pods fit beside each other.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from stowage_optimizer.constraints.pod_selection import PodIndex, undecided
from stowage_optimizer.constraints.shared_dimension import SharedDimension
from stowage_optimizer.constraints.topology import domains, each_its_own
from stowage_optimizer.model.pod_class import PodAffinityTerm
from stowage_optimizer.model.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class AntiAffinityRule:
    """One term: pods of ``carrier`` keep away from those of ``selected`` classes."""

    carrier: str
    term: PodAffinityTerm
    selected: frozenset[str]


@dataclass(frozen=True, slots=True)
class AntiAffinity:
    """Every anti-affinity of a snapshot.

    Parameters
    ----------
    dimensions
        Those that are capacities.
    others
        Those that are not.
    """

    dimensions: tuple[SharedDimension, ...]
    others: tuple[AntiAffinityRule, ...]


def anti_affinity(snapshot: Snapshot, present: Counter[str]) -> AntiAffinity:
    """Return the anti-affinity of the pods in ``present``, counted by class id."""
    others: list[AntiAffinityRule] = []
    groups: defaultdict[tuple[str, frozenset[str]], list[AntiAffinityRule]] = (
        defaultdict(list)
    )
    unique: dict[str, bool] = {}
    for rule in _terms(snapshot, present):
        key = rule.term.topology_key
        if key not in unique:
            unique[key] = each_its_own(snapshot.nodes, key)
        if unique[key] and not undecided(snapshot, rule.term):
            groups[key, rule.selected].append(rule)
        else:
            others.append(rule)
    dimensions: dict[tuple[object, ...], SharedDimension] = {}
    for (key, selected), members in groups.items():
        unlimited = _without(snapshot, key)
        for takes in _capacities(members, selected, present, others):
            signature = (key, tuple(sorted(takes.items())))
            dimensions[signature] = SharedDimension(
                takes, max(takes.values()), unlimited
            )
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
    members: Sequence[AntiAffinityRule],
    selected: frozenset[str],
    present: Counter[str],
    others: list[AntiAffinityRule],
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
    return frozenset(
        index
        for index, domain in enumerate(domains(snapshot.nodes, key))
        if domain is None
    )


def _takings(
    carriers: set[str], selected: frozenset[str], present: Counter[str]
) -> dict[str, int]:
    """Return what carriers, which all keep apart, and selected pods take."""
    units = max(1, _count(selected - carriers, present))
    if len(carriers) == 1 and not carriers & selected and units == 1:
        # One pod is selected, by carriers that need not keep apart themselves.
        (carrier,) = carriers
        return {carrier: 1, **dict.fromkeys(sorted(selected), max(1, present[carrier]))}
    return dict.fromkeys(sorted(selected), 1) | dict.fromkeys(sorted(carriers), units)


def _count(classes: Iterable[str], present: Counter[str]) -> int:
    return sum(present[class_id] for class_id in classes)
