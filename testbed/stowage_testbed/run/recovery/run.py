"""One recovery run with one scheduler (second paper, Algorithm 3)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from stowage_testbed.base.errors import StowageError
from stowage_testbed.cluster.metrics_server import FakeKubelet
from stowage_testbed.hpa.load import find, hold
from stowage_testbed.hpa.record import HpaRecord
from stowage_testbed.hpa.settings import RecoverySettings
from stowage_testbed.observe.condition import Condition, ConditionResult, pods_gone
from stowage_testbed.observe.observer import Observer
from stowage_testbed.observe.source import AUTOSCALERS, PODS
from stowage_testbed.observe.state import State
from stowage_testbed.run.arm import PodOverrides
from stowage_testbed.run.context import RunContext
from stowage_testbed.run.environment import ScenarioEnvironment
from stowage_testbed.run.listener import WindowListener
from stowage_testbed.run.recovery.alignment import await_scrape
from stowage_testbed.run.recovery.live_target import LiveTarget, SimulatedUsage
from stowage_testbed.run.recovery.manifests import NAME, make_autoscaler, make_deployment

READY_S = 120.0
"""Many times what a scheduler takes for a few pods on an idle cluster."""


def run_recovery(
    context: RunContext,
    environment: ScenarioEnvironment,
    settings: RecoverySettings,
    *,
    pod_overrides: PodOverrides,
    window_listener: WindowListener,
) -> HpaRecord:
    """Overload the web service, and watch how the autoscaler makes it recover.

    Parameters
    ----------
    context
        The cluster, brought up by `make_recovery_cluster` with the same timing.
    environment
        An empty namespace, and the nodes, which are ready.
    pod_overrides
        What assigns the pods to the scheduler under test, which serves.
    window_listener
        Called when HOLD begins and ends, which is the window to measure.

    Raises
    ------
    MetricsMissingError
        The cluster was brought up without metrics.
    StowageError
        The autoscaler never read any usage.
    """
    kubelet = FakeKubelet.of(context.cluster.workdir)
    usage = SimulatedUsage(context.objects, kubelet, environment.namespace)
    with (
        context.cluster.api_client() as api,
        # A journal has one reader, and the context's observer has its own already.
        Observer(api, (PODS, AUTOSCALERS), context.observer.clock) as observer,
        _deploy(context, settings, pod_overrides, usage),
    ):
        if settings.aligned:
            first = settings.autoscaling.min_replicas
            await_scrape(api, environment.namespace, first, settings.timing)
        context.objects.create(make_autoscaler(environment.namespace, settings))
        target = LiveTarget(observer, usage, observer.clock.now())
        levels = find(target, settings)
        window_listener.open()
        windows = hold(target, settings, levels[-1].clients)
        window_listener.close()
        record = HpaRecord(
            settings=settings, find=levels, hold=windows, replicas=target.replicas(), pods=target.pod_counts()
        )
        _check_sight(record, observer, environment.namespace)
    return record


@contextmanager
def _deploy(
    context: RunContext, settings: RecoverySettings, pod_overrides: PodOverrides, usage: SimulatedUsage
) -> Iterator[None]:
    """Deploy it, with its first replicas ready and idle; at the end nothing is left.

    Raises
    ------
    WaitTimeoutError
        The replicas did not become ready, or did not go.
    """
    namespace, first = usage.namespace, settings.autoscaling.min_replicas
    try:
        context.objects.create(make_deployment(namespace, settings, pod_overrides))
        context.observer.wait_for(f"{first} replicas to be ready", _pods_ready(namespace, first), timeout_s=READY_S)
        yield
    finally:
        # Of the whole cluster, and so left by whoever clears the namespace.
        usage.clear()
        # Without its autoscaler first, the Deployment would be scaled to the last.
        for kind in ("HorizontalPodAutoscaler", "Deployment"):
            context.objects.delete(kind, NAME, namespace=namespace)
        context.observer.wait_for("the replicas to go", pods_gone(namespace), timeout_s=context.timeouts.cleanup_s)


def _pods_ready(namespace: str, count: int) -> Condition:
    def condition(state: State) -> ConditionResult:
        ready = sum(pod.ready for pod in state.pods(namespace))
        return ConditionResult(ready == count, f"{ready} of {count} are ready")

    return condition


def _check_sight(record: HpaRecord, observer: Observer, namespace: str) -> None:
    if any(seen.cpu_percent is not None for seen in record.replicas):
        return
    bodies = observer.read(lambda state: state.bodies(AUTOSCALERS.kind, namespace))
    said = [
        str(condition.get("message", ""))
        for body in bodies
        for condition in body.get("status", {}).get("conditions") or []
        if condition["status"] == "False"
    ]
    raise StowageError(
        f"the autoscaler of {namespace} read no usage in the whole run "
        f"({'; '.join(said) or 'it says nothing'}); see logs/metrics-server.log and "
        "logs/kube-controller-manager.log in the cluster's folder"
    )
