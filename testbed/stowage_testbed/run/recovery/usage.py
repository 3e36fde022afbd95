"""The CPU that the pods of one namespace use, as KWOK simulates it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from stowage_testbed.api_client import Objects
from stowage_testbed.cluster.metrics.fake_kubelet import FakeKubelet
from stowage_testbed.cluster.metrics.usage import NAME, usage_object


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
        self.objects.patch("ClusterResourceUsage", NAME, {"spec": spec})
