"""A plan that consolidates is worth its moves: fewer nodes are in use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from optimizer.verify.case import Case
from optimizer.verify.violation import Violation

DAEMON = "daemonset"
"""Why a pod may not be moved that a DaemonSet puts on every node."""


def check_emptied(case: Case) -> Iterator[Violation]:
    """Yield a violation unless every pod keeps a node and fewer nodes are in use."""
    if case.changes_nothing:
        return
    for eviction in case.plan.evictions:
        yield Violation("worth", eviction.pod_uid, "loses its node for consolidation")
    before = _in_use(case, {uid: pod.node for uid, pod in case.pods.items()})
    after = _in_use(case, case.after)
    if after >= before:
        yield Violation("worth", "plan", f"{after} nodes in use, {before} were before")


def _in_use(case: Case, where: Mapping[str, str]) -> int:
    """Return how many nodes hold a pod that would not go with its node."""
    return len(
        {
            node
            for uid, node in where.items()
            if node
            and (case.pods[uid].movable or case.pods[uid].immovable_reason != DAEMON)
        }
    )
