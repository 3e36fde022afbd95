"""The step that binds pods past the scheduler, as a replay does, too."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated

from annotated_types import MinLen

from stowage_testbed.base.errors import StowageError
from stowage_testbed.cluster.claims import PlacedPod, allocate_claims
from stowage_testbed.cluster.kwokctl_config import FAKE_NODE_ANNOTATION
from stowage_testbed.observe.change import name_of
from stowage_testbed.observe.condition import SHOWN, ConditionResult
from stowage_testbed.observe.pod import Pod
from stowage_testbed.observe.state import State
from stowage_testbed.scenario.steps.action import Action, Demand, Where
from stowage_testbed.scenario.steps.applying import Apply
from stowage_testbed.scenario.steps.context import StepContext, none_left
from stowage_testbed.scenario.types import Some, Sort, Written


def _list_nodes(written: Mapping[str, int] | tuple[str | PlacedPod, ...]) -> tuple[str | PlacedPod, ...]:
    """Return a node for each pod; of those that are counted in the order of names."""
    if isinstance(written, Mapping):
        return tuple(node for node, count in written.items() for _ in range(count))
    return written


NodesOfPods = Annotated[
    tuple[str | PlacedPod, ...],
    Written(Annotated[Mapping[str, Some], MinLen(1)] | Annotated[tuple[str | PlacedPod, ...], MinLen(1)], _list_nodes),
]


def node_of_place(place: str | PlacedPod) -> str:
    """Return the node of a place, empty without one."""
    return place.node if isinstance(place, PlacedPod) else place


@dataclass(frozen=True, slots=True)
class Place(Action):
    """Create workloads and bind pods of them to nodes, past the scheduler.

    All nodes are closed for new pods meanwhile. Of each workload it has how many pods each node has, or a node for each
    pod in the order of the pods' names, "" for none. With the node of a pod come the devices that it claims. Pods that
    get no node here are for the scheduler afterwards.
    """

    kind = "place"
    bare = True
    deadline = "settle"
    nodes: Annotated[Mapping[str, NodesOfPods], MinLen(1)]

    def uses(self) -> Iterator[tuple[Where, str, Sort]]:
        """Yield the workloads and the nodes of their pods."""
        for name, nodes in self.nodes.items():
            yield (name,), name, "applied"
            yield from (((name,), node, "node") for node in map(node_of_place, nodes) if node)

    def ask(self, demand: Demand) -> None:
        demand.apply(self.nodes)

    def carry_out(self, context: StepContext) -> None:
        apply = Apply(tuple(self.nodes))
        placed = place_pods(context, self.nodes, lambda: apply.carry_out(context), context.timeout_s())
        context.facts["pods"] = placed


def place_pods(
    context: StepContext, nodes: Mapping[str, Iterable[str | PlacedPod]], create: Callable[[], None], timeout_s: float
) -> int:
    """Bind pods to nodes as they are created; return how many. The scheduler finds every node closed meanwhile.

    There is a node, or an empty text, for each pod in the order of the pods' names, by workload.
    """
    left = {name: deque(ones) for name, ones in nodes.items()}
    for ones in left.values():
        while ones and not ones[-1]:
            ones.pop()
    seen, bound = set[str](), set[str]()

    def list_new(state: State) -> list[Pod]:
        """Return new pods of workloads with nodes left, those with numbers in order."""
        pods = [pod for pod in state.pods(context.namespace) if left.get(pod.workload) and pod.name not in seen]
        return sorted(pods, key=lambda pod: (len(pod.name), pod.name))

    def some_new(state: State) -> ConditionResult:
        # Some workloads have theirs come in turn.
        lacking = ", ".join(f"{name} lacks {len(left[name])}" for name in left)
        return ConditionResult(bool(list_new(state)), f"{len(seen)} pods are there; {lacking}")

    def list_unbound(state: State) -> list[str]:
        return sorted(bound - {pod.name for pod in state.pods(context.namespace) if pod.bound})

    closed = _close_nodes(context)
    try:
        create()
        while any(left.values()):
            what = f"the pods of {', '.join(list(filter(left.get, left))[:SHOWN])}"
            context.wait_for(what, some_new, timeout_s=timeout_s)
            for pod in context.observer.read(list_new):
                # Others of a workload may have taken all its nodes in this round.
                place = left[pod.workload].popleft() if left[pod.workload] else ""
                node = node_of_place(place)
                seen.add(pod.name)
                if not node:
                    continue
                if pod.bound and pod.node != node:
                    raise StowageError(
                        f"pod {pod.name} is on {pod.node} already, before it could be bound to "
                        f"{node}; let it tolerate no node that is closed for new pods"
                    )
                if isinstance(place, PlacedPod) and not pod.bound:
                    _await_claims(context, pod, len({one.claim for one in place.devices}), timeout_s)
                    found = context.objects.read("Pod", pod.name, namespace=context.namespace)
                    allocate_claims(context.objects, found, place)
                if not pod.bound:
                    context.objects.bind(pod.name, namespace=context.namespace, node=node)
                bound.add(pod.name)
        context.wait_for("the pods to be bound", none_left(list_unbound), timeout_s=timeout_s)
    finally:
        for node in closed:
            context.objects.patch("Node", node, {"spec": {"unschedulable": None}})
    return len(bound)


def _await_claims(context: StepContext, pod: Pod, claims: int, timeout_s: float) -> None:
    """Wait until a pod has all of its claims, of which a controller makes those of templates."""

    def all_there(state: State) -> ConditionResult:
        now = next((one for one in state.all_pods(context.namespace) if one.uid == pod.uid), pod)
        return ConditionResult(len(now.claims) >= claims, f"it has {len(now.claims)} of {claims} claims")

    context.wait_for(f"the claims of pod {pod.name}", all_there, timeout_s=timeout_s)


def _close_nodes(context: StepContext) -> list[str]:
    """Cordon the fake nodes that are open, and return them.

    Watches may not have heard yet of one that the step before has closed.
    """
    names = [
        name_of(body)
        for body in context.objects.each("Node")
        if FAKE_NODE_ANNOTATION in (body["metadata"].get("annotations") or {})
        and not (body.get("spec") or {}).get("unschedulable")
    ]
    for name in names:
        context.objects.patch("Node", name, {"spec": {"unschedulable": True}})
    return names
