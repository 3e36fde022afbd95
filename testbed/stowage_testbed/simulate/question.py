"""What a verifier is asked about plans, and its verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from google.protobuf.json_format import MessageToDict

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.simulate.instance import Instance

POLICY_NAMES = {pb.POLICY_STRICT: "Strict", pb.POLICY_PAPER: "Paper"}
"""Policies as the plugin's arguments name them."""

NO_PROTECTION = {
    "evictSingletons": True,
    "evictNotReady": True,
    "evictJobs": True,
    "evictStatefulSets": True,
    "maxGracePeriodSeconds": 0,
    "minPodAgeSeconds": 0,
}
"""The plugin's arguments that switch off the protection rules for what a pod would
lose."""


@dataclass(frozen=True, slots=True)
class Question:
    """Plans for a cluster in which nothing is scheduled.

    Attributes
    ----------
    instance
        The cluster as it is: a pod without ``spec.nodeName`` waits.
    plans
        The plans. Without any, the snapshot alone is asked for.
    policy
        The policy that they must keep.
    consolidates
        They move pods to empty nodes, whatever they are worth by the policy.
    forbidden
        What earlier rehearsals refused: a pod as ``namespace/name``, for all like it,
        and the node.
    arguments
        Of the plugin PriorityOptimizer, whose protection rules decide which pods may be
        disrupted; what is left out has its default.
    """

    instance: Instance
    plans: tuple[pb.Plan, ...] = ()
    policy: pb.Policy = pb.POLICY_STRICT
    consolidates: bool = False
    forbidden: tuple[tuple[str, str], ...] = ()
    arguments: Mapping[str, object] = field(default_factory=dict)

    def content(self) -> dict[str, Any]:
        """Return the question as ``stowage-simulate --judge`` reads it."""
        return {
            **self.instance.content(),
            "policy": (
                "Consolidate" if self.consolidates else POLICY_NAMES[self.policy]
            ),
            "forbidden": [{"pod": pod, "node": node} for pod, node in self.forbidden],
            "arguments": dict(self.arguments),
            "plans": [MessageToDict(plan) for plan in self.plans],
        }


@dataclass(frozen=True, slots=True)
class Verdict:
    """The scheduler's verdict on one plan.

    Attributes
    ----------
    accepted
        Whether it would carry the plan out.
    reason
        The typed refusal; ``rehearsal`` where a plugin refuses, ``stale`` where a pod
        never gets its turn.
    plugins
        Those that refuse in the rehearsal; empty text where no single one is to blame.
    pods
        The UIDs of the pods that the plugins refuse.
    detail
        What is wrong.
    """

    accepted: bool
    reason: str = ""
    plugins: tuple[str, ...] = ()
    pods: tuple[str, ...] = ()
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Verification:
    """The answer to a question.

    Attributes
    ----------
    snapshot
        What the plugin would send to the optimiser.
    verdicts
        One for each plan.
    """

    snapshot: pb.Snapshot
    verdicts: tuple[Verdict, ...]
