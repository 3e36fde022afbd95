"""Steps between which metrics are measured, or that measure a service themselves (second paper, Algorithm 3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeVar

from stowage_testbed.api.client import Manifest, ask
from stowage_testbed.api.manifests import render_manifests
from stowage_testbed.api.objects import Objects
from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.wait import Clock, WaitTimeoutError, wait_until
from stowage_testbed.cluster.metrics_server import USAGE, FakeKubelet, usage_object
from stowage_testbed.hpa.model import Segment
from stowage_testbed.hpa.recovery import HpaRecord, LoadTarget, Outcome, find, hold, pod_counts, replicas, segments
from stowage_testbed.hpa.settings import RecoverySettings
from stowage_testbed.observe.change import Change, Receipt
from stowage_testbed.observe.condition import ConditionResult, pods_gone
from stowage_testbed.observe.pod import WORKLOAD_LABEL
from stowage_testbed.observe.source import AUTOSCALERS, PODS
from stowage_testbed.observe.state import State
from stowage_testbed.scenario import timeouts
from stowage_testbed.scenario.check import CheckResult
from stowage_testbed.scenario.steps.action import Action
from stowage_testbed.scenario.steps.context import StepContext

if TYPE_CHECKING:
    from kubernetes.client import ApiClient

    from stowage_testbed.observe.observer import Observer

Seen = TypeVar("Seen")

OUTCOME = "outcome"  # Name of the check on what became of an overloaded service
READY_S = 120.0  # Many times what a scheduler takes for a few pods on an idle cluster


@dataclass(frozen=True, slots=True)
class Measure(Action):
    """Begin or end the window that metrics are of."""

    kind = "measure"
    bare = True
    edge: Literal["start", "stop"]

    def carry_out(self, context: StepContext) -> None:
        if self.edge == "start":
            context.open_window()
        else:
            context.close_window()


@dataclass(frozen=True, slots=True)
class Overload(RecoverySettings, Action):
    """Overload a web service and watch its autoscaler; the cluster must measure usage.

    FIND and HOLD of section 5.2.2 of "On Optimized Scheduling Scheme for Rapid Pod
    Autoscaling in Kubernetes"; testbed/stowage_testbed/hpa/README.md says what is real.
    """

    kind = "overload"
    outcome: Outcome | None = None
    """What must become of the service; without it, anything may."""

    @property
    def settings(self) -> RecoverySettings:
        """What decides the run."""
        return RecoverySettings(**{one.name: getattr(self, one.name) for one in fields(RecoverySettings)})

    def carry_out(self, context: StepContext) -> None:
        """What is measured is HOLD, and its outcome one of the checks."""
        record = run_recovery(context, self.settings)
        found = record.recovery
        context.recovery = record
        context.facts |= {"clients": record.clients, "ttr_s": found.ttr_s}
        context.report(f"{record.clients} clients: {found.outcome}, TTR {found.ttr_s:g} s")
        if self.outcome is not None:
            message = "" if found.outcome == self.outcome else f"expected {self.outcome}, found {found.outcome}"
            context.checks.append(CheckResult(OUTCOME, not message, self.outcome, found.outcome, message))


NAME = "php-apache"


def make_web_service(namespace: str, settings: RecoverySettings) -> list[Manifest]:
    """Return the Deployment and its HorizontalPodAutoscaler."""
    parts = {"service": settings.service, "autoscaling": settings.autoscaling, "labels": {WORKLOAD_LABEL: NAME}}
    return render_manifests(__package__, "web_service.yaml.j2", name=NAME, namespace=namespace, **parts)


def run_recovery(context: StepContext, settings: RecoverySettings) -> HpaRecord:
    """Overload the web service, and watch how the autoscaler makes it recover."""
    # It takes long to import the client, which whoever only reads a scenario need not wait for.
    from stowage_testbed.observe.observer import Observer  # noqa: PLC0415

    namespace, first = context.namespace, settings.autoscaling.min_replicas
    kubelet = FakeKubelet(context.cluster.workdir)
    deployment, autoscaler = make_web_service(namespace, settings)
    with (
        context.cluster.api_client() as api,
        # A journal has one reader, and the context's observer has its own already.
        Observer(api, (PODS, AUTOSCALERS), context.observer.clock) as observer,
        _deploy(context, deployment, first),
    ):
        if settings.aligned:
            deadline_s = float(SCRAPES * settings.timing.resolution_s)
            await_fresh(partial(_list_readings, api, namespace), first, timeout_s=deadline_s)
        context.objects.create(autoscaler)
        target = LiveTarget(context.objects, kubelet, observer, namespace)
        levels = find(target, settings)
        context.open_window()
        windows = hold(target, settings, levels[-1].clients)
        context.close_window()
        record = HpaRecord(settings, levels, windows, target.follow(replicas), target.follow(pod_counts))
        _check_sight(record, observer, namespace)
    return record


@contextmanager
def _deploy(context: StepContext, deployment: Manifest, first: int) -> Iterator[None]:
    """Deploy it, with its first replicas ready and idle; at the end nothing is left."""
    namespace = context.namespace

    def are_ready(state: State) -> ConditionResult:
        ready = sum(pod.ready for pod in state.pods(namespace))
        return ConditionResult(ready == first, f"{ready} of {first} are ready")

    try:
        context.create(deployment)
        context.observer.wait_for(f"{first} replicas to be ready", are_ready, timeout_s=READY_S)
        yield
    finally:
        # Of the whole cluster, and so left by whoever clears the namespace.
        _set_usage(context.objects, {})
        # Without its autoscaler first, the Deployment would be scaled to the last.
        for kind in ("HorizontalPodAutoscaler", "Deployment"):
            context.objects.delete(kind, NAME, namespace=namespace)
        context.observer.wait_for("the replicas to go", pods_gone(namespace), timeout_s=timeouts.CLEANUP_S)


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


Readings = dict[str, datetime]  # When each pod was measured last, by name; whole seconds
SCRAPES = 4  # A new pod has a reading after its second scrape; twice that is enough

MARGIN_S = 2.0
"""How old the reading shall be. The autoscaler looks at equal times from its creation: if that came with the scrape,
chance would decide which of the two is first."""


def await_fresh(
    look: Callable[[], Readings],
    pods: int,
    *,
    timeout_s: float,
    now: Callable[[], datetime] = lambda: datetime.now(tz=UTC),
    clock: Clock | None = None,
) -> None:
    """Return when a look shows new readings of so many pods that are a little old; each wait has the deadline."""
    wait = partial(wait_until, timeout_s=timeout_s, clock=clock)
    first = wait(f"metrics-server to measure {pods} pods", look, lambda seen: len(seen) >= pods)
    fresh = wait(
        "metrics-server to measure the pods again",
        look,
        lambda seen: all(seen.get(pod, at) != at for pod, at in first.items()),
    )
    old = max(fresh.values()) + timedelta(seconds=MARGIN_S)
    wait("the reading to be a little old", now, lambda moment: moment >= old)


def _list_readings(api: ApiClient, namespace: str) -> Readings:
    answer = ask(api, "GET", f"/apis/metrics.k8s.io/v1beta1/namespaces/{namespace}/pods", "read what pods use")
    return {pod["metadata"]["name"]: datetime.fromisoformat(pod["timestamp"]) for pod in answer["items"]}


def _set_usage(objects: Objects, cpu_milli: Mapping[str, int]) -> None:
    """Let every pod of these namespaces use so much from now on, and those of others nothing."""
    # One object is changed, and no pod: schedulers watch pods.
    objects.patch("ClusterResourceUsage", USAGE, {"spec": usage_object(cpu_milli)["spec"]})


class LiveTarget(LoadTarget):
    """Follows the pods of a namespace and sets what they use."""

    def __init__(self, objects: Objects, kubelet: FakeKubelet, observer: Observer, namespace: str) -> None:
        self._objects, self._kubelet, self._observer, self._namespace = objects, kubelet, observer, namespace
        self._origin = observer.clock.now()
        self._changes: list[Change] = list(observer.restart_journal())

    def now_s(self) -> float:
        return self._observer.clock.now().seconds_since(self._origin)

    def ready(self) -> int:
        return self._observer.read(self._count_ready)

    def use_cpu(self, cpu_milli: int) -> None:
        pods = self._observer.read(lambda state: state.all_pods(self._namespace))
        self._kubelet.read_meters(sorted({pod.node for pod in pods if pod.node}))
        _set_usage(self._objects, {self._namespace: cpu_milli})

    def await_change(self, ready: int, until_s: float) -> None:
        def changed(state: State) -> ConditionResult:
            now = self._count_ready(state)
            return ConditionResult(now != ready, f"{now} pods are ready")

        # That nothing changes is the usual end of a window.
        with suppress(WaitTimeoutError):
            self._observer.wait_for("a change of the ready pods", changed, timeout_s=max(until_s - self.now_s(), 0.0))

    def segments(self, start_s: float, end_s: float) -> Sequence[Segment]:
        return segments(self.follow(pod_counts), start_s, end_s)

    def follow(self, read: Callable[[Iterable[Change], str, Receipt], Seen]) -> Seen:
        """Return what `pod_counts` or `replicas` reads of all changes until now."""
        self._changes += self._observer.take_journal()
        return read(self._changes, self._namespace, self._origin)

    def _count_ready(self, state: State) -> int:
        return sum(pod.ready for pod in state.pods(self._namespace))
