"""The arm `yunikorn`: Apache YuniKorn's scheduler with its project's own settings.

Its command is our own: the project's serves a web interface on every network interface, which nothing can switch off.
"""

from dataclasses import dataclass, field

import yaml

from stowage_testbed.api.pod_templates import PodOverrides
from stowage_testbed.cluster.feature_gates import DEFAULTS, FeatureGates
from stowage_testbed.cluster.ports import LOOPBACK
from stowage_testbed.compare.arms.kube_scheduler import BATCHING
from stowage_testbed.compare.arms.serving import NAMESPACE, Arm, ArmRelease, Place, make_manifests, read_rules
from stowage_testbed.compare.arms.settings import ArmSettings, ClientLimits
from stowage_testbed.toolchain import choose_minor, tool_build, tool_data, tool_path
from stowage_testbed.toolchain.manifest import load_manifest

TOOL = "yunikorn-scheduler"
DEFAULT_LIMITS = ClientLimits(qps=1000.0, burst=1000)
"""Of its source, where its configuration says nothing."""

_OVERRIDES = PodOverrides("yunikorn", labels={"applicationId": "stowage-compare", "queue": "root.default"})
_NOTES = (
    "takes the first node that fits in the order of its sorting policy, without scores",
    "started without its web service, which would listen on every interface",
)


@dataclass(frozen=True, slots=True)
class YunikornArm(Arm):
    """YuniKorn, which schedules by queues and applications."""

    name: str = "yunikorn"
    pod_overrides: PodOverrides = _OVERRIDES
    minor: str = field(default_factory=choose_minor)
    features: FeatureGates = DEFAULTS
    """Of its cluster alone: it takes no gates."""
    tools: tuple[str, ...] = (TOOL,)

    def build(self) -> str:
        """Return the program's build; its configuration comes with it."""
        return tool_build(TOOL, self.minor)

    def settings(self, limits: ClientLimits | None) -> ArmSettings:
        """Return how it will run; without limits, with its own defaults."""
        used = limits or DEFAULT_LIMITS
        version = load_manifest().tool(TOOL).version
        return ArmSettings(version, used.qps, used.burst, None, None, {BATCHING: False}, notes=_NOTES)

    def release(self, place: Place, limits: ClientLimits | None) -> ArmRelease:
        """Return its program with its project's own queues, and client limits where they are given."""
        manifests = tool_data(TOOL) / "deployments/scheduler"
        data: dict[str, str] = yaml.safe_load((manifests / "yunikorn-configs.yaml").read_text("utf-8"))["data"]
        if limits is not None:
            # Its limits are whole numbers.
            data = {**data, "kubernetes.qps": str(round(limits.qps)), "kubernetes.burst": str(limits.burst)}
        text = yaml.safe_dump(data, sort_keys=False)
        made = make_manifests(
            place,
            [str(tool_path(TOOL)), f"--port={place.port}"],
            text,
            f"http://{LOOPBACK}:{place.port}/readyz",
            environment={"KUBECONFIG": str(place.kubeconfig), "NAMESPACE": NAMESPACE},
            rules=read_rules(manifests / "yunikorn-rbac.yaml"),
            config_maps={"yunikorn-configs": data},
        )
        return ArmRelease(made, text)
