"""The step that empties nodes, as `kubectl drain` does."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from http import HTTPStatus

from stowage_testbed.api.client import ApiRefusedError
from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.wait import wait_until
from stowage_testbed.observe.condition import SHOWN
from stowage_testbed.observe.pod import Pod
from stowage_testbed.observe.state import State
from stowage_testbed.run.steps.context import StepContext
from stowage_testbed.run.steps.nodes import cordon
from stowage_testbed.scenario.steps.nodes import Cordon, Drain

RETRIED_AFTER_S = 0.2
"""Between two tries: that a budget has room again shows in nothing that is watched."""


def drain(context: StepContext, step: Drain) -> None:
    """Close nodes for new pods, and evict their pods until none is left there.

    Raises
    ------
    WaitTimeoutError
        Some are left at the deadline; names each with the budget that protects it.
    ApiRefusedError
        An eviction is refused for another reason than a budget.
    StowageError
        No controller would replace a pod.
    """
    cordon(context, Cordon(step.nodes))
    draining = _Draining(context, step.nodes)
    wait_until(
        f"{', '.join(step.nodes[:SHOWN])} to be drained",
        draining.evict,
        lambda left: not left,
        timeout_s=context.timeout_s(),
        poll_s=RETRIED_AFTER_S,
    )


@dataclass(slots=True)
class _Draining:
    """Nodes that are being drained, and the pods whose eviction was granted."""

    context: StepContext
    nodes: Collection[str]
    granted: set[str] = field(default_factory=set)

    def evict(self) -> str:
        """Evict what may go, and return in words what is left; empty for nothing."""
        left = self.context.run.observer.read(self._pods)
        said = [f"{pod.name} ({self._outcome(pod)})" for pod in left]
        more = f" and {len(said) - SHOWN} more" if len(said) > SHOWN else ""
        return f"{', '.join(said[:SHOWN])}{more}"

    def _pods(self, state: State) -> list[Pod]:
        pods = state.all_pods(self.context.namespace)
        return [pod for pod in pods if pod.node in self.nodes and not pod.finished]

    def _outcome(self, pod: Pod) -> str:
        """Ask for the eviction of a pod until it is granted; return the answer."""
        if pod.terminating or pod.uid in self.granted:
            return "evicted, not gone yet"
        if not pod.owner_kind:
            raise StowageError(
                f"pod {pod.name} on {pod.node} has no controller that would replace "
                "it; delete it before, or use `remove-nodes`"
            )
        try:
            self.context.objects.evict(pod.name, namespace=self.context.namespace, uid=pod.uid)
        except ApiRefusedError as error:
            if error.status != HTTPStatus.TOO_MANY_REQUESTS:
                raise
            return str(error)
        self.granted.add(pod.uid)
        return "evicted just now"
