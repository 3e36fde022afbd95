"""Steps that wait until something has come about, expect it to, or measure what comes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Annotated, Literal

from stowage_testbed.hpa.recovery import Outcome
from stowage_testbed.hpa.settings import RecoverySettings
from stowage_testbed.scenario.expected import ExpectedMoment
from stowage_testbed.scenario.steps.action import Action, Where, join_names
from stowage_testbed.scenario.types import Filled, Label, Names, Of, Seconds, Some, Sort, Stable

WaitedFor = Literal["bound", "ready", "unschedulable", "settled", "terminating", "gone", "phase"]
"""What a step can wait for."""


@dataclass(frozen=True, slots=True)
class Wait(Action):
    """Wait until pods or an object have come so far."""

    kind = "wait"
    deadline = "settle"
    for_: WaitedFor
    """bound: they have a node. ready: they run. unschedulable: the scheduler found no node. settled: all are bound or
    unschedulable. terminating: they are being deleted. gone: none is left. phase: the object is in the phase that `is`
    names."""
    of: Annotated[Names, Of("pods")] = ()
    """Of which workloads or objects; without it all pods."""
    count: Some | None = None
    """At least so many pods; without it all that the steps have asked for."""
    is_: Filled = ""
    """The phase, as in Available."""
    stable_s: Stable = 0.0
    """It must hold for so many seconds while no pod changes."""
    timeout_s: Seconds | None = None
    """Deadline in seconds."""

    def __post_init__(self) -> None:
        if self.for_ == "phase" and not self.is_:
            raise ValueError("a wait for a phase says which; add `is`, as in is: Available")
        if self.for_ == "phase" and len(self.of) != 1:
            raise ValueError("a wait for a phase is of one object; write its name as `of`")
        if self.for_ != "phase" and self.is_:
            raise ValueError(f"only a wait for `phase` says what it is; remove `is`, or {self.for_!r}")
        if self.for_ in ("phase", "gone") and self.count is not None:
            raise ValueError(f"what is waited for as {self.for_!r} cannot be counted; remove `count`")
        _check_stable(self.stable_s, self.timeout_s)

    def uses(self) -> Iterator[tuple[Where, str, Sort]]:
        """Yield what it waits for."""
        for place, name, sort in Action.uses(self):
            yield place, name, "phased" if self.for_ == "phase" else sort

    def awaited(self) -> str:
        """Return what is waited for."""
        if self.for_ == "phase":
            return f"{join_names(self.of)} is {self.is_}"
        pods = "all pods" if self.count is None else f"{self.count} pods"
        whose = f" of {join_names(self.of)}" if self.of else ""
        stable = f" and no pod has changed for {self.stable_s:g} s" if self.stable_s else ""
        return f"{pods}{whose} are {self.for_}{stable}"


@dataclass(frozen=True, slots=True)
class Check(ExpectedMoment, Action):
    """Expect something in the middle; it must hold before the deadline."""

    kind = "check"
    deadline = "check"
    since: Annotated[str, Of("checkpoint")] = ""
    """The checkpoint before, which `utilisation_delta` counts from, and than which no priority may be worse off."""
    stable_s: Stable = 0.0
    """It must hold for so many seconds while no pod changes."""
    timeout_s: Seconds | None = None
    """Deadline in seconds."""

    def __post_init__(self) -> None:
        if self.utilisation_delta is not None and not self.since:
            raise ValueError("`utilisation_delta` counts from a checkpoint; name it as `since`")
        _check_stable(self.stable_s, self.timeout_s)


@dataclass(frozen=True, slots=True)
class Checkpoint(Action):
    """Note pods, nodes and utilisation as they are now, under a name.

    Reports show the checkpoints side by side, and a later `check` may be `since` one.

    Attributes
    ----------
    expect
        What must hold at the end, until the deadline for it; pods must then come to
        rest. Only the last checkpoint has it.
    """

    kind = "checkpoint"
    bare = True
    name: Label
    expect: ExpectedMoment | None = field(default=None, repr=False)


END = "end"  # The checkpoint that every scenario ends with
FAILED = "failed"  # The checkpoint of a scenario that a step has ended early


@dataclass(frozen=True, slots=True)
class Measure(Action):
    """Begin or end the window that metrics are of."""

    kind = "measure"
    bare = True
    edge: Literal["start", "stop"]


@dataclass(frozen=True, slots=True)
class Overload(RecoverySettings, Action):
    """Overload a web service and watch its autoscaler; the cluster must measure usage.

    FIND and HOLD of section 5.2.2 of "On Optimized Scheduling Scheme for Rapid Pod
    Autoscaling in Kubernetes"; testbed/stowage_testbed/hpa/README.md says what is real.
    """

    kind = "overload"
    outcome: Outcome | None = None
    """What must become of the service; without it, anything may."""

    @property
    def settings(self) -> RecoverySettings:
        """What decides the run."""
        return RecoverySettings(**{one.name: getattr(self, one.name) for one in fields(RecoverySettings)})


def _check_stable(stable_s: float, timeout_s: float | None) -> None:
    """A state cannot be stable for longer than is waited for it."""
    if timeout_s is not None and stable_s >= timeout_s:
        raise ValueError(f"`stable_s` {stable_s:g} is not below timeout_s {timeout_s:g}; change one of them")
