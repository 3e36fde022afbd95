"""What the chart would install, read from Helm, to be run as plain processes.

The configuration with its plugin arguments, the rights and the command lines are the
chart's own, so that nothing of it is written twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from stowage_testbed.cluster.protocol import Cluster
from stowage_testbed.compare.arms.account import NAMESPACE, Rule
from stowage_testbed.helm.command import run_helm
from stowage_testbed.helm.install import CHART
from stowage_testbed.helm.values import Values, values_refused
from stowage_testbed.toolchain.manifest import load_manifest

HELM_TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True)
class Container:
    """A container of the chart's pod: its command line and its variables."""

    command: tuple[str, ...]
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class RenderedChart:
    """The parts of the chart that processes are made from.

    Attributes
    ----------
    config
        The scheduler's KubeSchedulerConfiguration.
    rules
        The rights of its account.
    containers
        By name, ``scheduler`` and, where the profile has it, ``optimizer``.
    """

    config: dict[str, Any]
    rules: tuple[Rule, ...]
    containers: Mapping[str, Container]


def render_chart(cluster: Cluster, values: Values, file: Path) -> RenderedChart:
    """Render the chart with values, which are written to ``file``.

    Raises
    ------
    StowageError
        The chart refuses them.
    ToolMissingError
        Helm is not installed.
    """
    file.write_text(yaml.safe_dump(values), "utf-8")
    arguments = ["template", "stowage", str(CHART), "--values", str(file)]
    # Helm renders without asking the cluster, and assumes an old version by default.
    kubernetes = load_manifest().tool("kube-apiserver").version
    arguments += ["--kube-version", kubernetes, "--namespace", NAMESPACE]
    done = run_helm(cluster, arguments, HELM_TIMEOUT_S)
    if done.returncode:
        raise values_refused(file, done.stderr)
    documents = [one for one in yaml.safe_load_all(done.stdout) if one]
    config_map = _only(documents, "ConfigMap")
    deployment = _only(documents, "Deployment")
    pod = deployment["spec"]["template"]["spec"]
    return RenderedChart(
        yaml.safe_load(config_map["data"]["scheduler.yaml"]),
        tuple(_only(documents, "ClusterRole")["rules"]),
        {one["name"]: _container(one) for one in pod["containers"]},
    )


def _only(documents: Iterable[Mapping[str, Any]], kind: str) -> Mapping[str, Any]:
    (found,) = (one for one in documents if one["kind"] == kind)
    return found


def _container(entry: Mapping[str, Any]) -> Container:
    return Container(
        (*entry["command"], *entry["args"]),
        {one["name"]: one["value"] for one in entry.get("env", ())},
    )
