"""KubeSchedulerConfiguration: what the arms on kube-scheduler's framework read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stowage_testbed.run.arm import ArmSettings, ClientLimits

Config = dict[str, Any]

API_VERSION = "kubescheduler.config.k8s.io/v1"
DEFAULT_LIMITS = ClientLimits(qps=50.0, burst=100)
DEFAULT_PARALLELISM = 16
BATCHING = "OpportunisticBatching"
"""The gate that lets a later pod take from the ranking made for an equal one before."""


def plain_config(scheduler_name: str) -> Config:
    """Return the configuration that leaves every setting at its default."""
    return {
        "apiVersion": API_VERSION,
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": scheduler_name}],
    }


def installed_config(
    config: Mapping[str, Any], kubeconfig: Path, limits: ClientLimits | None
) -> Config:
    """Return a configuration with what depends on the place where it is used.

    There is one instance of every arm, so none stands for election, which would cost
    seconds at the start and requests afterwards.

    Parameters
    ----------
    limits
        Its client limits; without, those that it states, or the defaults.
    """
    client = {**config.get("clientConnection", {}), "kubeconfig": str(kubeconfig)}
    if limits is not None:
        client |= {"qps": limits.qps, "burst": limits.burst}
    election = {**config.get("leaderElection", {}), "leaderElect": False}
    return {**config, "clientConnection": client, "leaderElection": election}


def settings_of(
    config: Mapping[str, Any],
    version: str,
    limits: ClientLimits | None,
    feature_gates: Mapping[str, bool],
    notes: tuple[str, ...],
) -> ArmSettings:
    """Return how a scheduler runs with a configuration, its defaults filled in."""
    client = config.get("clientConnection", {})
    stated = ClientLimits(
        float(client.get("qps") or DEFAULT_LIMITS.qps),
        int(client.get("burst") or DEFAULT_LIMITS.burst),
    )
    used = limits or stated
    return ArmSettings(
        version=version,
        qps=used.qps,
        burst=used.burst,
        parallelism=int(config.get("parallelism") or DEFAULT_PARALLELISM),
        # 0 means the adaptive default, as leaving it out does.
        sampled_percent=config.get("percentageOfNodesToScore") or None,
        feature_gates=feature_gates,
        notes=notes,
    )
