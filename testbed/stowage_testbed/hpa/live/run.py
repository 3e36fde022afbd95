"""One recovery run with one scheduler (second paper, Algorithm 3)."""

from __future__ import annotations

from stowage_testbed.cluster.metrics.fake_kubelet import FakeKubelet
from stowage_testbed.compare.arms.arm import Dress
from stowage_testbed.hpa.errors import AutoscalerBlindError
from stowage_testbed.hpa.live.alignment import await_scrape
from stowage_testbed.hpa.live.deployed import deployed
from stowage_testbed.hpa.live.live_target import LiveTarget
from stowage_testbed.hpa.live.manifests import autoscaler
from stowage_testbed.hpa.live.usage import SimulatedUsage
from stowage_testbed.hpa.phases.find import find
from stowage_testbed.hpa.phases.hold import hold
from stowage_testbed.hpa.record import HpaRecord
from stowage_testbed.hpa.settings import RecoverySettings
from stowage_testbed.observe.observer import Observer
from stowage_testbed.observe.source import AUTOSCALERS, PODS
from stowage_testbed.run.bench import Bench
from stowage_testbed.run.site import Site
from stowage_testbed.run.steps.gauge import Gauge


def run_recovery(
    bench: Bench,
    site: Site,
    settings: RecoverySettings,
    *,
    dress: Dress,
    gauge: Gauge,
) -> HpaRecord:
    """Overload the web service, and watch how the autoscaler makes it recover.

    Parameters
    ----------
    bench
        The cluster, brought up by `recovery_cluster` with the same timing.
    site
        An empty namespace, and the nodes, which are ready.
    dress
        What makes the pods the business of the scheduler under test, which serves.
    gauge
        Is told when HOLD begins and ends, which is the window to measure.

    Raises
    ------
    MetricsMissingError
        The cluster was brought up without metrics.
    AutoscalerBlindError
        The autoscaler never read any usage.
    """
    kubelet = FakeKubelet.of(bench.cluster.workdir)
    usage = SimulatedUsage(bench.objects, kubelet, site.namespace)
    with (
        bench.cluster.api_client() as api,
        # Whoever takes a journal needs it for itself, and the bench's has its owner.
        Observer(api, (PODS, AUTOSCALERS), bench.observer.clock) as observer,
        deployed(bench, settings, dress, usage),
    ):
        if settings.aligned:
            first = settings.autoscaling.min_replicas
            await_scrape(api, site.namespace, first, settings.timing)
        bench.objects.create(autoscaler(site.namespace, settings))
        target = LiveTarget(observer, usage, observer.clock.now())
        levels = find(target, settings)
        gauge.open()
        windows = hold(target, settings, levels[-1].clients)
        gauge.close()
        record = HpaRecord(
            settings=settings,
            find=levels,
            hold=windows,
            replicas=target.replicas(),
            pods=target.pod_counts(),
        )
        _check_sight(record, observer, site.namespace)
    return record


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
    raise AutoscalerBlindError(namespace, "; ".join(said))
