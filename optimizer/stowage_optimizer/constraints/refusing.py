"""What a strategy cannot take in, named and refused.

Anti-affinity works both ways: a pod that runs keeps away the pods its terms select, so
their classes are refused too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stowage_optimizer.constraints.pod_selection import undecided
from stowage_optimizer.constraints.shared_dimensions import AntiAffinityRule
from stowage_optimizer.model.pod_class import PodClass
from stowage_optimizer.model.snapshot import Refusal, Snapshot


def class_refusal(pod_class: PodClass, reason: str, detail: str) -> tuple[str, Refusal]:
    """Return the id of ``pod_class`` and the refusal that names it."""
    return pod_class.id, Refusal(f"class {pod_class.id}", reason, detail)


NO_CAPACITY = "is no capacity: no pod moves for its pods, and they do not move"


def refuse_pod_affinity(snapshot: Snapshot) -> Iterator[tuple[str, Refusal]]:
    """Yield the classes that have required pod affinity of their own."""
    for pod_class in snapshot.classes.values():
        if pod_class.required_pod_affinity:
            yield class_refusal(
                pod_class, "pod-affinity", f"required pod affinity {NO_CAPACITY}"
            )


def refuse_anti_affinity(
    snapshot: Snapshot, others: Sequence[AntiAffinityRule]
) -> Iterator[tuple[str, Refusal]]:
    """Yield the carriers of ``others``, and classes that running ones keep off."""
    running = {pod.class_id for pod in snapshot.pods if pod.node is not None}
    for rule in others:
        yield class_refusal(
            snapshot.classes[rule.carrier],
            "pod-anti-affinity",
            f"anti-affinity over {rule.term.topology_key} {NO_CAPACITY}",
        )
        if rule.carrier in running:
            for selected in sorted(rule.selected):
                yield class_refusal(
                    snapshot.classes[selected],
                    "kept-away",
                    f"running pods of class {rule.carrier} have anti-affinity to it",
                )


def refuse_undecided(
    snapshot: Snapshot, others: Sequence[AntiAffinityRule]
) -> Iterator[tuple[str, Refusal]]:
    """Yield the classes whose terms ask for namespaces that the snapshot lacks."""
    detail = "its namespace selector needs labels that the snapshot lacks"
    for pod_class in snapshot.classes.values():
        if any(undecided(snapshot, term) for term in pod_class.required_pod_affinity):
            yield class_refusal(pod_class, "pod-affinity", detail)
    yield from refuse_anti_affinity(
        snapshot, [one for one in others if undecided(snapshot, one.term)]
    )


def refuse_topology_spread(snapshot: Snapshot) -> Iterator[tuple[str, Refusal]]:
    """Yield the classes with a spread constraint that says DoNotSchedule."""
    for pod_class in snapshot.classes.values():
        hard = [spread for spread in pod_class.topology_spread if spread.hard]
        if hard:
            keys = ", ".join(spread.topology_key for spread in hard)
            yield class_refusal(
                pod_class,
                "topology-spread",
                f"spread over {keys} {NO_CAPACITY}",
            )


def refuse_unsupported(snapshot: Snapshot) -> Iterator[tuple[str, Refusal]]:
    """Yield the classes that name needs beyond the contract."""
    for pod_class in snapshot.classes.values():
        if pod_class.unsupported:
            needs = ", ".join(pod_class.unsupported)
            yield class_refusal(
                pod_class, "unsupported", f"needs what a plan cannot give: {needs}"
            )
