"""Arms with kube-scheduler's flags and configuration file: `default` and `koordinator`.

`koordinator` is koord-scheduler as its project's manifests run it, without its manager, which brings webhooks, and its
node agent, as they do not place pods.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from stowage_testbed.api.pod_templates import PodOverrides
from stowage_testbed.cluster.feature_gates import DEFAULTS, FeatureGates, spell
from stowage_testbed.cluster.ports import LOOPBACK
from stowage_testbed.compare.arms.serving import NAMESPACE, Arm, ArmRelease, Place, digest, make_manifests, read_rules
from stowage_testbed.compare.arms.settings import ArmSettings, ClientLimits
from stowage_testbed.toolchain import choose_minor, tool_build, tool_data, tool_path
from stowage_testbed.toolchain.manifest import load_manifest

Config = dict[str, Any]

DEFAULT_LIMITS = ClientLimits(qps=50.0, burst=100)
DEFAULT_PARALLELISM = 16
BATCHING = "OpportunisticBatching"
"""The gate that lets a later pod take from the ranking made for an equal one before."""
WITHOUT_BATCHING = frozenset({"1.34"})
"""Minors that do not know the gate, and refuse to start with it."""
LOG_LEVEL = 2
"""Of every arm with Kubernetes' own logging: enough to see each binding."""
SCHEDULER_NAME = "default-scheduler"
KOORDINATOR = "koord-scheduler"


def installed_config(config: Mapping[str, Any], kubeconfig: Path, limits: ClientLimits | None) -> Config:
    """Return a configuration with a kubeconfig, and client limits if given; being alone, it stands for no election."""
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
    used = limits or ClientLimits(
        float(client.get("qps") or DEFAULT_LIMITS.qps), int(client.get("burst") or DEFAULT_LIMITS.burst)
    )
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


@dataclass(frozen=True, slots=True)
class KubeSchedulerArm(Arm):
    """A scheduler with kube-scheduler's flags and configuration file.

    ``config`` returns what its project ships, ``needs`` what else its
    release has, and ``rules`` its rights beyond those of the stock scheduler. If it ``batches`` by default, that is off
    with given client limits: among equals the other arms cannot have it, as their plugins or framework lack it. It
    answers at ``ready_path`` once it schedules.
    """

    name: str
    tools: tuple[str, ...]
    pod_overrides: PodOverrides
    config: Callable[[], Mapping[str, Any]]
    batches: bool = False
    ready_path: str = "/readyz"
    flags: tuple[str, ...] = ()
    needs: Callable[[], dict[str, Any]] = dict
    rules: Callable[[], list[Mapping[str, Any]]] = list
    notes: tuple[str, ...] = ()
    minor: str = field(default_factory=choose_minor)
    features: FeatureGates = DEFAULTS

    @property
    def tool(self) -> str:
        """Its binary's name in the toolchain."""
        return self.tools[0]

    def build(self) -> str:
        """Return the program's build with a digest of its configuration."""
        config = yaml.safe_dump(dict(self.config()))
        return f"{tool_build(self.tool, self.minor)}+{digest([config, *self.flags])}"

    def settings(self, limits: ClientLimits | None) -> ArmSettings:
        """Return how it will run; without limits, with its own defaults."""
        version = load_manifest().tool(self.tool, self.minor).version
        batches = self.batches and limits is None and self.minor not in WITHOUT_BATCHING
        gates = {BATCHING: batches, **self.features.known_to(self.tool, self.minor)}
        return settings_of(self.config(), version, limits, gates, self.notes)

    def release(self, place: Place, limits: ClientLimits | None) -> ArmRelease:
        """Return its program with its configuration."""
        text = yaml.safe_dump(installed_config(self.config(), place.kubeconfig, limits), sort_keys=False)
        command = [
            str(tool_path(self.tool, self.minor)),
            f"--config={place.config}",
            f"--bind-address={LOOPBACK}",
            f"--secure-port={place.port}",
            # Readiness is answered without authentication.
            f"--authorization-always-allow-paths={self.ready_path}",
            f"--v={LOG_LEVEL}",
            *self.flags,
        ]
        batching = {BATCHING: False} if self.batches and limits and self.minor not in WITHOUT_BATCHING else {}
        if gates := {**batching, **self.features.known_to(self.tool, self.minor)}:
            command.append(f"--feature-gates={spell(gates)}")
        ready = f"https://{LOOPBACK}:{place.port}{self.ready_path}"
        return ArmRelease(make_manifests(place, command, text, ready, rules=self.rules()), text, **self.needs())


def plain_config(scheduler_name: str) -> Config:
    """Return the configuration that leaves every setting at its default."""
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": scheduler_name}],
    }


def default_arm() -> KubeSchedulerArm:
    """Return the arm of the stock kube-scheduler."""
    return KubeSchedulerArm(
        name="default",
        tools=("kube-scheduler",),
        pod_overrides=PodOverrides(SCHEDULER_NAME),
        config=partial(plain_config, SCHEDULER_NAME),
        batches=True,
    )


def koordinator_arm() -> KubeSchedulerArm:
    """Return Koordinator's arm; its settings can be read once it is installed."""
    return KubeSchedulerArm(
        name="koordinator",
        tools=(KOORDINATOR,),
        pod_overrides=PodOverrides(KOORDINATOR),
        config=_koordinator_config,
        # Refused until its caches are filled; /healthz answers long before.
        ready_path="/apis/v1/__services__",
        # By default it serves on every interface.
        flags=("--port=0",),
        rules=lambda: read_rules(tool_data(KOORDINATOR) / "config/rbac/scheduler_role.yaml"),
        needs=lambda: {
            "definitions": tool_data(KOORDINATOR) / "config/crd/bases",
            # It makes three quotas for itself when it starts.
            "kinds": ("ElasticQuota",),
            "namespace": NAMESPACE,
        },
        notes=("built on the scheduling framework of Kubernetes 1.35",),
    )


def _koordinator_config() -> Mapping[str, Any]:
    """Return the configuration of its installation, with its quotas in a namespace that is there."""
    file = tool_data(KOORDINATOR) / "config/manager/scheduler-config.yaml"
    config_map = yaml.safe_load(file.read_text("utf-8"))
    config: dict[str, Any] = yaml.safe_load(config_map["data"]["koord-scheduler-config"])
    for profile in config["profiles"]:
        for plugin in profile["pluginConfig"]:
            if plugin["name"] == "ElasticQuota":
                plugin["args"]["quotaGroupNamespace"] = NAMESPACE
    return config
