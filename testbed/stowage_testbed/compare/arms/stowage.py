"""The arms of our scheduler, each with a profile of the chart.

`stowage` is what the chart installs by default: the optimiser beside the scheduler.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import yaml

from stowage_testbed.api.pod_templates import PodOverrides
from stowage_testbed.base.wait import HANG_S
from stowage_testbed.cluster.backend import RELEASE_TOOLS, SCHEDULER
from stowage_testbed.cluster.feature_gates import DEFAULTS, FeatureGates
from stowage_testbed.compare.arms.kube_scheduler import BATCHING, installed_config, settings_of
from stowage_testbed.compare.arms.serving import NAMESPACE, Arm, ArmRelease, Place, digest
from stowage_testbed.compare.arms.settings import ArmSettings, ClientLimits
from stowage_testbed.helm.install import CHART
from stowage_testbed.helm.release import Values, merge_values, run_helm, testbed_values, values_refused
from stowage_testbed.optimizer_service.compiled import compile_optimizer
from stowage_testbed.simulate.process import find_profile
from stowage_testbed.toolchain import choose_minor, tool_build
from stowage_testbed.toolchain.manifest import find_minor, load_manifest

PROFILE = "optimizer"
OPTIMIZER = "PriorityOptimizer"
SIGNING = frozenset({OPTIMIZER, "Reservations"})
"""Our plugins that sign pods; any other switches a profile's batching off."""


@dataclass(frozen=True, slots=True)
class StowageArm(Arm):
    """Our scheduler with one profile of the chart, by default the one that it installs, and further Helm values."""

    name: str = "stowage"
    profile: str = PROFILE
    values: Values = field(default_factory=dict)
    minor: str = field(default_factory=choose_minor)
    features: FeatureGates = DEFAULTS
    tools: tuple[str, ...] = RELEASE_TOOLS
    """What the chart's release needs: Helm renders it."""
    pod_overrides: PodOverrides = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "pod_overrides", PodOverrides(re.split("[+@]", self.name)[0]))

    def build(self) -> str:
        """Return the program's build with a digest of the chart, and of the values."""
        files = sorted(path for path in CHART.rglob("*") if path.is_file())
        chart = (part for file in files for part in (file.relative_to(CHART).as_posix(), file.read_bytes()))
        build = f"{tool_build(SCHEDULER, self.minor)}+{digest(chart)}"
        return f"{build}+{digest([yaml.safe_dump(self.values)])}" if self.values else build

    def settings(self, limits: ClientLimits | None) -> ArmSettings:
        """Return how it will run; without limits, with its own defaults."""
        config = _profile(self.profile)
        scheduler = load_manifest().tool(SCHEDULER, self.minor)
        version = f"{scheduler.version}+{self.profile}"
        enabled = _multi_point(config, "enabled")
        notes = ("the optimiser runs beside it",) if OPTIMIZER in enabled else ()
        batches = limits is None and not enabled - SIGNING
        gates = {BATCHING: batches, **self.features.known_to(SCHEDULER, self.minor)}
        return settings_of(config, version, limits, gates, notes)

    def release(self, place: Place, limits: ClientLimits | None) -> ArmRelease:
        """Return what the chart renders, with client limits if given; a `StowageError` if it refuses the values."""
        profile = _profile(self.profile)
        enabled = OPTIMIZER in _multi_point(profile, "enabled")
        if enabled:
            compile_optimizer()
        own: Values = {
            "schedulerName": self.pod_overrides.scheduler_name,
            "scheduler": {"featureGates": {BATCHING: False} if limits else {}},
            # As the stock scheduler may, whose role allows it always.
            "rbac": {"allowPreemption": "DefaultPreemption" not in _multi_point(profile, "disabled")},
        }
        needed = testbed_values(place.cluster, profile=self.profile, optimizer_enabled=enabled)
        values = (needed, own, self.features.values(self.minor), self.values)
        file = place.folder / "values.yaml"
        file.write_text(yaml.safe_dump(reduce(merge_values, values)), "utf-8")
        # Helm renders without asking the cluster, and assumes an old version by default.
        version = find_minor(place.cluster.minor).kubernetes
        arguments = ["template", place.name, str(CHART), "--values", str(file), "--no-hooks"]
        arguments += ["--kube-version", version, "--namespace", NAMESPACE]
        done = run_helm(place.cluster, arguments, HANG_S)
        if done.returncode:
            raise values_refused(file, done.stderr)
        manifests = [one for one in yaml.safe_load_all(done.stdout) if one]
        by_kind = {one["kind"]: one for one in manifests}
        data = by_kind["ConfigMap"]["data"]
        config = yaml.safe_load(data["scheduler.yaml"])
        kubeconfig = config["clientConnection"]["kubeconfig"]
        data["scheduler.yaml"] = yaml.safe_dump(installed_config(config, kubeconfig, limits), sort_keys=False)
        for container in by_kind["Deployment"]["spec"]["template"]["spec"]["containers"]:
            # They would cost this arm time while it is measured, and the others have none.
            container.pop("livenessProbe", None)
            container.pop("readinessProbe", None)
        return ArmRelease(manifests, data["scheduler.yaml"], CHART / "crds", kinds=("PackingPlan", "Reservation"))


def score_cache_arm() -> StowageArm:
    """Return the arm with the score cache."""
    return StowageArm("stowage-score-cache", "score-cache")


def devices_arm() -> StowageArm:
    """Return the arm with the score of devices."""
    return StowageArm("stowage-devices", "devices")


def _profile(name: str) -> dict[str, Any]:
    config: dict[str, Any] = yaml.safe_load(find_profile(name).read_text("utf-8"))
    return config


def _multi_point(config: Mapping[str, Any], which: str) -> set[str]:
    """Return the plugins that the profiles enable or disable at all their points."""
    return {
        plugin["name"]
        for profile in config["profiles"]
        for plugin in profile.get("plugins", {}).get("multiPoint", {}).get(which, ())
    }
