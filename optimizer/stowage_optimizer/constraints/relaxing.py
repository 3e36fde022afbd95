"""A snapshot without what pods demand of each other: easier, and never worse.

Whatever can be reached with affinity, spread and anti-affinity that is no capacity can
be reached without. So limits that are proved without them hold with them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace

from stowage_optimizer.constraints.pod_selection import undecided
from stowage_optimizer.constraints.shared_dimensions import anti_affinity
from stowage_optimizer.model.pod_class import PodAffinityTerm, PodClass
from stowage_optimizer.model.snapshot import Snapshot


def relaxed(snapshot: Snapshot) -> Snapshot:
    """Return ``snapshot`` without the relations that a packing can describe.

    What cannot be decided stays, so that it is refused by name as before; so does
    anti-affinity that is a capacity, and what is only preferred.
    """
    present = Counter(pod.class_id for pod in snapshot.pods)
    dropped: defaultdict[str, list[PodAffinityTerm]] = defaultdict(list)
    for one in anti_affinity(snapshot, present).others:
        if not undecided(snapshot, one.term):
            dropped[one.carrier].append(one.term)
    classes = {
        class_id: _without(snapshot, pod_class, dropped[class_id])
        for class_id, pod_class in snapshot.classes.items()
    }
    return replace(snapshot, classes=classes)


def _without(
    snapshot: Snapshot, pod_class: PodClass, dropped: Sequence[PodAffinityTerm]
) -> PodClass:
    affinity = pod_class.required_pod_affinity
    if not any(undecided(snapshot, term) for term in affinity):
        affinity = ()
    soft = tuple(spread for spread in pod_class.topology_spread if not spread.hard)
    if not (dropped or pod_class.required_pod_affinity or pod_class.topology_spread):
        return pod_class
    return replace(
        pod_class,
        required_pod_affinity=affinity,
        required_pod_anti_affinity=tuple(
            term
            for term in pod_class.required_pod_anti_affinity
            # Equal terms select the same pods: one of them is enough.
            if term not in dropped
        ),
        topology_spread=soft,
    )
