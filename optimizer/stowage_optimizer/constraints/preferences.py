"""What pods prefer: soft terms, which forbid nothing and break ties between plans.

Preferred node affinity counts by its weights, and so does preferred pod affinity, for
each pod that it finds in the domain. A taint with the effect PreferNoSchedule, and the
pods that a ScheduleAnyway spread counts, count against a node.
"""

from collections import Counter
from collections.abc import Collection, Hashable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stowage_optimizer.constraints.node_constraints import matches_term, tolerates
from stowage_optimizer.constraints.pod_selection import PodIndex, numbered
from stowage_optimizer.model.node import Node, TaintEffect
from stowage_optimizer.model.pod_class import PodClass
from stowage_optimizer.model.relations import NO_DOMAIN
from stowage_optimizer.model.snapshot import Snapshot

Ints = NDArray[np.int64]

TAINT_WEIGHT = 100
"""What a soft taint that is not tolerated counts: no less than any preference."""

SPREAD_WEIGHT = 10
"""What each pod counts that a soft spread finds in the domain."""


@dataclass(frozen=True, slots=True)
class PodPreference:
    """A preference of one class for being near some pods, or against it.

    Parameters
    ----------
    weight
        What each pod of ``selected`` in the domain counts; negative to be apart.
    domain_of
        Domain by node or ``NO_DOMAIN``, shape ``(nodes,)``.
    """

    carrier: str
    weight: int
    domain_of: Ints
    selected: frozenset[str]


@dataclass(frozen=True, slots=True)
class Preferences:
    """The preferences of some classes.

    Parameters
    ----------
    nodes
        What each node is worth to a class, shape ``(nodes,)``.
    """

    nodes: dict[str, Ints]
    pods: tuple[PodPreference, ...]


def has_preferences(snapshot: Snapshot) -> bool:
    """Return whether any class prefers anything."""
    return any(_prefers(one) for one in snapshot.classes.values()) or any(
        taint.effect is TaintEffect.PREFER_NO_SCHEDULE for node in snapshot.nodes for taint in node.taints
    )


def preferences_of(snapshot: Snapshot, class_ids: Collection[str]) -> Preferences:
    """Return what the classes of ``class_ids`` prefer."""
    present = Counter(snapshot.pods.class_id)
    index = PodIndex(snapshot, present)
    pods: list[PodPreference] = []
    nodes: dict[str, Ints] = {}
    known: dict[Hashable, Ints] = {}
    for class_id in class_ids:
        pod_class = snapshot.classes[class_id]
        key = (pod_class.preferred_node_affinity, pod_class.tolerations)
        if key not in known:
            known[key] = _worth(snapshot, pod_class)
        nodes[class_id] = known[key]
        pods += _for_pods(snapshot, index, pod_class)
        for preference in _for_spread(snapshot, index, pod_class):
            pods.append(preference)
            # Where the label is missing nothing is even: as bad as all of them.
            lacking = preference.domain_of == NO_DOMAIN
            found = sum(present[name] for name in preference.selected)
            nodes[class_id] = nodes[class_id] + lacking * preference.weight * found
    return Preferences(nodes, tuple(pods))


def _prefers(pod_class: PodClass) -> bool:
    return bool(
        pod_class.preferred_node_affinity
        or pod_class.preferred_pod_affinity
        or pod_class.preferred_pod_anti_affinity
        or any(not spread.hard for spread in pod_class.topology_spread)
    )


def _worth(snapshot: Snapshot, pod_class: PodClass) -> Ints:
    return np.array([_of_node(pod_class, node) for node in snapshot.nodes], np.int64)


def _of_node(pod_class: PodClass, node: Node) -> int:
    liked = sum(one.weight for one in pod_class.preferred_node_affinity if matches_term(one.term, node))
    disliked = sum(
        taint.effect is TaintEffect.PREFER_NO_SCHEDULE
        and not any(tolerates(one, taint) for one in pod_class.tolerations)
        for taint in node.taints
    )
    return liked - TAINT_WEIGHT * disliked


def _for_pods(snapshot: Snapshot, index: PodIndex, pod_class: PodClass) -> Iterator[PodPreference]:
    for sign, terms in ((1, pod_class.preferred_pod_affinity), (-1, pod_class.preferred_pod_anti_affinity)):
        for one in terms:
            yield PodPreference(
                pod_class.id,
                sign * one.weight,
                _domains(snapshot, one.term.topology_key),
                index.picked(one.term, pod_class),
            )


def _for_spread(snapshot: Snapshot, index: PodIndex, pod_class: PodClass) -> Iterator[PodPreference]:
    for spread in pod_class.topology_spread:
        if not spread.hard:
            yield PodPreference(
                pod_class.id,
                -SPREAD_WEIGHT,
                _domains(snapshot, spread.topology_key),
                index.spread_over(spread, pod_class),
            )


def _domains(snapshot: Snapshot, key: str) -> Ints:
    return np.array(numbered(snapshot.nodes, key), np.int64)
