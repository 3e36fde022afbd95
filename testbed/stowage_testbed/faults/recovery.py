"""When has a cluster recovered from a fault? A condition on the watched state."""

from __future__ import annotations

from stowage_testbed.invariants.pod import controller_of, key_of, ready
from stowage_testbed.invariants.reserved import kept_out
from stowage_testbed.observe.settled import Condition, plans_in_words, pods_in_words
from stowage_testbed.observe.state import State
from stowage_testbed.observe.verdict import Verdict


def recovered(namespace: str, release_namespace: str) -> Condition:
    """Hold when every pod exists and is placed as well as possible.

    Every controller has the pods it wants, each of them is bound or refused, no plan
    is active, no pod is kept out by room of one that has ended, and pods without a
    node are proved not to fit by the newest plan. Plans that failed or were given up
    do not matter.

    Parameters
    ----------
    namespace
        The scenario's.
    release_namespace
        Where scheduler and optimiser run; their pod must be ready.
    """

    def condition(state: State) -> Verdict:
        pods, plans = state.pods(namespace), state.plans()
        wanted = _wanted(state, namespace)
        serving = all(ready(body) for body in state.bodies("Pod", release_namespace))
        words = (
            f"{pods_in_words(pods, wanted)}; {plans_in_words(plans)}; "
            f"the release is {'' if serving else 'not '}ready"
        )
        leaving = len(state.all_pods(namespace)) != len(pods)
        decided = all(pod.bound or pod.unschedulable for pod in pods)
        placed = all(pod.bound for pod in pods)
        proved = bool(plans) and plans[-1].conclusive
        out = kept_out(
            state.bodies("Pod", namespace),
            state.bodies("Reservation"),
            state.bodies("PackingPlan"),
        )
        held = [key_of(body) for body in out]
        words += f"; {len(held)} pods wait for room that is not held"
        settled = serving and decided and not leaving and len(pods) == wanted
        done = all(plan.finished for plan in plans) and (placed or proved)
        return Verdict(settled and done and not held, words)

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
