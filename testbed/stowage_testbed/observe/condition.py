"""Conditions on what the watches have seen, and the error of waiting for one in vain."""

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import wraps
from typing import Concatenate, ParamSpec

from stowage_testbed.base.errors import StowageError
from stowage_testbed.observe.change import name_of
from stowage_testbed.observe.plan import ObservedPlan
from stowage_testbed.observe.pod import Pod
from stowage_testbed.observe.pod_group import POD_GROUP, read_min_count
from stowage_testbed.observe.state import State
from stowage_testbed.text.tables import first_of

P = ParamSpec("P")
SHOWN = 5  # Pods named in a state's text; more are counted


@dataclass(frozen=True, slots=True)
class ConditionResult:
    """Whether a condition holds, and what was seen, in words; with an ``error``, why it can never be met any more."""

    holds: bool
    state: str
    error: str = ""


Condition = Callable[[State], ConditionResult]


class UnreachableStateError(StowageError):
    """A state that was waited for can no longer come."""


def condition(look: Callable[Concatenate[State, P], ConditionResult]) -> Callable[P, Condition]:
    """Make what looks at a state into a function that returns a condition, given all else that it takes."""

    @wraps(look)
    def make(*given: P.args, **named: P.kwargs) -> Condition:
        return lambda state: look(state, *given, **named)

    return make


@condition
def pods_decided(state: State, namespace: str, count: int) -> ConditionResult:
    """Hold when there are ``count`` live pods, each bound, found unschedulable, or of a gang that lacks pods."""
    pods, lacking = state.pods(namespace), find_incomplete_gangs(state, namespace)
    decided = sum(pod.bound or pod.unschedulable or pod.group in lacking for pod in pods)
    leaving = any(pod.terminating for pod in state.all_pods(namespace))
    return ConditionResult(len(pods) == count == decided and not leaving, pods_in_words(pods, count))


@condition
def pods_placed(state: State, namespace: str, count: int) -> ConditionResult:
    """Hold when there are ``count`` live pods and each has a node."""
    pods = state.pods(namespace)
    return ConditionResult(len(pods) == count == sum(pod.bound for pod in pods), pods_in_words(pods, count))


@condition
def at_rest(state: State, namespace: str, count: int) -> ConditionResult:
    """Hold when no plan lives, and every pod is bound or found unschedulable; never after a plan that failed."""
    plans, decided = state.plans(), pods_decided(namespace, count)(state)
    words = f"{decided.state}; {plans_in_words(plans)}"
    if broken := [plan for plan in plans if plan.broken]:
        return ConditionResult(False, words, error=broken[-1].in_words())
    return ConditionResult(decided.holds and all(plan.finished for plan in plans), words)


@condition
def packed(state: State, namespace: str, count: int) -> ConditionResult:
    """Hold at rest, when all pods are placed, or the newest plan was optimal or found no improvement."""
    rest, plans = at_rest(namespace, count)(state), state.plans()
    placed = all(pod.bound for pod in state.pods(namespace))
    last = bool(plans) and plans[-1].conclusive
    return replace(rest, holds=rest.holds and (placed or last))


@condition
def plan_finished(state: State, name: str) -> ConditionResult:
    """Hold when the named plan is finished."""
    for plan in state.plans():
        if plan.name == name:
            return ConditionResult(plan.finished, plan.in_words())
    return ConditionResult(False, f"plan {name} is not there")


@condition
def objects_gone(state: State, kind: str, names: Collection[str]) -> ConditionResult:
    """Hold when no object of a kind has one of these names."""
    unwanted = frozenset(names)
    left = sorted(name for body in state.bodies(kind) if (name := name_of(body)) in unwanted)
    return ConditionResult(not left, f"{kind} still there: {first_of(left, SHOWN) or 'none'}")


@condition
def object_there(state: State, kind: str, namespace: str, name: str) -> ConditionResult:
    """Hold when an object is there."""
    names = sorted(name_of(body) for body in state.bodies(kind, namespace))
    return ConditionResult(name in names, f"{kind}s in {namespace}: {first_of(names, SHOWN) or 'none'}")


@condition
def pods_gone(state: State, namespace: str) -> ConditionResult:
    """Hold when a namespace has no pods, not even ones that go."""
    left = [pod.name for pod in state.all_pods(namespace)]
    return ConditionResult(not left, f"{len(left)} pods left: {', '.join(left[:SHOWN])}")


def find_incomplete_gangs(state: State, namespace: str) -> frozenset[str]:
    """Return the names of gangs that have fewer pods than they need: no scheduler tries these, or says anything."""
    groups = state.bodies(POD_GROUP, namespace)
    there = Counter(pod.group for pod in state.pods(namespace)) if groups else Counter[str]()
    return frozenset(name_of(one) for one in groups if there[name_of(one)] < read_min_count(one))


def pods_in_words(pods: list[Pod], expected: int) -> str:
    """Return how many pods are placed, and why the others are not."""
    pending = [pod for pod in pods if not pod.bound]
    text = f"{len(pods)} of {expected} pods exist, {len(pending)} without a node"
    named = "; ".join(pod.why_pending() for pod in pending[:SHOWN])
    more = f"; and {len(pending) - SHOWN} more" if len(pending) > SHOWN else ""
    return f"{text} ({named}{more})" if pending else text


def plans_in_words(plans: list[ObservedPlan]) -> str:
    """Return the newest plan in words."""
    if not plans:
        return "no plan was made"
    return f"{len(plans)} plans, the newest {plans[-1].in_words()}"
