"""The moments at which faults begin, as conditions on the watched state."""

from __future__ import annotations

from collections.abc import Collection

from stowage_testbed.observe.plan import ObservedPlan
from stowage_testbed.observe.settled import Condition, plans_in_words
from stowage_testbed.observe.state import State
from stowage_testbed.observe.verdict import Verdict
from stowage_testbed.scenario.model import FaultSettings

STAGES = ("Solving", "Proposed", "Executing")
"""Phases of a plan that lives, in their order."""


def moment_of(
    settings: FaultSettings, namespace: str, settled: Collection[str]
) -> Condition:
    """Hold at the fault's moment; say that it is missed once the plan is over.

    Parameters
    ----------
    settings
        Which moment.
    namespace
        Where the pods are.
    settled
        UIDs of the pods that had a node before anything was planned.
    """

    def condition(state: State) -> Verdict:
        plans = state.plans()
        come = _has_come(settings, state, namespace, settled)
        over = bool(plans) and plans[-1].finished and not plans[-1].broken
        missed = over and not come and settings.at != "refused"
        words = plans_in_words(plans)
        return Verdict(come, words, error=f"it is over: {words}" if missed else "")

    return condition


def _has_come(
    settings: FaultSettings, state: State, namespace: str, settled: Collection[str]
) -> bool:
    match settings.at:
        case "refused":
            return any(pod.unschedulable for pod in state.pods(namespace))
        case "evicted":
            left = set(settled) - {pod.uid for pod in state.pods(namespace)}
            return len(left) >= settings.count
        case "arrived":
            new = [pod for pod in state.pods(namespace) if pod.uid not in settled]
            return sum(pod.bound for pod in new) >= settings.count
        case at:
            return any(_is_at(plan, at.capitalize()) for plan in state.plans())


def _is_at(plan: ObservedPlan, stage: str) -> bool:
    """Return whether a plan that lives has come so far, or farther."""
    return plan.phase in STAGES[STAGES.index(stage) :]
