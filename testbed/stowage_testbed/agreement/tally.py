"""How often both verifiers agreed, and why not where they did not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from stowage_testbed.agreement.comparison import Comparison
from stowage_testbed.agreement.explanations import Explanation

MOST_EXAMPLES = 20


@dataclass(frozen=True, slots=True)
class Agreement:
    """The outcome of a comparison.

    Attributes
    ----------
    seed, clusters, plans
        What was compared.
    valid, mutated
        Plans from the optimiser or the random generator, and mutated ones.
    accepted, refused
        Plans about which both agreed.
    explained
        Plans about which they differed, by the explanation; two are joined by ``+``.
    unexplained
        How many are left.
    examples
        The first of these, each with all that is needed to compare it again.
    confusion
        Plans that both refused, by the scheduler's reason (or the plugin that refused)
        and the first rule that the checker found broken.
    """

    seed: int
    clusters: int
    plans: int
    valid: int
    mutated: int
    accepted: int
    refused: int
    explained: Mapping[str, int]
    unexplained: int
    examples: tuple[Comparison, ...]
    confusion: Mapping[tuple[str, str], int]

    def figures(self) -> dict[str, object]:
        """Return all counts as JSON has them."""
        return {
            "seed": self.seed,
            "clusters": self.clusters,
            "plans": self.plans,
            "valid": self.valid,
            "mutated": self.mutated,
            "accepted_by_both": self.accepted,
            "refused_by_both": self.refused,
            "explained": dict(self.explained),
            "unexplained": self.unexplained,
            "confusion": [
                {"scheduler": reason, "checker": rule, "plans": count}
                for (reason, rule), count in self.confusion.items()
            ],
        }


@dataclass(slots=True)
class Tally:
    """Counts comparisons as they come."""

    seed: int
    clusters: int = 0
    plans: int = 0
    _mutated: int = 0
    _accepted: int = 0
    _refused: int = 0
    _explained: Counter[str] = field(default_factory=Counter)
    _unexplained: list[Comparison] = field(default_factory=list)
    _confusion: Counter[tuple[str, str]] = field(default_factory=Counter)

    def count(
        self, comparison: Comparison, why: tuple[Explanation, ...], *, mutated: bool
    ) -> None:
        """Count one comparison, with what explains it if both did not agree."""
        self.plans += 1
        self._mutated += mutated
        if why:
            self._explained["+".join(why)] += 1
        elif not comparison.agreed:
            self._unexplained.append(comparison)
        elif comparison.scheduler.accepted:
            self._accepted += 1
        else:
            self._refused += 1
            scheduler = comparison.scheduler
            reason = next(iter(scheduler.plugins), "") or scheduler.reason
            self._confusion[reason, comparison.violations[0].rule] += 1

    def result(self) -> Agreement:
        """Return the counts."""
        return Agreement(
            seed=self.seed,
            clusters=self.clusters,
            plans=self.plans,
            valid=self.plans - self._mutated,
            mutated=self._mutated,
            accepted=self._accepted,
            refused=self._refused,
            explained=dict(self._explained.most_common()),
            unexplained=len(self._unexplained),
            examples=tuple(self._unexplained[:MOST_EXAMPLES]),
            confusion=dict(self._confusion.most_common()),
        )
