"""Rendering the chart as Helm would install it."""

import subprocess
from pathlib import Path
from typing import Any

import yaml

from stowage_testbed.helm.install import CHART
from stowage_testbed.toolchain import tool_path

PROFILES = sorted(file.stem for file in (CHART / "profiles").glob("*.yaml"))
Manifest = dict[str, Any]


class ChartRefusedError(Exception):
    """Helm refused to render; the message is what a user sees."""


def render(*settings: str, hooks: bool = False, kubernetes: str = "1.37.2") -> list[Manifest]:
    """Render with ``--set`` settings; return the objects, or those of ``helm test``."""
    sets = [word for setting in settings for word in ("--set", setting)]
    done = subprocess.run(
        [
            str(tool_path("helm")),
            *("template", "stowage", str(CHART), "--namespace", "ns"),
            *("--kube-version", kubernetes, *sets),
        ],
        env={"HOME": "/nonexistent"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise ChartRefusedError(done.stderr)
    objects = [document for document in yaml.safe_load_all(done.stdout) if document]
    return [one for one in objects if ("helm.sh/hook" in one["metadata"].get("annotations", {})) is hooks]


def of_kind(objects: list[Manifest], *kinds: str) -> list[Manifest]:
    """Return the objects of some kinds."""
    return [manifest for manifest in objects if manifest["kind"] in kinds]


def pod_spec(objects: list[Manifest]) -> Manifest:
    """Return the Deployment's pod spec."""
    (deployment,) = of_kind(objects, "Deployment")
    spec: Manifest = deployment["spec"]["template"]["spec"]
    return spec


def scheduler_config(objects: list[Manifest]) -> Manifest:
    """Return the scheduler's configuration from the ConfigMap."""
    (config,) = of_kind(objects, "ConfigMap")
    content: Manifest = yaml.safe_load(config["data"]["scheduler.yaml"])
    return content


def profile_file(name: str) -> Manifest:
    """Return a profile as the chart ships it."""
    file: Path = CHART / "profiles" / f"{name}.yaml"
    content: Manifest = yaml.safe_load(file.read_text("utf-8"))
    return content
