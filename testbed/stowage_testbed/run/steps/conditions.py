"""When pods, or one object, have come as far as a step waits for."""

from __future__ import annotations

from collections.abc import Callable, Collection

from stowage_testbed.observe.change import JsonObject
from stowage_testbed.observe.condition import SHOWN, Condition, ConditionResult
from stowage_testbed.observe.plan import FINISHED_PHASES as PLAN_OVER
from stowage_testbed.observe.pod import Pod
from stowage_testbed.observe.state import State

PLAN_ORDER = ("", "Pending", "Solving", "Proposed", "Executing", "Completed")
"""A plan passes through its phases so fast that a watcher may miss one."""

FINAL_PHASES = frozenset({"Failed", "Succeeded", *PLAN_OVER})


def some_pods(namespace: str, of: Collection[str], count: int, state: str) -> Condition:
    """Hold when ``count`` pods are in a state; `decided` and `gone` are of all.

    Parameters
    ----------
    namespace, of
        Whose pods: of these workloads, or of all if none is named.
    count
        How many, at least.
    state
        A condition of `stowage_testbed.scenario.steps.waiting.Wait`, except `phase`.
    """
    if state == "gone":
        return _gone(namespace, of)
    if state == "settled":
        return _decided(namespace, of, count)
    is_such = _IS_IN[state]

    def condition(seen: State) -> ConditionResult:
        pods = _list_pods(seen, namespace, of)
        number = sum(is_such(pod) for pod in pods)
        words = f"{number} of {count} pods are {state}; {_explain(pods)}"
        return ConditionResult(number >= count, words)

    return condition


def in_phase(kind: str, name: str, phase: str, seen: Callable[[State], JsonObject | None]) -> Condition:
    """Hold when an object is in a phase; a plan also when it has gone on from it.

    Parameters
    ----------
    seen
        Returns the object as the watches have it.
    """

    def condition(state: State) -> ConditionResult:
        body = seen(state)
        if body is None:
            return ConditionResult(False, f"{kind} {name} is not there")
        status = body.get("status") or {}
        now = str(status.get("phase", ""))
        words = f"{kind} {name} is {now or 'in no phase yet'}{_list_reasons(status)}"
        if now == phase or (kind == "PackingPlan" and _is_past(now, phase)):
            return ConditionResult(True, words)
        return ConditionResult(False, words, error=words if now in FINAL_PHASES else "")

    return condition


def _gone(namespace: str, of: Collection[str]) -> Condition:
    def condition(state: State) -> ConditionResult:
        left = [p for p in _list_pods(state, namespace, of) if not p.finished]
        names = ", ".join(pod.name for pod in left[:SHOWN])
        return ConditionResult(not left, f"{len(left)} pods are left: {names}")

    return condition


def _decided(namespace: str, of: Collection[str], count: int) -> Condition:
    def condition(state: State) -> ConditionResult:
        pods = _list_pods(state, namespace, of)
        leaving = sum(pod.terminating for pod in pods)
        number = sum(_is_bound(pod) or _is_refused(pod) for pod in pods)
        holds = number >= count and not leaving and number == len(pods)
        words = f"{number} of {count} pods are decided, {leaving} are leaving"
        return ConditionResult(holds, f"{words}; {_explain(pods)}")

    return condition


def _list_pods(state: State, namespace: str, of: Collection[str]) -> list[Pod]:
    pods = state.all_pods(namespace)
    return [pod for pod in pods if pod.workload in of] if of else pods


def _is_bound(pod: Pod) -> bool:
    """Return whether the pod has its node, or had it until it was done."""
    return pod.bound and not pod.terminating


def _is_refused(pod: Pod) -> bool:
    return pod.unschedulable and not pod.terminating


_IS_IN: dict[str, Callable[[Pod], bool]] = {
    "bound": _is_bound,
    "ready": lambda pod: (pod.ready and not pod.terminating) or pod.finished,
    "unschedulable": _is_refused,
    "terminating": lambda pod: pod.terminating,
}


def _explain(pods: list[Pod]) -> str:
    pending = [pod for pod in pods if not pod.bound]
    text = f"{len(pods)} exist, {len(pending)} without a node"
    named = "; ".join(pod.why_pending() for pod in pending[:SHOWN])
    more = f"; and {len(pending) - SHOWN} more" if len(pending) > SHOWN else ""
    return f"{text} ({named}{more})" if pending else text


def _is_past(now: str, phase: str) -> bool:
    known = now in PLAN_ORDER and phase in PLAN_ORDER
    return known and PLAN_ORDER.index(now) > PLAN_ORDER.index(phase)


def _list_reasons(status: object) -> str:
    """Return what the conditions that do not hold say."""
    conditions = status.get("conditions") if isinstance(status, dict) else None
    said = [
        f"{one.get('reason', '')}: {one.get('message', '')}".strip(": ")
        for one in conditions or ()
        if one.get("status") != "True"
    ]
    return f" ({'; '.join(filter(None, said))})" if any(said) else ""
