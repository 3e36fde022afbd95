"""What must be so of a run as a whole: of its plans, and once it has come to rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from itertools import groupby

from stowage_testbed.invariants.history import History, Violation
from stowage_testbed.observe.change import Change, Verb, uid_of
from stowage_testbed.observe.plan import read_plan
from stowage_testbed.observe.pod import Pod, key_of

COUNTED = ("ReplicaSet", "StatefulSet")
LIVE = frozenset({"Solving", "Executing"})


def no_pod_lost(history: History) -> Iterator[Violation]:
    """Yield controllers that have fewer pods than they ask for."""
    alive = Counter(pod.owner_uid for pod in history.pods().values() if pod.live)
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
    first = next((position for position, change in enumerate(history.changes) if shows_a_plan(change)), None)
    if first is None or _disrupted_by_others(history):
        return
    before, after = history.pods(first).values(), history.pods().values()
    if _count(before, placed=False) != _count(after, placed=False):
        return
    was, now = _count(before, placed=True), _count(after, placed=True)
    for priority in sorted({*was, *now}, reverse=True):
        if now[priority] > was[priority]:
            return
        if now[priority] < was[priority]:
            yield Violation(
                "fewer-placed", f"priority {priority}", f"{now[priority]} pods run, {was[priority]} did before"
            )
            return


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


def _count(pods: Collection[Pod], *, placed: bool) -> Counter[int]:
    """Return the pods of each priority, or those that have a node."""
    return Counter(pod.priority for pod in pods if pod.live and (pod.node or not placed))


def one_live_plan(history: History) -> Iterator[Violation]:
    """Yield the moments at which a plan began while another one was live.

    A list shows all plans of one moment: only what it shows together counts.
    """
    live: dict[str, str] = {}
    for receipt, batch in groupby(history.of("PackingPlan"), lambda one: one.receipt):
        before = frozenset(live)
        for change in batch:
            live.pop(change.name, None)
            phase = (change.body.get("status") or {}).get("phase", "")
            if phase in LIVE and change.verb is not Verb.DELETED:
                live[change.name] = phase
        for name in sorted(live.keys() - before):
            if len(live) > 1:
                others = ", ".join(sorted(live.keys() - {name}))
                yield Violation("one-live-plan", name, f"{live[name]} while {others} was live", receipt.wall_text())


def shows_a_plan(change: Change) -> bool:
    """Return whether a change shows a plan of this run.

    One that goes, or was over before anybody looked, may be of an earlier run.
    """
    if change.kind != "PackingPlan" or change.verb is Verb.DELETED:
        return False
    return change.verb is not Verb.LISTED or not read_plan(change.body).finished


def no_plan_left_open(history: History) -> Iterator[Violation]:
    """Yield plans that have not ended although the run has come to rest."""
    for body in history.present("PackingPlan").values():
        plan = read_plan(body)
        if not plan.finished:
            phase = plan.phase or "not taken up"
            yield Violation("plan-left-open", plan.name, f"it is still {phase}")
