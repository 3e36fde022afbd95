"""The chart's release that places a scenario's pods, profile by profile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kubernetes.client import CoreV1Api

from stowage_testbed.helm import Release, install_release
from stowage_testbed.run.context import RunContext
from stowage_testbed.scenario.model import OptimizerSettings
from stowage_testbed.simulate import NO_PROTECTION


@dataclass(frozen=True, slots=True)
class Serving:
    """The release as it serves with one profile.

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


def make_optimizer_values(settings: OptimizerSettings) -> dict[str, Any]:
    """Return the Helm values that carry a scenario's optimiser settings."""
    return {
        "priorityOptimizer": {
            "trigger": _spell_for_chart(settings.trigger),
            "settleSeconds": settings.settle_s,
            "timeLimitSeconds": settings.time_limit_s,
            "policy": _spell_for_chart(settings.policy),
            "strategy": settings.strategy,
            **(NO_PROTECTION if settings.harm == "any" else {}),
        }
    }


def _spell_for_chart(word: str) -> str:
    """Return a word of a scenario as the chart spells it: ``OnUnschedulable``."""
    return word.title().replace("-", "")
