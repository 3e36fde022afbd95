"""What a recorded trace does to the cluster, request by request."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from http import HTTPStatus

from stowage_testbed.api.client import ApiRefusedError, Manifest
from stowage_testbed.base.errors import StowageError
from stowage_testbed.cluster.kwokctl_config import FAKE_NODE_ANNOTATION
from stowage_testbed.cluster.node_pool import delete_lease
from stowage_testbed.observe.change import name_of
from stowage_testbed.observe.condition import SHOWN, ConditionResult
from stowage_testbed.observe.pod import Pod
from stowage_testbed.observe.state import State
from stowage_testbed.run.environment import collect_pods
from stowage_testbed.run.steps.applying import apply
from stowage_testbed.run.steps.arriving import Due, note_lateness, pace
from stowage_testbed.run.steps.context import StepContext, none_left
from stowage_testbed.scenario.arrivals.recorded import Deed, RecordedReplay
from stowage_testbed.scenario.steps.applying import Apply, Place
from stowage_testbed.scenario.steps.arriving import Replay

MAY_BE_REFUSED = frozenset({HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT})
"""A quota may be full that was not then, and what is changed may be gone already."""

LONGEST_TURN_S = 10.0
"""How long one request waits for the one before about the same object, which is never sent where the replay ends early.
"""


def replay(context: StepContext, step: Replay) -> None:
    """Have happen what a trace says, when it happened."""
    if step.recorded is None:
        raise StowageError(f"{step.file} was not read; load the scenario from its file")
    replay_recorded(context, step.recorded, as_recorded=step.placed == "as-recorded")


def replay_recorded(context: StepContext, recorded: RecordedReplay, *, as_recorded: bool = False) -> None:
    """Make what was there first, on nodes that are there already, then do each thing at its time."""
    if recorded.remark:
        context.recorder.report(f"the trace ends early: {recorded.remark}")
    replaying = _Replaying(context)
    if as_recorded and recorded.first.placed:
        timeout_s = context.timeouts.settle_s(context.scenario)
        create = partial(replaying.create_first, recorded)
        place_pods(context, recorded.first.placed, create, timeout_s)
    else:
        replaying.create_first(recorded)
    pacing = pace(context, replaying.list_dues(recorded.deeds))
    context.facts |= {"pods": recorded.pods, "requests": pacing.done}
    note_lateness(context, pacing)
    replaying.report()


class _Replaying:
    """Does the deeds of a trace; those about one object one after the other."""

    def __init__(self, context: StepContext) -> None:
        self._context = context
        self._lock = threading.Lock()
        self._refused: Counter[str] = Counter()
        self._first_refusal = ""

    def list_dues(self, deeds: tuple[Deed, ...]) -> Iterator[Due]:
        """Yield what is due; each waits for the one before about the same object."""
        last: dict[tuple[str, str], threading.Event] = {}
        for deed in deeds:
            key, done = (deed.kind.rpartition("/")[2], deed.name), threading.Event()
            act = partial(self._act, deed, last.get(key), done)
            last[key] = done
            yield Due(deed.at_s, f"{deed.do} {deed.kind} {deed.name}", act)

    def create_first(self, recorded: RecordedReplay) -> None:
        """Create what was there when recording began."""
        for manifest in (*recorded.first.objects, *recorded.first.pods):
            self.create(manifest)

    def create(self, manifest: Manifest) -> None:
        """Create an object in the run's namespace, if its kind has any."""
        context = self._context
        kind = context.objects.kinds.of(manifest)
        made = {**manifest, "metadata": dict(manifest["metadata"])}
        if kind.namespaced:
            made["metadata"]["namespace"] = context.namespace
        if claim := (manifest.get("spec") or {}).get("claimRef"):
            own = {**claim, "namespace": context.namespace}
            made["spec"] = {**manifest["spec"], "claimRef": own}
        try:
            context.create(made)
        except ApiRefusedError as error:
            self._note(error)

    def report(self) -> None:
        """Say what was refused."""
        refused = self._refused.total()
        self._context.facts["refused"] = refused
        if refused:
            self._context.recorder.report(
                f"{refused} requests of the trace were refused, the first: {self._first_refusal}"
            )

    def _act(self, deed: Deed, before: threading.Event | None, done: threading.Event) -> None:
        try:
            if before is not None:
                before.wait(LONGEST_TURN_S)
            self._do(deed)
        except ApiRefusedError as error:
            self._note(error)
        finally:
            done.set()

    def _do(self, deed: Deed) -> None:
        context, objects, namespace = self._context, self._context.objects, self._context.namespace
        match deed.do:
            case "create":
                if deed.kind == "Node":
                    delete_lease(objects, deed.name)
                self.create(deed.body)
            case "patch":
                objects.patch(deed.kind, deed.name, deed.body, namespace=namespace, subresource=deed.subresource)
            case "delete":
                # What took time to end is told as gone at the end of that time.
                objects.delete(deed.kind, deed.name, namespace=namespace, at_once=deed.kind == "Pod")
                if deed.kind == "Node":
                    collect_pods(context.run, namespace, deed.name)

    def _note(self, error: ApiRefusedError) -> None:
        if error.status not in MAY_BE_REFUSED:
            raise error
        with self._lock:
            self._refused[str(error.status)] += 1
            self._first_refusal = self._first_refusal or str(error)


def place(context: StepContext, step: Place) -> None:
    """Create workloads, and bind their pods to these nodes as they come."""
    create = partial(apply, context, Apply(tuple(step.nodes)))
    context.facts["pods"] = place_pods(context, step.nodes, create, context.timeout_s())


def place_pods(
    context: StepContext, nodes: Mapping[str, Iterable[str]], create: Callable[[], None], timeout_s: float
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
            for pod in context.run.observer.read(list_new):
                # Others of a workload may have taken all its nodes in this round.
                node = left[pod.workload].popleft() if left[pod.workload] else ""
                seen.add(pod.name)
                if not node:
                    continue
                if pod.bound and pod.node != node:
                    raise StowageError(
                        f"pod {pod.name} is on {pod.node} already, before it could be bound to "
                        f"{node}; let it tolerate no node that is closed for new pods"
                    )
                if not pod.bound:
                    context.objects.bind(pod.name, namespace=context.namespace, node=node)
                bound.add(pod.name)
        context.wait_for("the pods to be bound", none_left(list_unbound), timeout_s=timeout_s)
    finally:
        for node in closed:
            context.objects.patch("Node", node, {"spec": {"unschedulable": None}})
    return len(bound)


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
