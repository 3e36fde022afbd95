"""The web service on the cluster, as the load sees it, and what its pods use."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from stowage_testbed.api.objects import Objects
from stowage_testbed.base.wait import WaitTimeoutError
from stowage_testbed.cluster.metrics_server import USAGE, FakeKubelet, usage_object
from stowage_testbed.hpa.model.load_window import Segment
from stowage_testbed.hpa.record import PodCount, Replicas, pod_counts, replicas, segments
from stowage_testbed.observe.change import Change
from stowage_testbed.observe.condition import ConditionResult
from stowage_testbed.observe.observer import Observer
from stowage_testbed.observe.receipt import Receipt
from stowage_testbed.observe.state import State


@dataclass(frozen=True, slots=True)
class SimulatedUsage:
    """Sets what every pod of a namespace uses from a moment on."""

    objects: Objects
    kubelet: FakeKubelet
    namespace: str

    def set(self, cpu_milli: int, nodes: Iterable[str]) -> None:
        """Let every pod use this much, after booking what was used on these nodes.

        One object is changed, and no pod: schedulers watch pods.
        """
        self.kubelet.read_meters(nodes)
        self._write({self.namespace: cpu_milli})

    def clear(self) -> None:
        """Leave the cluster as it came up: no pod uses anything."""
        self._write({})

    def _write(self, cpu_milli: dict[str, int]) -> None:
        spec = usage_object(cpu_milli)["spec"]
        self.objects.patch("ClusterResourceUsage", USAGE, {"spec": spec})


class LiveTarget:
    """Follows the pods of a namespace and sets what they use.

    Parameters
    ----------
    observer
        Watches pods and autoscalers, and nobody else takes its journal.
    usage
        Of the namespace's pods.
    origin
        The start of the run.
    """

    def __init__(self, observer: Observer, usage: SimulatedUsage, origin: Receipt) -> None:
        self._observer = observer
        self._usage = usage
        self._namespace = usage.namespace
        self._origin = origin
        self._changes: list[Change] = list(observer.restart_journal())

    def now_s(self) -> float:
        """Return seconds since the run began."""
        return self._observer.clock.now().seconds_since(self._origin)

    def ready(self) -> int:
        """Return how many pods are ready now."""
        return self._observer.read(self._count_ready)

    def use_cpu(self, cpu_milli: int) -> None:
        """Let every pod use this much CPU from now on."""
        self._usage.set(cpu_milli, self._observer.read(self._nodes))

    def await_change(self, ready: int, until_s: float) -> None:
        """Return as soon as not ``ready`` pods are ready, or at ``until_s``."""

        def changed(state: State) -> ConditionResult:
            now = self._count_ready(state)
            return ConditionResult(now != ready, f"{now} pods are ready")

        try:
            self._observer.wait_for("a change of the ready pods", changed, timeout_s=max(until_s - self.now_s(), 0.0))
        except WaitTimeoutError:
            # Nothing changed: the usual end of a window.
            return

    def segments(self, start_s: float, end_s: float) -> Sequence[Segment]:
        """Return the ready pods over a span, to the receipt of every change."""
        return segments(self.pod_counts(), start_s, end_s)

    def pod_counts(self) -> tuple[PodCount, ...]:
        """Return the pods over time until now."""
        return pod_counts(self._take(), self._namespace, self._origin)

    def replicas(self) -> tuple[Replicas, ...]:
        """Return the autoscaler's numbers over time until now."""
        return replicas(self._take(), self._namespace, self._origin)

    def _take(self) -> list[Change]:
        self._changes += self._observer.take_journal()
        return self._changes

    def _count_ready(self, state: State) -> int:
        return sum(pod.ready for pod in state.pods(self._namespace))

    def _nodes(self, state: State) -> list[str]:
        return sorted({pod.node for pod in state.all_pods(self._namespace) if pod.node})
