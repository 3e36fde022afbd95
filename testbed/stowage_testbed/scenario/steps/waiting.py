"""Steps that wait until something has come about, or expect it to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Literal

from stowage_testbed.declaration import setting
from stowage_testbed.scenario.expected_moment import ExpectedMoment
from stowage_testbed.scenario.issues import DocumentIssue
from stowage_testbed.scenario.steps.action import (
    Action,
    Deadline,
    Names,
    NameUsed,
    Seconds,
    join_names,
    list_names_used,
)

WaitedFor = Literal["bound", "ready", "unschedulable", "settled", "terminating", "gone", "phase"]
"""What a step can wait for."""

POD_CONDITIONS = ("bound", "ready", "settled", "unschedulable", "terminating", "gone")

Stable = Annotated[float, setting("It must hold for so many seconds while no pod changes.", minimum=0, maximum=600)]
Timeout = Annotated[Seconds | None, setting("Deadline in seconds.")]

_STATES = {
    "bound": ("has a node", "have a node"),
    "ready": ("has become ready", "have become ready"),
    "settled": ("has a node or is found unschedulable", "have a node or are found unschedulable"),
    "unschedulable": ("has been found unschedulable", "have been found unschedulable"),
    "terminating": ("is terminating", "are terminating"),
}


@dataclass(frozen=True, slots=True)
class Wait(Action):
    """Wait until pods or an object have come so far."""

    kind = "wait"
    deadline = Deadline("For what a step waits for.", "settle")
    condition: Annotated[
        WaitedFor,
        setting(
            "bound: they have a node. ready: they run. unschedulable: the scheduler "
            "found no node. settled: all are bound or unschedulable. terminating: they "
            "are being deleted. gone: none is left. phase: the object is in the phase "
            "that `is` names.",
            key="for",
        ),
    ]
    of: Annotated[Names, setting("Of which workloads or objects; without it all pods.", names="pods")] = ()
    count: Annotated[
        int | None, setting("At least so many pods; without it all that the steps have asked for.", minimum=1)
    ] = None
    phase: Annotated[str, setting("The phase, as in Available.", key="is", minLength=1)] = ""
    stable_s: Stable = 0.0
    timeout_s: Timeout = None

    @classmethod
    def references(cls, plain: Any) -> Iterator[NameUsed]:
        for one in list_names_used(cls, plain):
            yield replace(one, sort="phased") if plain["for"] == "phase" else one

    @classmethod
    def issues(cls, plain: Any) -> Iterator[DocumentIssue]:
        condition = plain["for"]
        if condition == "phase":
            yield from _check_phase(plain)
        elif "is" in plain:
            message = "only a wait for `phase` says what it is; remove it, or"
            yield DocumentIssue(("is",), f"{message} {condition!r}", of_key=True)
        if condition == "gone" and "count" in plain:
            message = "what is gone cannot be counted; remove `count`"
            yield DocumentIssue(("count",), message, of_key=True)
        yield from _check_stable(plain)

    def in_words(self) -> str:
        return f"wait until {self.awaited()}"

    def awaited(self) -> str:
        """Return what is waited for."""
        return f"{self._state()}{_show_stable(self.stable_s)}"

    def _state(self) -> str:
        if self.condition == "phase":
            return f"{join_names(self.of)} is {self.phase}"
        whose = f" of {join_names(self.of)}" if self.of else ""
        if self.condition == "gone":
            return f"no pod{whose} is left"
        one, many = _STATES[self.condition]
        if self.count == 1:
            return f"a pod{whose} {one}"
        pods = "all pods" if self.count is None else f"{self.count} pods"
        return f"{pods}{whose} {many}"

    @property
    def own_timeout_s(self) -> float | None:
        return self.timeout_s


@dataclass(frozen=True, slots=True)
class Check(Action):
    """Expect something in the middle; it must hold before the deadline."""

    kind = "check"
    deadline = Deadline("For what a step expects to come true.", "check")
    keywords: ClassVar[Mapping[str, Any]] = {"minProperties": 1}
    expect: Annotated[ExpectedMoment, setting("What.", beside=True)]
    since: Annotated[
        str,
        setting(
            "The checkpoint before, which `utilisation_delta` counts from, and than "
            "which no priority may be worse off.",
            names="checkpoint",
        ),
    ] = ""
    stable_s: Stable = 0.0
    timeout_s: Timeout = None

    @classmethod
    def issues(cls, plain: Any) -> Iterator[DocumentIssue]:
        if "utilisation_delta" in plain and "since" not in plain:
            message = "a change counts from a checkpoint; name it as `since`"
            yield DocumentIssue(("utilisation_delta",), message, of_key=True)
        yield from _check_stable(plain)

    def in_words(self) -> str:
        since = f", compared with {self.since}," if self.since else ""
        return f"expect what follows{since} to hold{_show_stable(self.stable_s)}"

    @property
    def own_timeout_s(self) -> float | None:
        return self.timeout_s


@dataclass(frozen=True, slots=True)
class Checkpoint(Action):
    """Note pods, nodes and utilisation as they are now, under a name.

    Reports show the checkpoints side by side, and a later `check` may be `since` one.

    Attributes
    ----------
    expect, since
        What must hold now, and the checkpoint that it must not be worse than.
    awaited
        Whether it may come true until the deadline for the end, and pods must then
        come to rest.
    """

    kind = "checkpoint"
    bare = True
    name: Annotated[str, setting("Its name.", format="label")]
    expect: ExpectedMoment = field(default_factory=ExpectedMoment)
    since: str = ""
    awaited: bool = False

    def in_words(self) -> str:
        return f"note the checkpoint {self.name}"


END = "end"
"""The checkpoint that every scenario ends with, where its file has steps."""

FAILED = "failed"
"""The checkpoint of a scenario that a step has ended early."""


def _show_stable(seconds: float) -> str:
    return f" and no pod has changed for {seconds:g} s" if seconds else ""


def _check_stable(plain: Any) -> Iterator[DocumentIssue]:
    """A state cannot be stable for longer than is waited for it."""
    stable_s, timeout_s = plain.get("stable_s", 0), plain.get("timeout_s")
    if timeout_s is not None and stable_s >= timeout_s:
        message = f"stable_s {stable_s} is not below timeout_s {timeout_s}"
        yield DocumentIssue(("stable_s",), f"{message}; change one of them")


def _check_phase(plain: Any) -> Iterator[DocumentIssue]:
    if "is" not in plain:
        message = "a wait for a phase says which; add `is`, as in is: Available"
        yield DocumentIssue((), message)
    if not isinstance(plain.get("of"), str):
        message = "a wait for a phase is of one object; write its name as `of`"
        yield DocumentIssue((), message)
    if "count" in plain:
        message = f"only {', '.join(POD_CONDITIONS)} count pods; remove `count`"
        yield DocumentIssue(("count",), message, of_key=True)
