"""What must be true once a run has come to rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping

from stowage_testbed.invariants.facts import PodFacts
from stowage_testbed.invariants.history import History
from stowage_testbed.invariants.plan import shows_a_plan
from stowage_testbed.invariants.violation import Violation
from stowage_testbed.observe.change import Verb, uid_of
from stowage_testbed.observe.pod_body import key_of

COUNTED = ("ReplicaSet", "StatefulSet")


def no_pod_lost(history: History) -> Iterator[Violation]:
    """Yield controllers that have fewer pods than they ask for."""
    alive = Counter(pod.controller for pod in history.pods().values() if pod.live)
    for kind in COUNTED:
        for body in history.present(kind).values():
            wanted = int((body.get("spec") or {}).get("replicas") or 0)
            have = alive[uid_of(body)]
            if have < wanted and not body["metadata"].get("deletionTimestamp"):
                yield Violation("lost-pod", f"{kind} {key_of(body)}", f"{have} pods of {wanted}")


def never_fewer_placed(history: History) -> Iterator[Violation]:
    """Yield the first priority of which fewer pods run than before the first plan.

    Read from the highest priority down: the first difference decides. Where pods were
    added or taken away by others, or nodes changed, the two cannot be compared, and
    nothing is said.
    """
    before = _at_first_plan(history)
    if before is None or _disrupted_by_others(history):
        return
    after = history.pods().values()
    if _asked(before) != _asked(after):
        return
    was, now = _placed(before), _placed(after)
    for priority in sorted({*was, *now}, reverse=True):
        if now[priority] > was[priority]:
            return
        if now[priority] < was[priority]:
            yield Violation(
                "fewer-placed", f"priority {priority}", f"{now[priority]} pods run, {was[priority]} did before"
            )
            return


def _at_first_plan(history: History) -> Collection[PodFacts] | None:
    """Return the pods as they were when the first plan was made."""
    for position, change in enumerate(history.changes):
        if shows_a_plan(change):
            return history.pods(position).values()
    return None


def _disrupted_by_others(history: History) -> bool:
    """Return whether a node change after the first plan could cost placements."""
    planned = False
    seen: dict[str, object] = {}
    for change in history.of("Node", "PackingPlan"):
        if change.kind == "PackingPlan":
            planned = planned or shows_a_plan(change)
            continue
        state = (
            (change.body.get("status") or {}).get("allocatable"),
            (change.body.get("spec") or {}).get("taints"),
            (change.body.get("spec") or {}).get("unschedulable"),
        )
        gone = change.verb is Verb.DELETED
        if planned and (gone or seen.get(change.name, state) != state):
            return True
        seen[change.name] = state
    return False


def _asked(pods: Collection[PodFacts]) -> Mapping[int, int]:
    return Counter(pod.priority for pod in pods if pod.live)


def _placed(pods: Collection[PodFacts]) -> Counter[int]:
    return Counter(pod.priority for pod in pods if pod.live and pod.node)
