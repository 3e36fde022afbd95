"""Which of the checker's rules are equivalent to a refusal of the scheduler.

The scheduler stops at the first reason, or reports every plugin that refuses; the
checker reports every broken rule. So one rule must be equivalent to one of the
scheduler's reasons, or the checker has missed something.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from stowage_optimizer.verify import Violation
from stowage_testbed.simulate import Verdict

CLAIM_RULES = frozenset({"tiers", "bounds", "gains", "nodes-in-use"})
"""Rules about the claims of a plan about itself. The scheduler does not check them."""

NAME_RULES = frozenset({"snapshot-id", "duplicate", "unknown-pod", "unknown-node"})
"""Rules behind which the checker looks no further."""

REASONS: Mapping[str, frozenset[str]] = {
    "wrong-snapshot": frozenset({"snapshot-id"}),
    "unknown-pod": frozenset({"unknown-pod"}),
    "unknown-node": frozenset({"unknown-node"}),
    "duplicate-pod": frozenset({"duplicate"}),
    "node-unschedulable": frozenset({"eligibility"}),
    "forbidden-pair": frozenset({"eligibility"}),
    "not-pending": frozenset({"origin"}),
    "not-running": frozenset({"origin"}),
    "wrong-node": frozenset({"origin"}),
    "same-node": frozenset({"origin"}),
    "immovable": frozenset({"immovable"}),
    "unsupported-pod": frozenset({"unverifiable"}),
    "over-capacity": frozenset({"capacity"}),
    "over-budget": frozenset({"disruption-budget"}),
    "not-better": frozenset({"worth"}),
    "unjust-eviction": frozenset({"policy"}),
}
"""Rules by the plan's own typed refusals."""

PLUGINS: Mapping[str, frozenset[str]] = {
    "": frozenset({"eligibility"}),
    "NodeUnschedulable": frozenset({"eligibility"}),
    "TaintToleration": frozenset({"eligibility"}),
    "NodeAffinity": frozenset({"eligibility"}),
    "VolumeBinding": frozenset({"eligibility"}),
    "NodePorts": frozenset({"host-ports"}),
    "NodeResourcesFit": frozenset({"capacity"}),
    "InterPodAffinity": frozenset({"pod-affinity", "pod-anti-affinity"}),
    "PodTopologySpread": frozenset({"topology-spread"}),
}
"""Rules by the plugin that refuses in the rehearsal."""


ARRIVAL_RULES = frozenset().union(*PLUGINS.values()) - {"capacity"}
"""Rules that keep a pod off a node; the violation names the pod."""


def equivalent(refusal: Verdict, violations: Collection[Violation]) -> bool:
    """Return whether one of ``violations`` is equivalent to ``refusal``.

    Of the plugins that keep a pod off a node the scheduler asks the others no more, so
    that the same pod is enough.
    """
    rules = {one.rule for one in violations}
    if rules & NAME_RULES:
        return True
    if refusal.reason != "rehearsal":
        return bool(REASONS.get(refusal.reason, frozenset()) & rules)
    kept_off = {one.subject for one in violations if one.rule in ARRIVAL_RULES}
    return bool(kept_off.intersection(refusal.pods)) or any(
        PLUGINS.get(one, frozenset()) & rules for one in refusal.plugins
    )
