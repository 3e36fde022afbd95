"""Installing the chart's release on the cluster, profile by profile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kubernetes.client import CoreV1Api

from stowage_testbed.helm import Release, install_release
from stowage_testbed.run.context import RunContext


@dataclass(frozen=True, slots=True)
class Serving:
    """The release as it serves one phase.

    Attributes
    ----------
    values
        What it was asked to differ in from the chart's defaults.
    scheduler_config
        The scheduler's whole configuration, as it reads it.
    """

    release: Release
    profile: str
    values: Mapping[str, object]
    scheduler_config: str


def switch_release(
    context: RunContext,
    profile: str,
    *,
    optimizer_enabled: bool,
    values: Mapping[str, object] | None = None,
) -> Serving:
    """Install the release, or bring it to another profile, and wait until it serves."""
    release = install_release(
        context.cluster,
        profile=profile,
        optimizer_enabled=optimizer_enabled,
        values=values,
        timeout_s=context.timeouts.release_s,
    )
    config = CoreV1Api(context.api).read_namespaced_config_map(
        release.name, release.namespace
    )
    asked = {"profile": profile, "optimizer": {"enabled": optimizer_enabled}}
    return Serving(
        release=release,
        profile=profile,
        values={**asked, **(values or {})},
        scheduler_config=(config.data or {}).get("scheduler.yaml", ""),
    )
