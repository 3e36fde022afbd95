"""Whether a pod conflicts with the pods that stay on a node."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from stowage_optimizer.verify.anti_affinity import (
    AntiAffinityRule,
    anti_affinity_rules,
    conflicting_classes,
)
from stowage_optimizer.verify.case import Case
from stowage_optimizer.verify.ports import port_clashes

Staying = Callable[[str], list[str]]
"""Returns the pods that stay on a node, by the node's name."""


@dataclass(slots=True)
class Conflicts:
    """The conflicts between the pods of one case.

    Parameters
    ----------
    case
        The case at hand.
    """

    case: Case
    _rules: list[AntiAffinityRule] = field(init=False)

    def __post_init__(self) -> None:
        self._rules = anti_affinity_rules(self.case)

    def refuses(self, uid: str, node: str, staying: Staying) -> bool:
        """Return whether a pod that stays clashes with the pod ``uid`` on ``node``.

        Two pods that are where they were before do not: they may stay as they are.
        """
        here = [other for other in staying(node) if self._meets(uid, node, other)]
        if any(port_clashes(self.case, uid, here)):
            return True
        mine = self.case.pods[uid].class_id
        return any(
            self._meets(uid, node, other)
            for rule in self._rules
            if (conflicting := conflicting_classes(rule, mine))
            for place in self._domain(rule.key, node)
            for other in staying(place)
            if other != uid and self.case.pods[other].class_id in conflicting
        )

    def _meets(self, uid: str, node: str, other: str) -> bool:
        pods = self.case.pods
        return pods[uid].node != node or pods[other].node != self.case.after[other]

    def _domain(self, key: str, node: str) -> list[str]:
        labels = self.case.nodes[node].labels
        if key not in labels:
            return []
        return [
            name
            for name, other in self.case.nodes.items()
            if key in other.labels and other.labels[key] == labels[key]
        ]
