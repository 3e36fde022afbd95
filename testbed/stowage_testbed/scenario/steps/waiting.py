"""The step that waits until pods, or an object, have come so far."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from stowage_testbed.observe.change import JsonObject
from stowage_testbed.observe.condition import SHOWN, ConditionResult, condition, find_incomplete_gangs, pods_in_words
from stowage_testbed.observe.plan import FINISHED_PHASES as PLAN_OVER
from stowage_testbed.observe.pod import Pod
from stowage_testbed.observe.state import State
from stowage_testbed.scenario.steps.action import Action, Where, check_stable, join_names
from stowage_testbed.scenario.steps.context import StepContext
from stowage_testbed.scenario.types import Filled, Names, Of, Seconds, Some, Sort, Stable

WaitedFor = Literal["bound", "ready", "unschedulable", "settled", "terminating", "gone", "phase"]
"""What a step can wait for."""


@dataclass(frozen=True, slots=True)
class Wait(Action):
    """Wait until pods or an object have come so far."""

    kind = "wait"
    deadline = "settle"
    for_: WaitedFor
    """bound: they have a node. ready: they run. unschedulable: the scheduler found no node. settled: all are bound or
    unschedulable, or of a gang of which fewer pods exist than it needs. terminating: they are being deleted. gone: none
    is left. phase: the object is in the phase that `is` names."""
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
        check_stable(self.stable_s, self.timeout_s)

    def uses(self) -> Iterator[tuple[Where, str, Sort]]:
        """Yield what it waits for."""
        for place, name, sort in Action.uses(self):
            yield place, name, "phased" if self.for_ == "phase" else sort

    def carry_out(self, context: StepContext) -> None:
        if self.for_ == "phase":
            (name,) = self.of
            item = context.scenario.objects.get(name)
            kind = item.kind if item else "PackingPlan"
            words = f"{name} is {self.is_}"
            reached = in_phase(kind, name, self.is_, lambda state: context.find_observed(state, name))
        else:
            asked = sum(context.demand[name] for name in self.of or context.demand)
            whose = f" of {join_names(self.of)}" if self.of else ""
            stable = f" and no pod has changed for {self.stable_s:g} s" if self.stable_s else ""
            words = f"{self.count or 'all'} pods{whose} are {self.for_}{stable}"
            reached = some_pods(context.namespace, self.of, self.count or asked, self.for_)
        context.wait_for(f"it to hold that {words}", reached, stable_s=self.stable_s)


PLAN_ORDER = ("", "Pending", "Solving", "Proposed", "Executing", "Completed")
"""A plan passes through its phases so fast that a watcher may miss one."""

FINAL_PHASES = frozenset({"Failed", "Succeeded", *PLAN_OVER})


@condition
def some_pods(seen: State, namespace: str, of: Collection[str], count: int, state: str) -> ConditionResult:
    """Hold when ``count`` pods are in a state; `settled` and `gone` are of all."""
    pods = [pod for pod in seen.all_pods(namespace) if not of or pod.workload in of]
    if state == "gone":
        left = [pod.name for pod in pods if not pod.finished]
        return ConditionResult(not left, f"{len(left)} pods are left: {', '.join(left[:SHOWN])}")
    if state == "settled":
        leaving = sum(pod.terminating for pod in pods)
        lacking = find_incomplete_gangs(seen, namespace)
        decided = (pod.bound or pod.unschedulable or pod.group in lacking for pod in pods if not pod.terminating)
        number = sum(decided)
        words = f"{number} of {count} pods are decided, {leaving} are leaving; {pods_in_words(pods, count)}"
        return ConditionResult(number >= count and not leaving and number == len(pods), words)
    number = sum(_IS_IN[state](pod) for pod in pods)
    return ConditionResult(number >= count, f"{number} of {count} pods are {state}; {pods_in_words(pods, count)}")


@condition
def in_phase(
    state: State, kind: str, name: str, phase: str, find: Callable[[State], JsonObject | None]
) -> ConditionResult:
    """Hold when an object is in a phase; a plan also when it has gone on from it."""
    body = find(state)
    if body is None:
        return ConditionResult(False, f"{kind} {name} is not there")
    status = body.get("status") or {}
    now = str(status.get("phase", ""))
    words = f"{kind} {name} is {now or 'in no phase yet'}{_list_reasons(status)}"
    is_plan = kind == "PackingPlan" and {now, phase} <= set(PLAN_ORDER)
    if now == phase or (is_plan and PLAN_ORDER.index(now) > PLAN_ORDER.index(phase)):
        return ConditionResult(True, words)
    return ConditionResult(False, words, error=words if now in FINAL_PHASES else "")


_IS_IN: dict[str, Callable[[Pod], bool]] = {
    # It has its node, or had it until it was done.
    "bound": lambda pod: pod.bound and not pod.terminating,
    "ready": lambda pod: (pod.ready and not pod.terminating) or pod.finished,
    "unschedulable": lambda pod: pod.unschedulable and not pod.terminating,
    "terminating": lambda pod: pod.terminating,
}


def _list_reasons(status: object) -> str:
    """Return what the conditions that do not hold say."""
    conditions = status.get("conditions") if isinstance(status, dict) else None
    said = [
        f"{one.get('reason', '')}: {one.get('message', '')}".strip(": ")
        for one in conditions or ()
        if one.get("status") != "True"
    ]
    return f" ({'; '.join(filter(None, said))})" if any(said) else ""
