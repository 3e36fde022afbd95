"""What ``stowage-simulate`` is asked, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import msgspec
from google.protobuf.json_format import MessageToDict
from msgspec import Struct

from stowage_optimizer.contract import optimizer_pb2 as pb

Manifest = Mapping[str, Any]
"""A Kubernetes object as the API server is given it."""


@dataclass(frozen=True, slots=True)
class Instance:
    """A cluster to be filled.

    Attributes
    ----------
    id
        Names the instance in messages.
    nodes
        ``v1`` Nodes; without ``allocatable`` all of their capacity is.
    pods
        ``v1`` Pods in the order of arrival, with ``spec.priority`` where they have one.
        A pod with ``spec.nodeName`` is placed already.
    objects
        What else the scheduler looks at, with ``apiVersion`` and ``kind``: Services and ReplicaSets, by which it
        spreads pods without constraints of their own, namespaces, volumes and their claims, disruption budgets.
    changes
        What happens meanwhile, with the number of pods that it comes ``after``, and one of ``node`` (a ``v1`` Node),
        ``nodeGone`` and ``podGone``.
    arrival
        ``InTurn``: each pod when the scheduler has come to rest. ``AtOnce``: all of them before it begins.
    replace
        Preempted pods come back, as their controllers would bring them.
    once
        Each pod is tried in its turn alone: one that gets no node then leaves again.
    measure
        Return a `Measurement`.
    observed
        The objects were read from a cluster. Objects that the scheduler cannot read are left out and named; in an
        instance that was written for the simulation they are errors of the whole.
    """

    id: str
    nodes: tuple[Manifest, ...]
    pods: tuple[Manifest, ...]
    objects: tuple[Manifest, ...] = ()
    changes: tuple[Manifest, ...] = ()
    arrival: str = "InTurn"
    replace: bool = False
    once: bool = False
    measure: bool = False
    observed: bool = False

    def content(self) -> dict[str, Any]:
        """Return the instance as ``stowage-simulate`` reads it."""
        return {one.name: getattr(self, one.name) for one in fields(self)}


POLICY_NAMES = {pb.POLICY_STRICT: "Strict", pb.POLICY_PAPER: "Paper"}
"""Policies as the plugin's arguments name them."""

NO_PROTECTION = {
    "evictSingletons": True,
    "evictNotReady": True,
    "evictJobs": True,
    "evictStatefulSets": True,
    "evictDuringRollout": True,
    "maxGracePeriodSeconds": 0,
    "minPodAgeSeconds": 0,
}
"""The plugin's arguments that switch off the rules which protect pods from eviction."""


@dataclass(frozen=True, slots=True)
class Question:
    """Plans for a cluster in which nothing is scheduled.

    Attributes
    ----------
    instance
        The cluster as it is: a pod without ``spec.nodeName`` is pending.
    plans
        Without any, the answer is the snapshot alone.
    policy
        The policy that the plans must keep.
    consolidates
        The plans move pods to empty nodes, whatever they are worth by the policy.
    forbidden
        Pairs that earlier rehearsals refused: a pod as ``namespace/name``, for all like it, and the node.
    arguments
        Of the plugin PriorityOptimizer: protection rules and limits; others have their defaults.
    continue_s
        For how long the scheduler may place the pending pods: as things are, or after the first plan if that is
        accepted. 0: it places none.
    """

    instance: Instance
    plans: tuple[pb.Plan, ...] = ()
    policy: pb.Policy = pb.POLICY_STRICT
    consolidates: bool = False
    forbidden: tuple[tuple[str, str], ...] = ()
    arguments: Mapping[str, object] = field(default_factory=dict)
    continue_s: float = 0.0

    def content(self) -> dict[str, Any]:
        """Return the question as ``stowage-simulate --judge`` reads it."""
        return {
            **self.instance.content(),
            "policy": ("Consolidate" if self.consolidates else POLICY_NAMES[self.policy]),
            "forbidden": [{"pod": pod, "node": node} for pod, node in self.forbidden],
            "arguments": dict(self.arguments),
            "continueSeconds": self.continue_s,
            "plans": [MessageToDict(plan) for plan in self.plans],
        }


