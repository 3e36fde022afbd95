"""When a fault begins, and when the cluster has recovered: conditions on the state."""

from __future__ import annotations

from collections.abc import Collection

from benchmarks.faults.settings import FaultSettings
from stowage_testbed.invariants.reserved import kept_out
from stowage_testbed.observe.condition import Condition, ConditionResult
from stowage_testbed.observe.plan import ObservedPlan
from stowage_testbed.observe.pod_body import controller_of, is_live_and_ready, key_of
from stowage_testbed.observe.settled import plans_in_words, pods_in_words
from stowage_testbed.observe.state import State

STAGES = ("Solving", "Proposed", "Executing")
"""Phases of a plan that lives, in their order."""


def moment_of(settings: FaultSettings, namespace: str, settled: Collection[str]) -> Condition:
    """Hold at the fault's moment; say that it is missed once the plan is over.

    ``settled`` are UIDs of the pods that had a node before anything was planned.
    """

    def condition(state: State) -> ConditionResult:
        plans = state.plans()
        come = _has_come(settings, state, namespace, settled)
        over = bool(plans) and plans[-1].finished and not plans[-1].broken
        missed = over and not come and settings.at != "unschedulable"
        words = plans_in_words(plans)
        return ConditionResult(come, words, error=f"it is over: {words}" if missed else "")

    return condition


def _has_come(settings: FaultSettings, state: State, namespace: str, settled: Collection[str]) -> bool:
    match settings.at:
        case "unschedulable":
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


def recovered(namespace: str, release_namespace: str) -> Condition:
    """Hold when every pod exists and is placed as well as possible.

    Every controller has the pods it wants, each of them is bound or refused, no plan
    is active, no pod is kept out by room of one that has ended, and for pods without a
    node no other plan is to be expected. Plans that failed or were given up do not
    matter. The pods of the release must be ready.
    """

    def condition(state: State) -> ConditionResult:
        pods, plans = state.pods(namespace), state.plans()
        wanted = _wanted(state, namespace)
        serving = all(is_live_and_ready(body) for body in state.bodies("Pod", release_namespace))
        words = (
            f"{pods_in_words(pods, wanted)}; {plans_in_words(plans)}; the release is {'' if serving else 'not '}ready"
        )
        leaving = len(state.all_pods(namespace)) != len(pods)
        decided = all(pod.bound or pod.unschedulable for pod in pods)
        placed = all(pod.bound for pod in pods)
        last = bool(plans) and plans[-1].conclusive
        out = kept_out(state.bodies("Pod", namespace), state.bodies("Reservation"), state.bodies("PackingPlan"))
        held = [key_of(body) for body in out]
        words += f"; {len(held)} pods wait for room that is not held"
        settled = serving and decided and not leaving and len(pods) == wanted
        done = all(plan.finished for plan in plans) and (placed or last)
        return ConditionResult(settled and done and not held, words)

    return condition


def _wanted(state: State, namespace: str) -> int:
    """Return how many pods there should be: those of controllers, and bare ones."""
    asked = sum(
        int((body.get("spec") or {}).get("replicas") or 0)
        for body in state.bodies("ReplicaSet", namespace)
        if not body["metadata"].get("deletionTimestamp")
    )
    bare = sum(
        not controller_of(body)
        for body in state.bodies("Pod", namespace)
        if not body["metadata"].get("deletionTimestamp")
    )
    return asked + bare
