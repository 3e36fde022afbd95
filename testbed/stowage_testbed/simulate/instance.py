"""What ``stowage-simulate`` is asked, and what it answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import msgspec
from google.protobuf.json_format import MessageToDict
from msgspec import Struct

from stowage_optimizer.contract import optimizer_pb2 as pb

Manifest = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Instance:
    """A cluster to fill: ``v1`` nodes, pods in the order of arrival, and objects that the scheduler looks at.

    A pod with ``spec.nodeName`` is placed already. ``changes`` come ``after`` a number of pods, with one of ``node``,
    ``nodeGone`` and ``podGone``. ``arrival`` is ``InTurn``, each pod when the scheduler has come to rest, or
    ``AtOnce``. With ``replace``, preempted pods come back; with ``once``, a pod that gets no node leaves. In an
    ``observed`` cluster, objects that the scheduler cannot read are left out and named; otherwise they are errors.
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
    """Plans for a cluster in which nothing is scheduled; without any, the answer is the snapshot alone.

    ``forbidden`` are pairs of ``namespace/name``, for all pods like it, and node. ``arguments`` are
    PriorityOptimizer's. For ``continue_s`` the scheduler may place the pending pods, after the first plan if that is
    accepted.
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
            "policy": "Consolidate"
            if self.consolidates
            else pb.Policy.Name(self.policy).removeprefix("POLICY_").title(),
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
    """What an instance took: seconds from the first arrival to rest, CPU seconds, and growth of Stowage's counters."""

    pods_s: float = msgspec.field(name="podsSeconds")
    cpu_s: float = msgspec.field(name="cpuSeconds")
    arrived: int
    counters: Mapping[str, float] = {}


class Placements(Struct, frozen=True, rename="camel"):
    """Where the pods of an instance are, by ``namespace/name``.

    ``evicted`` pods were preempted, also those that came back; ``awaiting`` ones lack a volume that somebody has to
    make. ``left_out`` objects take no part; ``reasons`` has what keeps each pending pod, in the scheduler's words.
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

    ``reason`` is ``rehearsal`` where ``plugins`` refuse ``pods`` (UIDs), ``limit`` where the plan disrupts too much,
    ``stale`` where a pod never gets its turn. ``proved``: no other plan is better for the cluster, not only for the
    snapshot.
    """

    accepted: bool
    reason: str = ""
    plugins: tuple[str, ...] = ()
    pods: tuple[str, ...] = ()
    detail: str = ""
    proved: bool = False


class Continued(Struct, frozen=True):
    """Where the scheduler places pending pods, without preemption; equal pods share a reason."""

    nodes: Mapping[str, str] = msgspec.field(name="placements", default_factory=dict)
    reasons: Mapping[str, str] = {}
    awaiting: tuple[Remark, ...] = ()
    untried: int = 0


class Judgement(Struct, frozen=True):
    """One judgement for each plan; ``continued`` is ``None`` if not asked for, or the first plan is refused."""

    of_plans: tuple[PlanJudgement, ...] = msgspec.field(name="verdicts", default=())
    continued: Continued | None = None


class Verification(Judgement, frozen=True, kw_only=True, rename="camel"):
    """A `Judgement`, with the snapshot that the optimiser would get, and remarks on what was observed."""

    snapshot: pb.Snapshot
    left_out: tuple[Remark, ...] = ()
    unknown_fields: tuple[UnknownField, ...] = ()
