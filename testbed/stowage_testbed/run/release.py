"""The chart's release that places a scenario's pods: begin with `switch_release`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from stowage_testbed.api.client import Manifest
from stowage_testbed.api.objects import Objects
from stowage_testbed.helm import Release, install_release
from stowage_testbed.helm.serving import await_node_seen, serves
from stowage_testbed.scenario import timeouts
from stowage_testbed.scenario.model import OptimizerSettings
from stowage_testbed.simulate.instance import NO_PROTECTION

if TYPE_CHECKING:
    from stowage_testbed.run.context import RunContext


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a release is asked to be: a profile, and where it differs from the chart."""

    profile: str
    optimizer_enabled: bool
    values: Mapping[str, object] = field(default_factory=dict)

    def await_nodes(self, release: Release, nodes: Sequence[str]) -> None:
        """Wait until a deterministic scheduler has seen nodes, given in the order of creation; others may be later."""
        if nodes and self.profile.endswith("deterministic"):
            await_node_seen(release, nodes[-1], str(self.values.get("schedulerName", "default-scheduler")))


@dataclass(frozen=True, slots=True)
class Serving:
    """The release as it serves, its scheduler's whole configuration, and whether the scenario before had it too.

    `installed` is what `read_installed` returned when it was installed.
    """

    release: Release
    wanted: Wanted
    scheduler_config: str
    installed: tuple[object, ...] = ()
    kept: bool = False

    @property
    def values(self) -> Mapping[str, object]:
        """What it was asked to differ in from the chart's defaults."""
        wanted = self.wanted
        return {"profile": wanted.profile, "optimizer": {"enabled": wanted.optimizer_enabled}, **wanted.values}

    def still_is(self, wanted: Wanted, objects: Objects) -> bool:
        """Return whether it is what is wanted, and nobody has changed it since it was installed."""
        return self.wanted == wanted and read_installed(self.release, objects) == self.installed


def read_installed(release: Release, objects: Objects) -> tuple[object, ...]:
    """Return what shows that a release was changed or restarted: its Deployment, configuration, pod and containers."""

    def of_release(kind: str) -> list[Manifest]:
        found = objects.list_all(kind, release.namespace)
        label = "app.kubernetes.io/instance"
        return [one for one in found if (one["metadata"].get("labels") or {}).get(label) == release.name]

    return (
        [(one["spec"], serves(one)) for one in of_release("Deployment")],
        [one.get("data") for one in of_release("ConfigMap")],
        [
            (
                pod["metadata"]["uid"],
                pod["metadata"].get("deletionTimestamp"),
                [(c["name"], c["ready"], c["restartCount"]) for c in pod["status"].get("containerStatuses") or ()],
            )
            for pod in of_release("Pod")
        ],
    )


def switch_release(context: RunContext, wanted: Wanted, *, may_keep: bool = False) -> Serving:
    """Install the release, or bring it to another profile, and wait until it serves.

    With ``may_keep`` one that serves as it is wanted is left as it is.
    """
    there = context.serving
    if may_keep and there is not None and there.still_is(wanted, context.objects):
        return replace(there, kept=True)
    context.serving = None
    release = install_release(
        context.cluster,
        profile=wanted.profile,
        optimizer_enabled=wanted.optimizer_enabled,
        values=wanted.values,
        timeout_s=timeouts.RELEASE_S,
    )
    config = context.objects.read("ConfigMap", release.name, namespace=release.namespace)
    scheduler_config = (config.get("data") or {}).get("scheduler.yaml", "")
    serving = Serving(release, wanted, scheduler_config, read_installed(release, context.objects))
    context.serving = serving
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
