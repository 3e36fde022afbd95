"""A plan that consolidates is worth its moves: fewer nodes are in use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from stowage_optimizer.verify.case import Case
from stowage_optimizer.verify.violation import Violation

DAEMON = "daemonset"
"""Why a pod may not be moved that a DaemonSet puts on every node."""


def check_emptied(case: Case) -> Iterator[Violation]:
    """Yield a violation unless every pod keeps a node and fewer nodes are in use."""
    if case.changes_nothing:
        return
    for eviction in case.evictions:
        yield Violation("worth", eviction.pod_uid, "loses its node for consolidation")
    before, after = _counted(case)
    if after >= before:
        yield Violation("worth", "plan", f"{after} nodes in use, {before} were before")


def check_nodes_in_use(case: Case) -> Iterator[Violation]:
    """Yield false statements of the plan about the nodes in use."""
    if not case.plan.HasField("nodes_in_use"):
        return
    claimed, counted = case.plan.nodes_in_use, _counted(case)
    if (claimed.before, claimed.after) != counted:
        problem = f"{counted} before and after, said {(claimed.before, claimed.after)}"
        yield Violation("nodes-in-use", "plan", problem)
    if claimed.lower_bound > claimed.after:
        yield Violation("nodes-in-use", "plan", "fewer nodes than the lower bound")
    if claimed.moves_lower_bound > len(case.plan.moves):
        yield Violation("nodes-in-use", "plan", "fewer moves than the lower bound")


def _counted(case: Case) -> tuple[int, int]:
    before = _in_use(case, {uid: pod.node for uid, pod in case.pods.items()})
    return before, _in_use(case, case.after)


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
