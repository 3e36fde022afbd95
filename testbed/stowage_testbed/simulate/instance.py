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
    measure
        Whether a measurement is asked for.
    """

    id: str
    nodes: tuple[Manifest, ...]
    pods: tuple[Manifest, ...]
    objects: tuple[Manifest, ...] = ()
    changes: tuple[Manifest, ...] = ()
    arrival: str = "InTurn"
    replace: bool = False
    measure: bool = False

    def content(self) -> dict[str, Any]:
        """Return the instance as ``stowage-simulate`` reads it."""
        return {one.name: getattr(self, one.name) for one in fields(self)}


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
    """

    id: str
    nodes: Mapping[str, str | None]
    evicted: tuple[str, ...] = ()
    measurement: Measurement | None = None

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
