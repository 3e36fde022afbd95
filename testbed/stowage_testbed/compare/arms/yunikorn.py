"""The arm `yunikorn`: Apache YuniKorn's scheduler with its project's own settings.

Its command is our own (see the toolchain's module): the project's serves a web
interface on every network interface, which nothing can switch off.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import yaml

from stowage_testbed.cluster.base import Cluster
from stowage_testbed.cluster.ports import LOOPBACK, port_beside
from stowage_testbed.compare.arms.account import KUBECONFIG, NAMESPACE, Rights
from stowage_testbed.compare.arms.kube_scheduler import BATCHING
from stowage_testbed.compare.arms.program import Program, http_readiness
from stowage_testbed.compare.arms.serving import own_folder, serving
from stowage_testbed.run.arm import ArmSettings, ClientLimits, PodOverrides, RunningArm
from stowage_testbed.toolchain import choose_minor, tool_build, tool_data, tool_path
from stowage_testbed.toolchain.manifest import load_manifest

NAME = "yunikorn"
TOOL = "yunikorn-scheduler"
DEFAULT_LIMITS = ClientLimits(qps=1000.0, burst=1000)
"""Of its source, where its configuration says nothing."""

_OVERRIDES = PodOverrides("yunikorn", labels={"applicationId": "stowage-compare", "queue": "root.default"})
_CONFIG_MAP = "yunikorn-configs"
_NOTES = (
    "takes the first node that fits in the order of its sorting policy, without scores",
    "started without its web service, which would listen on every interface",
)


@dataclass(frozen=True, slots=True)
class YunikornArm:
    """YuniKorn, which schedules by queues and applications."""

    name: str = NAME
    pod_overrides: PodOverrides = _OVERRIDES
    minor: str = field(default_factory=choose_minor)

    @property
    def tools(self) -> tuple[str, ...]:
        """Its binary."""
        return (TOOL,)

    def build(self) -> str:
        """Return the program's build; its configuration comes with it."""
        return tool_build(TOOL, self.minor)

    def settings(self, limits: ClientLimits | None) -> ArmSettings:
        """Return how it will run; without limits, with its own defaults."""
        used = limits or DEFAULT_LIMITS
        return ArmSettings(
            version=load_manifest().tool(TOOL).version,
            qps=used.qps,
            burst=used.burst,
            parallelism=None,
            sampled_percent=None,
            feature_gates={BATCHING: False},
            notes=_NOTES,
        )

    def running(
        self, cluster: Cluster, folder: Path, limits: ClientLimits | None
    ) -> AbstractContextManager[RunningArm]:
        """Start it and stop it at the end; on entry it serves."""
        folder = own_folder(folder)
        data = _configuration(limits)
        text = yaml.safe_dump(data, sort_keys=False)
        (folder / "yunikorn.yaml").write_text(text, "utf-8")
        port = port_beside(cluster.name)
        program = Program(
            "scheduler",
            [str(tool_path(TOOL)), f"--port={port}"],
            {"KUBECONFIG": str(folder / KUBECONFIG), "NAMESPACE": NAMESPACE},
            partial(http_readiness, f"http://{LOOPBACK}:{port}/readyz"),
        )
        return serving(
            self.name,
            cluster,
            folder,
            Rights.of_file(tool_data(TOOL) / "deployments/scheduler/yunikorn-rbac.yaml"),
            programs=[program],
            configuration=text,
            config_maps={_CONFIG_MAP: data},
        )


def _configuration(limits: ClientLimits | None) -> dict[str, str]:
    """Return the project's own queues, with client limits where they are given."""
    file = tool_data(TOOL) / "deployments/scheduler/yunikorn-configs.yaml"
    data: dict[str, str] = yaml.safe_load(file.read_text("utf-8"))["data"]
    if limits is None:
        return data
    # Its limits are whole numbers.
    qps = str(round(limits.qps))
    return {**data, "kubernetes.qps": qps, "kubernetes.burst": str(limits.burst)}