class Remark(Struct, frozen=True):
    """A reason, and the kind and name of the object that it concerns, as in ``Pod default/web-0``."""

    object: str
    reason: str


class UnknownField(Struct, frozen=True):
    """A field that this scheduler ignores, as in ``Pod spec.containers[].colour``, and how many objects have it."""

    field: str
    objects: int


class Measurement(Struct, frozen=True):
    """What an instance took, by the simulator's own clock.

    Attributes
    ----------
    pods_s
        From the arrival of the first pod until the scheduler came to rest, in seconds.
    cpu_s
        Processor time of the process meanwhile, in seconds.
    arrived
        Pods that arrived in that time.
    counters
        By how much the counters of Stowage's plugins grew, by name and labels.
    """

    pods_s: float = msgspec.field(name="podsSeconds")
    cpu_s: float = msgspec.field(name="cpuSeconds")
    arrived: int
    counters: Mapping[str, float] = {}


class Placements(Struct, frozen=True, rename="camel"):
    """Where the pods of an instance are.

    Attributes
    ----------
    nodes
        The node of each pod, by ``namespace/name``; ``None`` if it is pending.
    evicted
        Pods that preemption removed, also those that have come back.
    awaiting
        Pods that were placed, and whose volumes somebody has still to make.
    left_out
        Objects of an observed instance that take no part, or not the part that they should; also pods that the
        scheduler failed on.
    reasons
        What keeps each pending pod in the scheduler's words, by ``namespace/name``.
    """

    id: str
    nodes: Mapping[str, str | None] = msgspec.field(name="placements")
    evicted: tuple[str, ...] = ()
    measurement: Measurement | None = None
    awaiting: tuple[Remark, ...] = ()
    left_out: tuple[Remark, ...] = ()
    reasons: Mapping[str, str] = {}

    def pending(self) -> list[str]:
        """Return the pods without a node, in alphabetical order."""
        return sorted(pod for pod, node in self.nodes.items() if node is None)


class PlanJudgement(Struct, frozen=True):
    """The scheduler's judgement of one plan.

    Attributes
    ----------
    accepted
        Whether it would carry the plan out.
    reason
        The typed refusal; ``rehearsal`` where a plugin refuses, ``limit`` where the plan disrupts more than a limit
        allows, ``stale`` where a pod never gets its turn.
    plugins
        Those that refuse in the rehearsal; empty text where no single one is to blame.
    pods
        The UIDs of the pods that the plugins refuse, or whose disruption is one too many.
    detail
        What is wrong.
    proved
        Whether the plan shows that no other one is better for the cluster. The optimiser's proof is one about the
        snapshot, which may lack something.
    """

    accepted: bool
    reason: str = ""
    plugins: tuple[str, ...] = ()
    pods: tuple[str, ...] = ()
    detail: str = ""
    proved: bool = False


class Continued(Struct, frozen=True):
    """What the scheduler makes of the pending pods, without preempting any.

    Attributes
    ----------
    nodes
        The node of each pod that got one, by ``namespace/name``.
    reasons
        What keeps a pod, in the scheduler's words. Of equal pods one is tried until it has a node, and its reason is
        that of all.
    awaiting
        Pods that got a node, and whose volumes somebody has still to make.
    untried
        How many pods' turn did not come in time.
    """

    nodes: Mapping[str, str] = msgspec.field(name="placements", default_factory=dict)
    reasons: Mapping[str, str] = {}
    awaiting: tuple[Remark, ...] = ()
    untried: int = 0


class Judgement(Struct, frozen=True):
    """One judgement for each plan of a question.

    ``continued`` is ``None`` if nobody asked for it, or the first plan is refused.
    """

    of_plans: tuple[PlanJudgement, ...] = msgspec.field(name="verdicts", default=())
    continued: Continued | None = None


@dataclass(frozen=True, slots=True)
class Verification:
    """A `Judgement`, with the snapshot that the optimiser would get, and remarks on what was observed."""

    snapshot: pb.Snapshot
    of_plans: tuple[PlanJudgement, ...]
    continued: Continued | None = None
    left_out: tuple[Remark, ...] = ()
    unknown_fields: tuple[UnknownField, ...] = ()
