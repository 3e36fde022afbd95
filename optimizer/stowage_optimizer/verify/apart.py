"""Pods that must be apart do not come together in one domain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from stowage_optimizer.verify.case import Case
from stowage_optimizer.verify.terms import term_speaks_of
from stowage_optimizer.verify.violation import Violation


@dataclass(frozen=True, slots=True)
class Feud:
    """Pods of the class ``carrier`` and of ``others`` share no domain of ``key``.

    ``wide`` says that the term chooses namespaces by their labels.
    """

    carrier: str
    key: str
    others: frozenset[str]
    wide: bool


def check_apart(case: Case) -> Iterator[Violation]:
    """Yield each arrival that brings two pods together that must be apart."""
    known = feuds(case)
    counted = {key: _by_domain(case, key) for key in {feud.key for feud in known}}
    for pod, node in case.arrivals():
        for feud in known:
            if feud.key not in node.labels:
                continue
            domain = node.labels[feud.key]
            for enemy in sorted(enemies(feud, pod.class_id)):
                present = counted[feud.key][domain, enemy] - (enemy == pod.class_id)
                if present > 0:
                    yield Violation(
                        "pod-anti-affinity",
                        pod.uid,
                        f"on {node.name}: {present} of class {enemy} are in "
                        f"{feud.key}={domain}",
                    )


def feuds(case: Case) -> list[Feud]:
    """Return every required anti-affinity of the pods in the snapshot."""
    there = case.present
    found = []
    for name in sorted(there):
        carrier = case.classes[name]
        for term in carrier.required_pod_anti_affinity:
            others = frozenset(
                other
                for other in there
                if term_speaks_of(case, term, carrier, case.classes[other])
            )
            if others:
                wide = term.HasField("namespace_selector")
                found.append(Feud(name, term.topology_key, others, wide))
    return found


def entangled(case: Case) -> set[str]:
    """Return the classes whose feuds reach beyond a node, or are not mutual.

    A strategy may leave such pods alone, though this checker knows how to judge them.
    """
    found: set[str] = set()
    for feud in feuds(case):
        values = [
            node.labels[feud.key]
            for node in case.nodes.values()
            if feud.key in node.labels
        ]
        shared = len(values) != len(set(values))
        if shared or feud.wide or feud.carrier not in feud.others:
            found |= {feud.carrier, *feud.others}
    return found


def enemies(feud: Feud, name: str) -> frozenset[str]:
    """Return the classes that pods of the class ``name`` may not meet."""
    found = feud.others if name == feud.carrier else frozenset()
    return found | {feud.carrier} if name in feud.others else found


def _by_domain(case: Case, key: str) -> Counter[tuple[str, str]]:
    domains = {
        name: node.labels[key]
        for name, node in case.nodes.items()
        if key in node.labels
    }
    return Counter(
        (domains[where], case.pods[uid].class_id)
        for uid, where in case.after.items()
        if where in domains
    )
