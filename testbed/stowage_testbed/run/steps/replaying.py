"""What a recorded trace does to the cluster, request by request."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from functools import partial
from http import HTTPStatus

from stowage_testbed.api.client import ApiRefusedError, Manifest
from stowage_testbed.cluster.nodes import delete_lease
from stowage_testbed.run.environment import collect_pods
from stowage_testbed.run.steps.context import StepContext
from stowage_testbed.run.steps.keeping_times import note_lateness, pace
from stowage_testbed.run.steps.pacing import Due
from stowage_testbed.run.steps.placing import place_pods
from stowage_testbed.scenario.arrivals.recorded import Deed, RecordedReplay

MAY_BE_REFUSED = frozenset({HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT})
"""A quota may be full that was not then, and what is changed may be gone already."""


LONGEST_TURN_S = 10.0
"""How long one request waits for the one before about the same object, which is never
sent where the replay ends early."""


def replay_recorded(context: StepContext, recorded: RecordedReplay, *, as_recorded: bool = False) -> None:
    """Make what was there first, then do each thing at its time.

    The nodes are there before the first step.

    Parameters
    ----------
    as_recorded
        Whether the first pods get the nodes that they had.
    """
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
        context = self._context
        objects, namespace = context.objects, context.namespace
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
