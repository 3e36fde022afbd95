"""What a step can do, one class a kind.

A step of a file is a mapping with a single key, the kind; `KINDS` is all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from stowage_testbed.cluster.node_pool import NodePool, Taint
from stowage_testbed.hpa.phases.recovery import Outcome
from stowage_testbed.hpa.settings import RecoverySettings
from stowage_testbed.scenario.arrivals.process import ArrivalProcess, Lifetime
from stowage_testbed.scenario.arrivals.trace import TracedPod
from stowage_testbed.scenario.expectations import ExpectedMoment

Condition = Literal["bound", "ready", "decided", "refused", "leaving", "gone", "phase"]
"""What a step can wait for."""

POD_CONDITIONS = ("bound", "ready", "decided", "refused", "leaving", "gone")


@dataclass(frozen=True, slots=True)
class Apply:
    """Create workloads and objects, in this order."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete workloads with their pods, and objects."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Scale:
    """Set a workload's number of pods."""

    workload: str
    to: int


@dataclass(frozen=True, slots=True)
class Burst:
    """Create pods like a workload's, one by one, without a controller."""

    workload: str
    pods: int
    arrival: ArrivalProcess = field(default_factory=ArrivalProcess)
    lifetime: Lifetime | None = None


@dataclass(frozen=True, slots=True)
class Replay:
    """Create the pods of a trace when they came."""

    file: str
    pods: tuple[TracedPod, ...]
    speed: float = 1.0
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class Wait:
    """Wait until pods, or one object, have come so far.

    Attributes
    ----------
    of
        Whose pods, or which object; nothing means all pods.
    count
        At least so many pods; ``None`` for all that the steps have asked for.
    phase
        The object's phase, where that is what is waited for.
    stable_s
        It must hold for so long while no pod changes.
    """

    condition: Condition
    of: tuple[str, ...] = ()
    count: int | None = None
    phase: str = ""
    stable_s: float = 0.0
    timeout_s: float | None = None


@dataclass(frozen=True, slots=True)
class Evict:
    """Evict running pods of a workload, as a drain or a descheduler does.

    With ``node`` only pods on that node.
    """

    workload: str
    pods: int = 1
    node: str = ""


@dataclass(frozen=True, slots=True)
class Cordon:
    """Close nodes for new pods."""

    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Uncordon:
    """Open nodes again."""

    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TaintNodes:
    """Give nodes a taint."""

    nodes: tuple[str, ...]
    taint: Taint


@dataclass(frozen=True, slots=True)
class UntaintNodes:
    """Take the taints of a key from nodes; an empty effect means any."""

    nodes: tuple[str, ...]
    key: str
    effect: str = ""


@dataclass(frozen=True, slots=True)
class AddNodes:
    """Add nodes, and wait until they are ready."""

    pool: NodePool


@dataclass(frozen=True, slots=True)
class RemoveNodes:
    """Remove nodes with their pods, and wait until they are gone."""

    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Usage:
    """Set what a workload's pods use; ``None`` leaves a resource as it was."""

    workload: str
    cpu_milli: int | None = None
    memory_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class TriggerPlan:
    """Create a PackingPlan, as ``kubectl create`` does."""

    plan: str
    mode: Literal["Execute", "DryRun"] = "Execute"
    time_limit_s: float | None = None


@dataclass(frozen=True, slots=True)
class Overload:
    """Overload a web service, and watch it recover under a HorizontalPodAutoscaler.

    Attributes
    ----------
    plain
        The settings as the file has them; see `stowage_testbed.hpa.settings`.
    outcome
        What must become of it; ``None`` is not checked.
    """

    plain: Mapping[str, Any]
    outcome: Outcome | None = None

    @property
    def settings(self) -> RecoverySettings:
        """All settings, with every default.

        Raises
        ------
        ValueError
            They do not go together.
        """
        return RecoverySettings.of(self.plain)


@dataclass(frozen=True, slots=True)
class Measure:
    """Begin or end the window that metrics are of."""

    edge: Literal["start", "stop"]


@dataclass(frozen=True, slots=True)
class Check:
    """Expect something in the middle; it must hold before the deadline."""

    expect: ExpectedMoment
    stable_s: float = 0.0
    timeout_s: float | None = None


Action = (
    Apply
    | Delete
    | Scale
    | Burst
    | Replay
    | Wait
    | Evict
    | Cordon
    | Uncordon
    | TaintNodes
    | UntaintNodes
    | AddNodes
    | RemoveNodes
    | Usage
    | TriggerPlan
    | Overload
    | Measure
    | Check
)


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a file: its number from 1, its key, its line, and what it does."""

    number: int
    kind: str
    line: int
    action: Action

    def __str__(self) -> str:
        return f"step {self.number} ({self.kind}, line {self.line})"
