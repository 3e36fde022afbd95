"""Taints and tolerations (the TaintToleration filter)."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from stowage_optimizer.model.node import Node, Taint, TaintEffect
from stowage_optimizer.model.pod_class import PodClass, Toleration, TolerationOperator


@dataclass(frozen=True, slots=True)
class Taints:
    """Keeps pods off nodes whose taints they do not tolerate."""

    def reads(self, pod_class: PodClass) -> Hashable:
        """Return the tolerations."""
        return pod_class.tolerations

    def allows(self, pod_class: PodClass, node: Node) -> bool:
        """Return whether every hard taint of ``node`` is tolerated."""
        return all(
            any(tolerates(toleration, taint) for toleration in pod_class.tolerations)
            for taint in node.taints
            if taint.effect is not TaintEffect.PREFER_NO_SCHEDULE
        )


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Return whether ``toleration`` tolerates ``taint``."""
    if toleration.effect not in (None, taint.effect):
        return False
    if toleration.key not in ("", taint.key):
        return False
    if toleration.operator is TolerationOperator.EXISTS:
        return True
    return (
        toleration.operator is TolerationOperator.EQUAL
        and toleration.value == taint.value
    )
