"""`check`: no overcommit, allowed evictions only, gangs placed whole, and what holds of plans and at the end."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from http import HTTPStatus
from itertools import groupby

from stowage_testbed.invariants.budget import no_budget_broken
from stowage_testbed.invariants.devices import no_device_overcommit
from stowage_testbed.invariants.gangs import no_gang_half_placed
from stowage_testbed.invariants.history import Evicted, History, Occupancy, Violation
from stowage_testbed.invariants.reserved import no_plan_room_taken, no_room_left_held, reservations_balance
from stowage_testbed.observe.change import Change, Verb, uid_of
from stowage_testbed.observe.node import read_node
from stowage_testbed.observe.plan import phase_of, read_plan
from stowage_testbed.observe.pod import Pod, key_of

UNDER_WAY_NS = 500_000_000  # How long a pod that was sent to a node before it shrank may be on its way there


def no_overcommit(history: History) -> Iterator[Violation]:
    """Yield the pods that came to a node without room; on one that shrank they may arrive if they were bound before."""
    cluster = Occupancy()
    for change, pod in history.steps:
        known = cluster.take(change, pod)
        if pod is None or change.verb is Verb.DELETED or not pod.takes_room or pod.node not in cluster.rooms:
            continue
        # When a pod that a list shows for the first time was bound is unknown.
        if known.node if known else change.verb is Verb.LISTED:
            continue
        room = cluster.rooms[pod.node]
        under_way = change.receipt.monotonic_ns - room.since_ns <= UNDER_WAY_NS
        for resource in pod.requests:
            taken = cluster.taken[pod.node][resource]
            there = max(room.amounts[resource], room.former[resource]) if under_way else room.amounts[resource]
            if taken > there:
                detail = f"{resource}: {taken} of {there} taken"
                yield Violation("overcommit", f"{pod.key} on {pod.node}", detail, change.receipt.wall_text())


SYSTEM_CRITICAL = 2_000_000_000
MIRROR = "kubernetes.io/config.mirror"
SOURCE = "kubernetes.io/config.source"
SAFE_TO_EVICT = "cluster-autoscaler.kubernetes.io/safe-to-evict"
DO_NOT_DISRUPT = "karpenter.sh/do-not-disrupt"
DO_NOT_MOVE = "stowage.dev/do-not-move"

REPLACING = ("ReplicaSet", "ReplicationController", "StatefulSet", "Job")
"""Controllers that make a new pod for one that was evicted, to run anywhere."""


def _annotation(evicted: Evicted, name: str) -> str | None:
    """Return an annotation, which may be there and empty."""
    value = (evicted.body["metadata"].get("annotations") or {}).get(name)
    return None if value is None else str(value)


PROTECTED: dict[str, Callable[[Evicted], bool]] = {
    "in kube-system": lambda one: one.pod.namespace == "kube-system",
    "system-critical": lambda one: one.pod.priority >= SYSTEM_CRITICAL,
    "of no controller": lambda one: not one.pod.owner_kind,
    "of a DaemonSet": lambda one: one.pod.owner_kind == "DaemonSet",
    "of an unknown controller": lambda one: one.pod.owner_kind not in {"", *REPLACING, "DaemonSet"},
    "a mirror pod": lambda one: _annotation(one, MIRROR) is not None,
    "a static pod": lambda one: _annotation(one, SOURCE) not in {None, "api"},
    "opted out": lambda one: (
        _annotation(one, DO_NOT_MOVE) not in {None, "false"}
        or _annotation(one, DO_NOT_DISRUPT) == "true"
        or _annotation(one, SAFE_TO_EVICT) == "false"
    ),
    "bound to its node's disk": lambda one: any(
        volume.get("hostPath") for volume in (one.body.get("spec") or {}).get("volumes") or ()
    ),
    "not bound": lambda one: not one.pod.bound,
    "not started": lambda one: one.pod.phase == "Pending",
    "finished": lambda one: one.pod.finished,
}
"""Written down a second time, apart from the scheduler's own rules."""


