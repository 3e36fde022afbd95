"""What a simulation is asked, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from google.protobuf.json_format import MessageToDict

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
        What else the scheduler looks at, with ``apiVersion`` and ``kind``: Services and
        ReplicaSets, by which it spreads pods without constraints of their own,
        namespaces, volumes and their claims, disruption budgets.
    changes
        What happens meanwhile, with the number of pods that it comes ``after``, and one
        of ``node`` (a ``v1`` Node), ``nodeGone`` and ``podGone``.
    arrival
        ``InTurn``: each pod when the scheduler has come to rest. ``AtOnce``: all of
        them before it begins.
    replace
        Preempted pods come back, as their controllers would bring them.
    once
        Each pod is tried in its turn alone: one that gets no node then leaves again.
    measure
        Whether a measurement is asked for.
    observed
        The objects were read from a cluster, not written for the simulation. Those
        that cannot be read or make no sense are left out and named; else they are
        errors of the whole.
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


@dataclass(frozen=True, slots=True)
class Remark:
    """What there is to say of one object.

    Attributes
    ----------
    object
        Its kind and name, as in ``Pod default/web-0``.
    reason
        What, or why, in words.
    """

    object: str
    reason: str


@dataclass(frozen=True, slots=True)
class UnknownField:
    """A field that the scheduler's version does not know, and that was passed over.

    Attributes
    ----------
    field
        The kind and the path, as in ``Pod spec.containers[].colour``.
    objects
        How many objects have it.
    """

    field: str
    objects: int


@dataclass(frozen=True, slots=True)
class Measurement:
    """What an instance took, by the simulator's own clock.

    Attributes
    ----------
    pods_s
        From the arrival of the first pod until the scheduler came to rest, in seconds.
    cpu_s
        Processor time that the process used meanwhile, in seconds.
    arrived
        Pods that arrived in that time.
    counters
        By how much the counters of Stowage's plugins grew, by name and labels.
    """

    pods_s: float
    cpu_s: float
    arrived: int
    counters: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Placements:
    """Where the pods of an instance are.

    Attributes
    ----------
    id
        The instance's.
    nodes
        The node of each pod, by ``namespace/name``; None if it is pending.
    evicted
        Pods that preemption removed, also those that have come back.
    measurement
        None if it was not asked for.
    awaiting
        Pods that were placed and whose volumes somebody has still to make.
    left_out
        Objects of an observed instance that take no part, or not the part that they
        should; also pods that the scheduler failed on.
    reasons
        What keeps each pending pod in the scheduler's words, by ``namespace/name``.
    """

    id: str
    nodes: Mapping[str, str | None]
    evicted: tuple[str, ...] = ()
    measurement: Measurement | None = None
    awaiting: tuple[Remark, ...] = ()
    left_out: tuple[Remark, ...] = ()
    reasons: Mapping[str, str] = field(default_factory=dict)

    def pending(self) -> list[str]:
        """Return the pods without a node, in alphabetical order."""
        return sorted(pod for pod, node in self.nodes.items() if node is None)


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
        disrupted, and whose limits bound a plan; what is left out has its default.
    continue_s
        For how long the scheduler may place the pods that wait: as things are, or after
        the first plan if that is accepted. 0: it places none.
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


@dataclass(frozen=True, slots=True)
class PlanJudgement:
    """The scheduler's judgement of one plan.

    Attributes
    ----------
    accepted
        Whether it would carry the plan out.
    reason
        The typed refusal; ``rehearsal`` where a plugin refuses, ``limit`` where the
        plan disrupts more than a limit allows, ``stale`` where a pod never gets its
        turn.
    plugins
        Those that refuse in the rehearsal; empty text where no single one is to blame.
    pods
        The UIDs of the pods that the plugins refuse, or whose disruption is one too
        many.
    detail
        What is wrong.
    proved
        Whether the plan shows that no other one is better for the cluster. The
        optimiser's proof is one about the snapshot, which may lack something.
    """

    accepted: bool
    reason: str = ""
    plugins: tuple[str, ...] = ()
    pods: tuple[str, ...] = ()
    detail: str = ""
    proved: bool = False


@dataclass(frozen=True, slots=True)
class Continued:
    """What the scheduler makes of the pods that wait, without preempting any.

    Attributes
    ----------
    nodes
        The node of each pod that got one, by ``namespace/name``.
    reasons
        What keeps a pod, in the scheduler's words. Of equal pods one is tried until it
        has a node, and its reason is that of all.
    awaiting
        Pods that got a node and whose volumes somebody has still to make.
    untried
        How many pods' turn did not come in time.
    """

    nodes: Mapping[str, str] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)
    awaiting: tuple[Remark, ...] = ()
    untried: int = 0


@dataclass(frozen=True, slots=True)
class Judgement:
    """What is said of the plans of a question.

    Attributes
    ----------
    of_plans
        One for each plan.
    continued
        None if it was not asked for, or the first plan is refused.
    """

    of_plans: tuple[PlanJudgement, ...]
    continued: Continued | None = None


@dataclass(frozen=True, slots=True)
class Verification:
    """The answer to a question.

    Attributes
    ----------
    snapshot
        What the plugin would send to the optimiser.
    of_plans
        One for each plan.
    continued
        None if it was not asked for, or the first plan is refused.
    left_out, unknown_fields
        Of an observed instance.
    """

    snapshot: pb.Snapshot
    of_plans: tuple[PlanJudgement, ...]
    continued: Continued | None = None
    left_out: tuple[Remark, ...] = ()
    unknown_fields: tuple[UnknownField, ...] = ()
