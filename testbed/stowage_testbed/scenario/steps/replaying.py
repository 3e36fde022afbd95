"""The step that replays a recorded trace, request by request."""

import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from typing import Annotated, Literal

from annotated_types import Gt, Le

from stowage_testbed.api.client import ApiRefusedError, Manifest
from stowage_testbed.base.errors import StowageError
from stowage_testbed.cluster.node_pool import delete_lease
from stowage_testbed.scenario import timeouts
from stowage_testbed.scenario.arrivals.recorded import RecordedReplay, Request
from stowage_testbed.scenario.steps.action import Action, Demand, Step, actions_of
from stowage_testbed.scenario.steps.context import StepContext
from stowage_testbed.scenario.steps.nodes import collect_pods
from stowage_testbed.scenario.steps.pacing import Due, note_lateness, pace
from stowage_testbed.scenario.steps.placing import place_pods
from stowage_testbed.scenario.types import Filled, Hidden, Some

MAY_BE_REFUSED = frozenset({HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT})
"""A quota may be full that was not then, and what is changed may be gone already."""

LONGEST_TURN_S = 10.0
"""How long one request waits for the one before about the same object, which is never sent where the replay ends early.
"""


@dataclass(frozen=True, slots=True)
class Replay(Action):
    """Replay what `stowage record` wrote, at the times at which it happened.

    A trace brings pods, controllers, scalings, ends and budgets; if the scenario has no nodes, it brings those too.
    """

    kind = "replay"
    deadline = "lateness"
    file: Filled
    """A .jsonl.gz or .jsonl file, relative to this one."""
    speed: Annotated[float, Gt(0), Le(1000000)] = 1.0
    """How many times as fast as it was recorded."""
    limit: Some | None = None
    """Only so many pods, the first ones; without it all."""
    placed: Literal["by-the-scheduler", "as-recorded"] = "by-the-scheduler"
    """Who gives those pods a node that had one when recording began; as recorded they are bound past the scheduler."""
    # What the trace says; none while the scenario's own file is read.
    recorded: Annotated[RecordedReplay | None, Hidden()] = field(default=None, repr=False)

    @property
    def owners(self) -> list[str]:
        """The owners of its pods, each once."""
        return list(self.recorded.left) if self.recorded else []

    def ask(self, demand: Demand) -> None:
        demand.update(self.recorded.left if self.recorded else {})

    def carry_out(self, context: StepContext) -> None:
        """Make what was there first, on nodes that are there already, then do each thing at its time."""
        recorded = self.recorded
        if recorded is None:
            raise StowageError(f"{self.file} was not read; load the scenario from its file")
        if recorded.remark:
            context.report(f"the trace ends early: {recorded.remark}")
        sender = _Sender(context)

        def create_first() -> None:
            for manifest in (*recorded.first_objects, *recorded.first_pods):
                sender.create(manifest)

        if self.placed == "as-recorded" and recorded.placed:
            place_pods(context, recorded.placed, create_first, timeouts.settle_s(context.scenario))
        else:
            create_first()
        pacing = pace(context, sender.list_dues(recorded.requests))
        context.facts |= {"pods": recorded.pods, "requests": pacing.done}
        note_lateness(context, pacing)
        context.facts["refused"] = refused = sender.refused.total()
        if refused:
            context.report(f"{refused} requests of the trace were refused, the first: {sender.first_refusal}")


def list_recorded(steps: Iterable[Step]) -> Iterator[RecordedReplay]:
    """Yield what replays of recorded traces do."""
    return (one.recorded for one in actions_of(steps, Replay) if one.recorded is not None)


def list_replayed_nodes(steps: Iterable[Step]) -> list[str]:
    """Return the nodes that traces bring, at some time, each once."""
    return list(dict.fromkeys(node for one in list_recorded(steps) for node in one.nodes))


def list_replayed_files(steps: Iterable[Step]) -> list[str]:
    """Return the traces' files, as the steps name them, each once."""
    return list(dict.fromkeys(one.file for one in actions_of(steps, Replay)))


class _Sender:
    """Sends the requests of a trace; those about one object one after the other."""

    def __init__(self, context: StepContext) -> None:
        self._context = context
        self._lock = threading.Lock()
        self.refused: Counter[str] = Counter()
        self.first_refusal = ""

    def list_dues(self, requests: Iterable[Request]) -> Iterator[Due]:
        """Yield what is due; each waits for the one before about the same object."""
        last: dict[tuple[str, str], threading.Event] = {}
        for request in requests:
            key, done = (request.kind.rpartition("/")[2], request.name), threading.Event()
            act = partial(self._send_in_turn, request, last.get(key), done)
            last[key] = done
            yield Due(request.at_s, f"{request.verb} {request.kind} {request.name}", act)

    def create(self, manifest: Manifest) -> None:
        """Create an object in the run's namespace, if its kind has any."""
        context = self._context
        made = {**manifest, "metadata": dict(manifest["metadata"])}
        if context.objects.kinds.of(manifest).namespaced:
            made["metadata"]["namespace"] = context.namespace
        if claim := (manifest.get("spec") or {}).get("claimRef"):
            made["spec"] = {**manifest["spec"], "claimRef": {**claim, "namespace": context.namespace}}
        try:
            context.create(made)
        except ApiRefusedError as error:
            self._note(error)

    def _send_in_turn(self, request: Request, before: threading.Event | None, done: threading.Event) -> None:
        try:
            if before is not None:
                before.wait(LONGEST_TURN_S)
            self._send(request)
        except ApiRefusedError as error:
            self._note(error)
        finally:
            done.set()

    def _send(self, request: Request) -> None:
        context, objects, namespace = self._context, self._context.objects, self._context.namespace
        kind, name = request.kind, request.name
        match request.verb:
            case "create":
                if kind == "Node":
                    delete_lease(objects, name)
                self.create(request.body)
            case "patch":
                objects.patch(kind, name, request.body, namespace=namespace, subresource=request.subresource)
            case "delete":
                # What took time to end is told as gone at the end of that time.
                objects.delete(kind, name, namespace=namespace, at_once=kind == "Pod")
                if kind == "Node":
                    collect_pods(context.observer, objects, namespace, name)

    def _note(self, error: ApiRefusedError) -> None:
        if error.status not in MAY_BE_REFUSED:
            raise error
        with self._lock:
            self.refused[str(error.status)] += 1
            self.first_refusal = self.first_refusal or str(error)