def planned_evictions(history: History) -> Iterator[Violation]:
    """Yield evictions by the scheduler of pods that no plan stored before the eviction names."""
    stored = _first_stored_ns(history)
    for evicted in history.evictions:
        if not evicted.by_scheduler:
            continue
        if evicted.pod.uid not in stored:
            detail = "no plan names it"
        elif stored[evicted.pod.uid] > evicted.entry.stage_ns:
            detail = "it was evicted before its plan was stored"
        else:
            continue
        yield Violation("planned-eviction", evicted.pod.key, detail)


def evicted_once(history: History) -> Iterator[Violation]:
    """Yield pods of which more than one eviction was granted."""
    counts = Counter((evicted.pod.uid, evicted.pod.key) for evicted in history.evictions)
    for (_, key), count in counts.items():
        if count > 1:
            yield Violation("evicted-once", key, f"evicted {count} times")


def no_protected_pod_evicted(history: History) -> Iterator[Violation]:
    """Yield evictions by the scheduler, not by users, of pods that it must never disrupt."""
    for evicted in history.evictions:
        if not evicted.by_scheduler:
            continue
        for why, applies in PROTECTED.items():
            if applies(evicted):
                yield Violation("protected", evicted.pod.key, f"it is {why}")


def _first_stored_ns(history: History) -> dict[str, int]:
    """Return, by UID, when a plan naming the pod was first stored: its second status; the first says `Solving`."""
    written: dict[str, list[int]] = {}
    for entry in history.audit:
        if (entry.resource, entry.subresource, entry.code) == ("packingplans", "status", HTTPStatus.OK):
            written.setdefault(entry.name, []).append(entry.stage_ns)
    for times_ns in written.values():
        times_ns.sort()
    freed_ns: dict[str, int] = {}
    since_ns: dict[str, int] = {}
    stored: dict[str, int] = {}
    for change in history.of("PackingPlan"):
        if change.verb is Verb.DELETED:
            freed_ns[change.name] = change.receipt.wall_ns
            continue
        # What was written before is of an earlier plan of that name.
        since = since_ns.setdefault(change.uid, freed_ns.get(change.name, 0))
        own = written.get(change.name, [])
        second = bisect_right(own, since) + 1
        at = min([change.receipt.wall_ns, *own[second : second + 1]])
        status = change.body.get("status") or {}
        for step in (*(status.get("moves") or ()), *(status.get("evictions") or ())):
            stored[step["podUID"]] = min(at, stored.get(step["podUID"], at))
    return stored


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
    """Yield the first priority of which fewer pods run than before the first plan, unless others disrupted."""
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
        node, gone = read_node(change.body), change.verb is Verb.DELETED
        state = node.allocatable, node.taints, node.unschedulable
        if planned and (gone or seen.get(change.name, state) != state):
            return True
        seen[change.name] = state
    return False


def _count(pods: Collection[Pod], *, placed: bool) -> Counter[int]:
    """Return the pods of each priority, or those that have a node."""
    return Counter(pod.priority for pod in pods if pod.live and (pod.node or not placed))


def one_live_plan(history: History) -> Iterator[Violation]:
    """Yield the moments at which a plan began while another was live; a list shows all plans of one moment."""
    live: dict[str, str] = {}
    for receipt, batch in groupby(history.of("PackingPlan"), lambda one: one.receipt):
        before = frozenset(live)
        for change in batch:
            live.pop(change.name, None)
            phase = phase_of(change.body)
            if phase in LIVE and change.verb is not Verb.DELETED:
                live[change.name] = phase
        for name in sorted(live.keys() - before):
            if len(live) > 1:
                others = ", ".join(sorted(live.keys() - {name}))
                yield Violation("one-live-plan", name, f"{live[name]} while {others} was live", receipt.wall_text())


def shows_a_plan(change: Change) -> bool:
    """Return whether a change shows a plan of this run, not one that goes or was finished when first listed."""
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


Rule = Callable[[History], Iterator[Violation]]
RULES: tuple[Rule, ...] = (
    no_overcommit,
    no_device_overcommit,
    no_budget_broken,
    no_protected_pod_evicted,
    planned_evictions,
    evicted_once,
    no_pod_lost,
    never_fewer_placed,
    no_gang_half_placed,
    reservations_balance,
    no_plan_room_taken,
    no_room_left_held,
    one_live_plan,
    no_plan_left_open,
)


def check(history: History) -> list[Violation]:
    """Return every violation, rule by rule."""
    return [violation for rule in RULES for violation in rule(history)]
