"""The web service for the time of a run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from stowage_testbed.hpa.settings import RecoverySettings
from stowage_testbed.observe.settled import Condition, pods_gone
from stowage_testbed.observe.state import State
from stowage_testbed.observe.verdict import Verdict
from stowage_testbed.run.arm import PodOverrides
from stowage_testbed.run.context import RunContext
from stowage_testbed.run.recovery.manifests import NAME, deployment
from stowage_testbed.run.recovery.usage import SimulatedUsage

READY_S = 60.0
"""Many times what a scheduler takes for a few pods on an idle cluster."""


@contextmanager
def deployed(
    context: RunContext,
    settings: RecoverySettings,
    pod_overrides: PodOverrides,
    usage: SimulatedUsage,
) -> Iterator[None]:
    """Deploy it, with its first replicas ready and idle; at the end nothing is left.

    Raises
    ------
    WaitTimeoutError
        The replicas did not become ready, or did not go.
    """
    namespace, first = usage.namespace, settings.autoscaling.min_replicas
    try:
        context.objects.create(deployment(namespace, settings, pod_overrides))
        context.observer.wait_for(
            f"{first} replicas to be ready",
            _pods_ready(namespace, first),
            timeout_s=READY_S,
        )
        yield
    finally:
        # Of the whole cluster, and so left by whoever clears the namespace.
        usage.clear()
        # Without its autoscaler first, the Deployment would be scaled to the last.
        for kind in ("HorizontalPodAutoscaler", "Deployment"):
            context.objects.delete(kind, NAME, namespace=namespace)
        context.observer.wait_for(
            "the replicas to go",
            pods_gone(namespace),
            timeout_s=context.timeouts.cleanup_s,
        )


def _pods_ready(namespace: str, count: int) -> Condition:
    def condition(state: State) -> Verdict:
        ready = sum(pod.ready for pod in state.pods(namespace))
        return Verdict(ready == count, f"{ready} of {count} are ready")

    return condition
