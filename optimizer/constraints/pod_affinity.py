"""Required affinity between pods: named and refused, not yet expressed.

Anti-affinity works both ways: a pod that runs keeps away the pods its terms select,
so their classes are refused too. Where the snapshot cannot tell (namespace labels,
``match_label_keys``) the wider reading is taken.
"""

from __future__ import annotations

from collections.abc import Iterator

from optimizer.constraints.matching import selects
from optimizer.constraints.refusing import class_refusal
from optimizer.model.pod_class import PodAffinityTerm, PodClass
from optimizer.model.refusal import Refusal
from optimizer.model.snapshot import Snapshot


def refuse_pod_affinity(snapshot: Snapshot) -> Iterator[tuple[str, Refusal]]:
    """Yield the classes that have required pod affinity of their own."""
    for pod_class in snapshot.classes.values():
        if pod_class.required_pod_affinity:
            yield class_refusal(
                pod_class, "pod-affinity", "required pod affinity is not expressed"
            )
        if pod_class.required_pod_anti_affinity:
            yield class_refusal(
                pod_class,
                "pod-anti-affinity",
                "required pod anti-affinity is not expressed",
            )


def refuse_kept_away(snapshot: Snapshot) -> Iterator[tuple[str, Refusal]]:
    """Yield the classes that the anti-affinity of a running pod selects."""
    running = {pod.class_id for pod in snapshot.pods if pod.node is not None}
    for carrier in snapshot.classes.values():
        if carrier.id not in running:
            continue
        for term in carrier.required_pod_anti_affinity:
            for pod_class in snapshot.classes.values():
                if _may_select(term, carrier, pod_class):
                    yield class_refusal(
                        pod_class,
                        "kept-away",
                        f"running pods of class {carrier.id} have anti-affinity to it",
                    )


def _may_select(term: PodAffinityTerm, carrier: PodClass, pod_class: PodClass) -> bool:
    namespaces = term.namespaces
    if not namespaces and term.namespace_selector is None:
        namespaces = (carrier.namespace,)
    in_scope = term.namespace_selector is not None or pod_class.namespace in namespaces
    return in_scope and selects(term.label_selector, pod_class.labels)
