"""The smallest scenario there is: one Deployment from none to many replicas.

It is the burst of the second paper (section 5.2.1), for the checks of the harness
itself. A comparison of schedulers runs a scenario file instead.
"""

from __future__ import annotations

from dataclasses import dataclass

from stowage_testbed.run.arm import PodOverrides
from stowage_testbed.run.objects import Objects
from stowage_testbed.scenario.manifests import workload_manifest
from stowage_testbed.scenario.model import Workload

NAME = "burst"
MIB = 2**20
SLOWEST_PER_S = 20
"""Pods that any scheduler binds in a second on any machine."""

PATIENCE_S = 60.0


@dataclass(frozen=True, slots=True)
class Burst:
    """Equal pods, created at once.

    Attributes
    ----------
    pod_overrides
        What their scheduler overrides in them.
    cpu_milli, memory_bytes
        The paper's requests.
    """

    replicas: int
    pod_overrides: PodOverrides
    cpu_milli: int = 10
    memory_bytes: int = 16 * MIB

    @property
    def workload(self) -> Workload:
        """The burst as a scenario has it."""
        return Workload(
            name=NAME,
            kind="Deployment",
            replicas=self.replicas,
            cpu_milli=self.cpu_milli,
            memory_bytes=self.memory_bytes,
            labels=self.pod_overrides.labels,
            annotations=self.pod_overrides.annotations,
            pod={"schedulerName": self.pod_overrides.scheduler_name},
        )

    @property
    def timeout_s(self) -> float:
        """The deadline for all to be ready, in seconds."""
        return PATIENCE_S + self.replicas / SLOWEST_PER_S

    def submit(self, objects: Objects, namespace: str) -> None:
        """Create the Deployment."""
        objects.create(workload_manifest(self.workload, namespace))
