"""Pods that must be apart do not come together in one domain."""

from collections import Counter
from collections.abc import Iterator

from stowage_optimizer.verify.case import Case
from stowage_optimizer.verify.violation import Violation


def check_anti_affinity(case: Case) -> Iterator[Violation]:
    """Yield each arrival that puts two conflicting pods into one domain."""
    apart = case.index.apart
    coming = {class_id for class_id, _ in case.arrivals}
    met = {(key, one) for name in coming for key, them in apart.get(name, ()) for one in them}
    counted = {pair: _by_domain(case, *pair) for pair in met}
    for (class_id, node), uids in case.arrivals.items():
        for key, conflicting in apart.get(class_id, ()):
            domain = case.index.domains(key).get(node)
            if domain is None:
                continue
            for other in conflicting:
                present = counted[key, other][domain] - (other == class_id)
                if present > 0:
                    for uid in uids:
                        yield Violation(
                            "pod-anti-affinity", uid, f"on {node}: {present} of class {other} are in {key}={domain}"
                        )


def _by_domain(case: Case, key: str, class_id: str) -> Counter[str]:
    domains = case.index.domains(key)
    return Counter(domains[node] for uid in case.index.members[class_id] if (node := case.after(uid)) in domains)


def inexpressible_classes(case: Case) -> set[str]:
    """Return the classes whose anti-affinity reaches beyond a node, or is not mutual.

    A strategy may leave such pods alone, though this checker can check them.
    """
    rules = case.index.anti_affinity
    shared = {}
    for key in {rule.key for rule in rules}:
        values = case.index.domains(key).values()
        shared[key] = len(values) != len(set(values))
    found: set[str] = set()
    for rule in rules:
        if shared[rule.key] or rule.carrier not in rule.others:
            found |= {rule.carrier, *rule.others}
    return found
