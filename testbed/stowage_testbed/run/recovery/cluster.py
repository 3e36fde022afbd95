"""A cluster whose autoscaler and metrics-server keep the times of a run."""

from __future__ import annotations

from stowage_testbed.cluster.components import CONTROLLER_MANAGER
from stowage_testbed.cluster.kwok_binary import KwokBinaryCluster
from stowage_testbed.cluster.kwokctl_config import ExtraArgs
from stowage_testbed.cluster.metrics.settings import MetricsSettings
from stowage_testbed.hpa.settings import Timing


def autoscaler_arguments(timing: Timing) -> ExtraArgs:
    """Return the arguments of the autoscaler's controller."""
    sync = {"horizontal-pod-autoscaler-sync-period": f"{timing.sync_s}s"}
    return {CONTROLLER_MANAGER: sync}


def recovery_cluster(name: str, timing: Timing) -> KwokBinaryCluster:
    """Return a cluster, not yet up, on which runs with this timing can be made."""
    return KwokBinaryCluster(
        name,
        extra_args=autoscaler_arguments(timing),
        metrics=MetricsSettings(timing.resolution_s),
    )
