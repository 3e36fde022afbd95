"""The chart's release that places a scenario's pods, profile by profile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from stowage_testbed.helm import install_release
from stowage_testbed.run.context import RunContext
from stowage_testbed.run.serving import Serving, Wanted
from stowage_testbed.scenario.model import OptimizerSettings
from stowage_testbed.simulate import NO_PROTECTION


def switch_release(
    context: RunContext,
    profile: str,
    *,
    optimizer_enabled: bool,
    values: Mapping[str, object] | None = None,
    may_keep: bool = False,
) -> Serving:
    """Install the release, or bring it to another profile, and wait until it serves.

    With ``may_keep`` one that serves as it is wanted is left as it is.
    """
    wanted = Wanted(profile, optimizer_enabled, values or {})
    if may_keep:
        there = context.last_release.find(wanted, context.objects)
        if there is not None:
            return replace(there, kept=True)
    context.last_release.forget()
    release = install_release(
        context.cluster,
        profile=profile,
        optimizer_enabled=optimizer_enabled,
        values=values,
        timeout_s=context.timeouts.release_s,
    )
    config = context.objects.read("ConfigMap", release.name, namespace=release.namespace)
    text = (config.get("data") or {}).get("scheduler.yaml", "")
    serving = Serving(release, wanted, text)
    context.last_release.note(serving, context.objects)
    return serving


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
