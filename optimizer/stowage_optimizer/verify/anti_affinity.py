"""Pods that must be apart do not come together in one domain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from stowage_optimizer.verify.case import Case
from stowage_optimizer.verify.terms import term_speaks_of
from stowage_optimizer.verify.violation import Violation


@dataclass(frozen=True, slots=True)
class AntiAffinityRule:
    """Pods of the class ``carrier`` and of ``others`` share no domain of ``key``."""

    carrier: str
    key: str
    others: frozenset[str]


def check_anti_affinity(case: Case) -> Iterator[Violation]:
    """Yield each arrival that puts two conflicting pods into one domain."""
    known = anti_affinity_rules(case)
    counted = {key: _by_domain(case, key) for key in {rule.key for rule in known}}
    for pod, node in case.arrivals():
        for rule in known:
            if rule.key not in node.labels:
                continue
            domain = node.labels[rule.key]
            for conflicting in sorted(conflicting_classes(rule, pod.class_id)):
                present = counted[rule.key][domain, conflicting] - (
                    conflicting == pod.class_id
                )
                if present > 0:
                    yield Violation(
                        "pod-anti-affinity",
                        pod.uid,
                        f"on {node.name}: {present} of class {conflicting} are in "
                        f"{rule.key}={domain}",
                    )


def anti_affinity_rules(case: Case) -> list[AntiAffinityRule]:
    """Return every required anti-affinity of the pods in the snapshot."""
    there = case.present
    found = []
    for name in sorted(there):
        carrier = case.classes[name]
        for term in carrier.required_pod_anti_affinity:
            others = frozenset(
                other
                for other in there
                if term_speaks_of(term, carrier, case.classes[other])
            )
            if others:
                found.append(AntiAffinityRule(name, term.topology_key, others))
    return found


def inexpressible_classes(case: Case) -> set[str]:
    """Return the classes whose anti-affinity reaches beyond a node, or is not mutual.

    A strategy may leave such pods alone, though this checker can check them.
    """
    found: set[str] = set()
    for rule in anti_affinity_rules(case):
        values = [
            node.labels[rule.key]
            for node in case.nodes.values()
            if rule.key in node.labels
        ]
        shared = len(values) != len(set(values))
        if shared or rule.carrier not in rule.others:
            found |= {rule.carrier, *rule.others}
    return found


def conflicting_classes(rule: AntiAffinityRule, name: str) -> frozenset[str]:
    """Return the classes that pods of the class ``name`` may not meet."""
    found = rule.others if name == rule.carrier else frozenset()
    return found | {rule.carrier} if name in rule.others else found


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
