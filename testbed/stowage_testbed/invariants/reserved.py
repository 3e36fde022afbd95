"""Room that is held: reservations report what their pods take, and nobody takes what a plan needs for its own pods."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from stowage_testbed.amounts.resources import ONE_POD, PODS, Resources, add_up
from stowage_testbed.api.label_selector import selects
from stowage_testbed.invariants.history import History, Occupancy, Violation
from stowage_testbed.observe.change import NS_PER_S, Change, JsonObject, Verb
from stowage_testbed.observe.plan import phase_of
from stowage_testbed.observe.pod import Pod

KEPT_OUT = "the room that is free is reserved for others"  # What the plugin Reservations says of a node that it refuses
REPORTED_AFTER_NS = 5 * NS_PER_S  # How long a pod may still report room that is free again: it is retried at once
UNDER_WAY_NS = NS_PER_S // 2  # How late a new pod or a changed node may be reported
BOUND_WITHIN_NS = 30 * NS_PER_S  # How long the binding of a pod may take that was decided before the plan began


def reservations_balance(history: History) -> Iterator[Violation]:
    """Yield reservations whose status is not the sum of what owners on their node took of them."""
    bodies = history.present("Pod")
    claims: dict[str, list[Pod]] = {}
    for pod in history.pods().values():
        if pod.reservation and pod.takes_room:
            claims.setdefault(pod.reservation, []).append(pod)
    for body in history.present("Reservation").values():
        metadata, status = body["metadata"], body.get("status") or {}
        if status.get("phase") != "Available":
            continue
        owners = (body.get("spec") or {}).get("owners") or ()
        taken = add_up(
            pod.requests.without(PODS)
            for pod in claims.get(metadata["uid"], ())
            if pod.node == status.get("nodeName") and any(_selected(one, bodies[pod.uid]) for one in owners)
        )
        reported = Resources.of_list(status.get("allocated") or {})
        if reported != taken:
            yield Violation("reservation-books", metadata["name"], f"it reports {reported}, its pods take {taken}")


def no_room_left_held(history: History) -> Iterator[Violation]:
    """Yield pods that are kept out at the end of room that is not held any more."""
    ended_ns = last_ns = 0
    for change in history.changes:
        last_ns = change.receipt.monotonic_ns
        if change.kind in {"Reservation", "PackingPlan"}:
            ended_ns = last_ns
    if last_ns - ended_ns < REPORTED_AFTER_NS:
        return
    held, plans = history.present("Reservation").values(), history.present("PackingPlan").values()
    for pod in kept_out(history.pods().values(), held, plans):
        yield Violation("room-left-held", pod.key, "it waits for it still")


def kept_out(pods: Iterable[Pod], reservations: Iterable[JsonObject], plans: Iterable[JsonObject]) -> Iterator[Pod]:
    """Yield the pods that are kept out of reserved room although none is reserved."""
    executing = any(phase_of(plan) == "Executing" for plan in plans)
    if not executing and not any(reservations):
        yield from (pod for pod in pods if not pod.bound and KEPT_OUT in pod.waiting_message)


def _selected(owner: Mapping[str, Any], pod: JsonObject) -> bool:
    metadata = pod["metadata"]
    namespace = metadata.get("namespace", "")
    controller = next((one for one in metadata.get("ownerReferences") or () if one.get("controller")), None)
    here = {"kind": "Pod", **metadata, "namespace": namespace}
    above = {**controller, "namespace": namespace} if controller else {}
    named = {"kind", "namespace", "name", "uid"}
    return (
        bool(owner)
        and _agrees(owner.get("object"), here, named)
        and _agrees(owner.get("controller"), above, named | {"apiVersion"})
        and (owner.get("labelSelector") is None or selects(owner["labelSelector"], metadata.get("labels") or {}))
    )


def _agrees(wanted: Mapping[str, str] | None, found: Mapping[str, Any], names: set[str]) -> bool:
    if wanted is None:
        return True
    return all(found.get(name) == wanted[name] for name in names & wanted.keys() if wanted[name])


@dataclass(frozen=True, slots=True)
class Place:
    """A place of a plan, and the pod that is expected there: its UID or that of its controller."""

    uids: frozenset[str]
    namespace: str
    priority: int
    requests: Resources

    def expects(self, pod: Pod) -> bool:
        """Return whether the pod may take the place."""
        return pod.uid in self.uids or (pod.owner_uid in self.uids and pod.namespace == self.namespace)


@dataclass(frozen=True, slots=True)
class Executing:
    """A plan that is being carried out, since when, and its places by node."""

    uid: str
    since_ns: int
    places: Mapping[str, tuple[Place, ...]]

    def expects(self, pod: Pod) -> bool:
        """Return whether the plan has a place for the pod on any node."""
        return any(one.expects(pod) for some in self.places.values() for one in some)

    def needed(self, node: str, there: list[Pod], priority: int) -> Resources:
        """Return what the open places on a node take that a pod of this priority must leave alone."""
        free = list(self.places.get(node, ()))
        for pod in there:
            if pod.reservation == self.uid:
                mine = next((one for one in free if one.expects(pod)), None)
                if mine is not None:
                    free.remove(mine)
        return add_up(place.requests for place in free if priority <= place.priority)


def no_plan_room_taken(history: History) -> Iterator[Violation]:
    """Yield pods that were bound into room that a plan being carried out still needs.

    Pods of a higher priority may take it, and those that may have been on their way when the plan began.
    """
    cluster, plans = Occupancy(), dict[str, Executing]()
    for change, pod in history.steps:
        known = cluster.take(change, pod)
        if change.kind == "PackingPlan":
            if change.verb is Verb.DELETED or phase_of(change.body) != "Executing":
                plans.pop(change.uid, None)
            elif change.uid not in plans:
                plans[change.uid] = Executing(change.uid, change.receipt.monotonic_ns, _places(change.body))
        elif pod is not None and known is not None and not known.node and pod.uid in cluster.on_node[pod.node]:
            yield from _find_taken(cluster, plans.values(), change, pod)


def _find_taken(cluster: Occupancy, plans: Iterable[Executing], change: Change, pod: Pod) -> Iterator[Violation]:
    node, now_ns, seen_ns = pod.node, change.receipt.monotonic_ns, cluster.seen_ns[pod.uid]
    against = [
        plan
        for plan in plans
        if node in plan.places
        and not plan.expects(pod)
        # The pod got its node by a decision after the plan had begun.
        and (seen_ns - plan.since_ns > UNDER_WAY_NS or now_ns - plan.since_ns > BOUND_WITHIN_NS)
    ]
    room = cluster.rooms.get(node)
    if not against or room is None or now_ns - room.since_ns <= UNDER_WAY_NS:
        return
    others = [one for uid, one in cluster.on_node[node].items() if uid != pod.uid]
    needed = add_up(plan.needed(node, others, pod.priority) for plan in against)
    for resource, amount in pod.requests.items():
        free = room.amounts[resource] - cluster.taken[node][resource] + amount
        if needed and amount > free - needed[resource]:
            yield Violation(
                "plan-room-taken",
                f"{pod.key} on {node}",
                f"{resource}: it takes {amount} of {free}, of which a plan needs {needed[resource]}",
                change.receipt.wall_text(),
            )


def _places(plan: JsonObject) -> dict[str, tuple[Place, ...]]:
    status: Mapping[str, Any] = plan["status"]
    classes = {one["id"]: one for one in status.get("classes") or ()}
    places: dict[str, list[Place]] = {}
    arrivals = [(one["node"], {one["podUID"], one.get("ownerUID")}, one) for one in status.get("placements") or ()] + [
        (one.get("toNode", ""), {one.get("ownerUID")}, one) for one in status.get("moves") or ()
    ]
    for node, uids, one in arrivals:
        needs = classes.get(one.get("class"))
        if needs is not None:
            place = Place(
                uids=frozenset(uid for uid in uids if uid),
                namespace=one["pod"].partition("/")[0],
                priority=needs.get("priority", 0),
                requests=Resources.of_list(needs.get("requests") or {}) + ONE_POD,
            )
            places.setdefault(node, []).append(place)
    return {node: tuple(some) for node, some in places.items()}
