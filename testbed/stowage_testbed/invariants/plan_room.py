"""No other pod takes the room that a plan needs for its own pods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from stowage_testbed.amounts.resources import ONE_POD, Resources, add_up
from stowage_testbed.invariants.history import History
from stowage_testbed.invariants.reserved import taken_from
from stowage_testbed.invariants.violation import Violation
from stowage_testbed.observe.change import Change, JsonObject, Verb
from stowage_testbed.observe.pod_body import (
    allocatable_of,
    controller_of,
    key_of,
    node_of,
    priority_of,
    requests_of,
    takes_room,
)
from stowage_testbed.observe.receipt import NS_PER_S

RULE = "plan-room-taken"
UNDER_WAY_NS = NS_PER_S // 2
"""How late a new pod or a changed node may be reported."""

BOUND_WITHIN_NS = 30 * NS_PER_S
"""How long the binding of a pod may take that was decided before the plan began."""


@dataclass(frozen=True, slots=True)
class Place:
    """A place of a plan on a node, and the pod that is expected there."""

    node: str
    uids: frozenset[str]
    namespace: str
    priority: int
    requests: Resources

    def expects(self, pod: JsonObject) -> bool:
        """Return whether the pod may take the place."""
        metadata = pod["metadata"]
        if metadata["uid"] in self.uids:
            return True
        owner = controller_of(pod).get("uid")
        return owner in self.uids and metadata.get("namespace", "") == self.namespace


@dataclass(frozen=True, slots=True)
class Executing:
    """A plan that is being carried out, and since when."""

    uid: str
    since_ns: int
    places: Mapping[str, tuple[Place, ...]]

    def expects(self, pod: JsonObject) -> bool:
        """Return whether the plan has a place for the pod on any node."""
        return any(one.expects(pod) for some in self.places.values() for one in some)

    def needed(self, node: str, there: list[JsonObject], priority: int) -> Resources:
        """Return what the places take that wait for their pods, on a node.

        Only those that a pod of this priority must leave alone.
        """
        free = list(self.places.get(node, ()))
        for pod in there:
            if taken_from(pod) == self.uid:
                mine = next((one for one in free if one.expects(pod)), None)
                if mine is not None:
                    free.remove(mine)
        return add_up(place.requests for place in free if priority <= place.priority)


@dataclass(slots=True)
class _ClusterState:
    """The pods, nodes and plans at one moment of the history."""

    plans: dict[str, Executing] = field(default_factory=dict)
    room: dict[str, Resources] = field(default_factory=dict)
    changed_ns: dict[str, int] = field(default_factory=dict)
    pods: dict[str, JsonObject] = field(default_factory=dict)
    on_node: dict[str, dict[str, JsonObject]] = field(default_factory=dict)
    seen_ns: dict[str, int] = field(default_factory=dict)

    def take_plan(self, change: Change) -> None:
        phase = (change.body.get("status") or {}).get("phase")
        if change.verb is Verb.DELETED or phase != "Executing":
            self.plans.pop(change.uid, None)
        elif change.uid not in self.plans:
            since = change.receipt.monotonic_ns
            self.plans[change.uid] = Executing(change.uid, since, _places(change.body))

    def take_node(self, change: Change) -> None:
        if change.verb is Verb.DELETED:
            self.room.pop(change.name, None)
            return
        room = allocatable_of(change.body)
        if self.room.get(change.name) != room:
            self.changed_ns[change.name] = change.receipt.monotonic_ns
        self.room[change.name] = room

    def take_pod(self, change: Change) -> bool:
        """Take in a pod, and return whether the scheduler has just given it a node."""
        known = self.pods.pop(change.uid, None)
        if known is not None:
            self.on_node.get(node_of(known), {}).pop(change.uid, None)
        if change.verb is Verb.DELETED:
            self.seen_ns.pop(change.uid, None)
            return False
        self.pods[change.uid] = change.body
        self.seen_ns.setdefault(change.uid, change.receipt.monotonic_ns)
        if not takes_room(change.body):
            return False
        self.on_node.setdefault(node_of(change.body), {})[change.uid] = change.body
        return known is not None and not node_of(known)


def no_plan_room_taken(history: History) -> Iterator[Violation]:
    """Yield pods that were bound into room that a plan being carried out still needs.

    A pod that is not the plan's, of whatever profile, may only take what is free
    beside it, unless its priority is higher. Pods that may have been on their way
    when the plan began do not count.
    """
    cluster = _ClusterState()
    for change in history.of("Node", "Pod", "PackingPlan"):
        if change.kind == "PackingPlan":
            cluster.take_plan(change)
        elif change.kind == "Node":
            cluster.take_node(change)
        elif cluster.take_pod(change) and cluster.plans:
            yield from _taken(cluster, change)


def _taken(cluster: _ClusterState, change: Change) -> Iterator[Violation]:
    pod, node, now = change.body, node_of(change.body), change.receipt.monotonic_ns
    against = [
        plan
        for plan in cluster.plans.values()
        if node in plan.places and not plan.expects(pod) and _after(plan.since_ns, cluster.seen_ns[change.uid], now)
    ]
    steady = now - cluster.changed_ns.get(node, 0) > UNDER_WAY_NS
    if not against or node not in cluster.room or not steady:
        return
    others = [b for uid, b in cluster.on_node[node].items() if uid != change.uid]
    needed = add_up(plan.needed(node, others, priority_of(pod)) for plan in against)
    free = cluster.room[node] - add_up(requests_of(body) for body in others)
    for resource, amount in requests_of(pod).items():
        if needed and amount > free[resource] - needed[resource]:
            yield Violation(
                RULE,
                f"{key_of(pod)} on {node}",
                f"{resource}: it takes {amount} of {free[resource]}, of which a plan needs {needed[resource]}",
                change.receipt.wall_text(),
            )


def _after(began_ns: int, seen_ns: int, bound_ns: int) -> bool:
    """Return whether the pod got its node by a decision after the plan had begun."""
    return seen_ns - began_ns > UNDER_WAY_NS or bound_ns - began_ns > BOUND_WITHIN_NS


def _places(plan: JsonObject) -> dict[str, tuple[Place, ...]]:
    status: Mapping[str, Any] = plan["status"]
    classes = {one["id"]: one for one in status.get("classes") or ()}
    places: dict[str, list[Place]] = {}
    arrivals = [(one["node"], {one["podUID"], one.get("ownerUID")}, one) for one in status.get("placements") or ()] + [
        (one.get("toNode", ""), {one.get("ownerUID")}, one) for one in status.get("moves") or ()
    ]
    for node, uids, one in arrivals:
        needs = classes.get(one.get("class"))
        if needs is None:
            continue
        place = Place(
            node=node,
            uids=frozenset(uid for uid in uids if uid),
            namespace=one["pod"].partition("/")[0],
            priority=needs.get("priority", 0),
            requests=Resources.of_list(needs.get("requests") or {}) + ONE_POD,
        )
        places.setdefault(node, []).append(place)
    return {node: tuple(some) for node, some in places.items()}
