"""Counts of pods by domain, and which pods may come, given them."""

from __future__ import annotations

from stowage_optimizer.model.relations import (
    NO_DOMAIN,
    Affinity,
    Relations,
    Rules,
    Spread,
)

NO_RULES = Rules()


class DomainCounts:
    """The pods that are there, as the filters of the scheduler count them.

    Parameters
    ----------
    relations
        What to count. Pods that stay anyway are counted from the start.
    """

    def __init__(self, relations: Relations) -> None:
        self._relations = relations
        self._counts = [[0] * tally.domains for tally in relations.tallies]
        self._newcomers = [[0] * tally.domains for tally in relations.tallies]
        for class_id, node, terminating in relations.staying:
            self._count(self._counts, class_id, node, 1, terminating)

    def add(self, class_id: str, node: int, *, comes: bool) -> None:
        """Count a pod on ``node``; ``comes`` means that it did not run there before."""
        self._change(class_id, node, 1, comes)

    def remove(self, class_id: str, node: int, *, comes: bool) -> None:
        """Undo `add`."""
        self._change(class_id, node, -1, comes)

    def allows(self, class_id: str, node: int) -> bool:
        """Return whether a pod of the class may come to ``node`` now."""
        rules = self._relations.rules.get(class_id, NO_RULES)
        return (
            self.anti_affinity_allows(class_id, node)
            and (rules.affinity is None or self._affinity_allows(rules.affinity, node))
            and all(self._skew_allowed(spread, node) for spread in rules.spread)
        )

    def anti_affinity_allows(self, class_id: str, node: int) -> bool:
        """Return whether no pod is there that one of the class must not meet."""
        return self._no_conflict(self._counts, class_id, node)

    def allows_staying(self, class_id: str, node: int) -> bool:
        """Return whether a pod of the class that runs on ``node`` may stay there.

        Only pods that come can conflict: the rest is ignored during execution.
        """
        return self._no_conflict(self._newcomers, class_id, node)

    def _no_conflict(self, counts: list[list[int]], class_id: str, node: int) -> bool:
        for tally in self._relations.rules.get(class_id, NO_RULES).anti_affinity:
            domain = self._domain(tally, node)
            if domain != NO_DOMAIN and counts[tally][domain]:
                return False
        return True

    def _affinity_allows(self, affinity: Affinity, node: int) -> bool:
        domains = [self._domain(tally, node) for tally in affinity.tallies]
        if NO_DOMAIN in domains:
            return False
        if all(
            self._counts[tally][domain]
            for tally, domain in zip(affinity.tallies, domains, strict=True)
        ):
            return True
        return affinity.matches_itself and not any(
            any(self._counts[one]) for one in affinity.tallies
        )

    def _skew_allowed(self, spread: Spread, node: int) -> bool:
        domain = self._domain(spread.tally, node)
        if domain == NO_DOMAIN:
            return False
        counts = self._counts[spread.tally]
        fewest = 0
        if len(spread.domains) >= max(1, spread.min_domains):
            fewest = min(counts[one] for one in spread.domains)
        return counts[domain] + spread.self_match - fewest <= spread.max_skew

    def _domain(self, tally: int, node: int) -> int:
        return self._relations.tallies[tally].domain_of[node]

    def _change(self, class_id: str, node: int, sign: int, comes: bool) -> None:
        self._count(self._counts, class_id, node, sign, terminating=False)
        if comes:
            self._count(self._newcomers, class_id, node, sign, terminating=False)

    def _count(
        self,
        counts: list[list[int]],
        class_id: str,
        node: int,
        sign: int,
        terminating: bool,
    ) -> None:
        for index in self._relations.counting.get(class_id, ()):
            tally = self._relations.tallies[index]
            domain = tally.domain_of[node]
            if domain == NO_DOMAIN or (tally.living and terminating):
                continue
            if tally.counted is None or node in tally.counted:
                counts[index][domain] += sign
