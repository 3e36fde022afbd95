"""What every scheduler under comparison offers, whatever it is."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from stowage_testbed.api.pod_templates import PodOverrides
from stowage_testbed.cluster.base import Cluster


@dataclass(frozen=True, slots=True)
class ClientLimits:
    """How fast a scheduler may ask the API server: requests a second, and at once."""

    qps: float
    burst: int


@dataclass(frozen=True, slots=True)
class ArmSettings:
    """What two arms must have in common for a fair pair, as they will really run.

    `qps` and `burst` are ``None`` where the scheduler has no client limits. `parallelism` counts goroutines that filter
    and score, `sampled_percent` is the share of nodes that are scored, ``None`` for the adaptive default. `webhooks`
    come with the arm, and `notes` say what else is special and cannot be made equal. `kubernetes` is the version of its
    cluster's control plane.
    """

    version: str
    qps: float | None
    burst: int | None
    parallelism: int | None
    sampled_percent: int | None
    feature_gates: Mapping[str, bool] = field(default_factory=dict)
    webhooks: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    kubernetes: str = ""


class RunningArm(Protocol):
    """A scheduler that serves."""

    @property
    def pids(self) -> tuple[int, ...]:
        """Its processes, whose memory and CPU time count as its own."""

    @property
    def log_files(self) -> Mapping[str, Path]:
        """Its logs by the name of what wrote them."""

    @property
    def configuration(self) -> str:
        """Its configuration as it reads it."""

    def check(self) -> None:
        """Raise `ArmEndedError` if it does not run any more."""


class Arm(Protocol):
    """A scheduler under comparison."""

    @property
    def name(self) -> str:
        """The word for it in tables and on the command line."""

    @property
    def minor(self) -> str:
        """Of Kubernetes, that its cluster is of, as in ``1.37``."""

    @property
    def pod_overrides(self) -> PodOverrides:
        """What it changes in every pod."""

    @property
    def tools(self) -> tuple[str, ...]:
        """The tools that it needs installed, by their names in the manifest."""

    def build(self) -> str:
        """Return what changes when the program does, or what it is configured with."""

    def settings(self, limits: ClientLimits | None) -> ArmSettings:
        """Return how it will run; without limits, with its own defaults."""

    def running(
        self, cluster: Cluster, folder: Path, limits: ClientLimits | None
    ) -> AbstractContextManager[RunningArm]:
        """Start it on a cluster and stop it at the end; on entry it serves.

        ``folder`` takes its configuration and logs. Whatever it put on the cluster is
        gone afterwards, unless other arms may use it (CRDs).
        """
