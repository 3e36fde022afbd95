"""The values that make the chart run on a testbed cluster."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

import yaml

from stowage_testbed.base.errors import StowageError
from stowage_testbed.cluster.base import Cluster
from stowage_testbed.cluster.components import HOST_TAINT
from stowage_testbed.cluster.ports import LOOPBACK, port_beside

Values = dict[str, object]

SCHEDULER_NAME = "default-scheduler"
"""A testbed cluster has no scheduler of its own: the release serves the pods that name nobody."""


def testbed_values(cluster: Cluster, *, profile: str, optimizer_enabled: bool) -> Values:
    """Return the values that the testbed needs; a `StowageError` if a program that the release runs is missing."""
    where = cluster.release_location
    needed: Values = {
        "profile": profile,
        "schedulerName": SCHEDULER_NAME,
        # There is one replica, and waiting for a lease would only cost time.
        "scheduler": {"leaderElection": {"enabled": False}},
        "optimizer": {"enabled": optimizer_enabled},
        "placement": {"nodeName": where.node, "tolerations": [{"key": HOST_TAINT, "operator": "Exists"}]},
    }
    if where.containers:
        # The images are on the node already; there may be no registry.
        image = {"image": {"pullPolicy": "Never"}}
        own: Values = {"apiServer": {"url": where.api_server_url}, "scheduler": image, "optimizer": image}
        return merge_values(needed, own)
    return merge_values(needed, _as_processes(cluster))


def _program_of(cluster: Cluster, name: str) -> Path:
    """Give a cluster a program for as long as it lives, whatever is built meanwhile."""
    installed = cluster.tool_path(name)
    kept = cluster.workdir / "programs" / installed.parent.name / name
    if not kept.is_file():
        kept.parent.mkdir(parents=True, exist_ok=True)
        try:
            kept.hardlink_to(installed)
        except OSError:  # another disk
            shutil.copy2(installed, kept)
    return kept


def _as_processes(cluster: Cluster) -> Values:
    """Return what a release needs whose containers are processes of this machine."""
    optimizer = Path(sys.executable).with_name("stowage-optimizer")
    if not optimizer.is_file():
        raise StowageError(
            f"{optimizer} does not exist; install the project into this environment, as `make setup` does"
        )
    return {
        "apiServer": {"url": api_server_url(cluster.kubeconfig)},
        "scheduler": {
            "command": [str(_program_of(cluster, "stowage-scheduler"))],
            "bindAddress": LOOPBACK,
            "securePort": port_beside(cluster.name),
        },
        "optimizer": {
            "command": [str(optimizer)],
            # A probe loads Python and gRPC, which shows in measurements on few cores.
            # On a busy machine that takes longer than on a node that keeps CPU for it.
            "probes": {"periodSeconds": 30, "timeoutSeconds": 30},
        },
        "paths": {
            part: str(cluster.workdir / "mnt" / part) for part in ("config", "credentials", "socket", "temporary")
        },
    }


def merge_values(base: Mapping[str, object], over: Mapping[str, object]) -> Values:
    """Return ``base`` with the entries of ``over``, maps merged as Helm merges them."""
    merged = {**base, **over}
    for key, former in base.items():
        value = over.get(key)
        if isinstance(former, Mapping) and isinstance(value, Mapping):
            merged[key] = merge_values(former, value)
    return merged


def api_server_url(kubeconfig: Path) -> str:
    """Return the API server's address from the kubeconfig's only cluster."""
    content = yaml.safe_load(kubeconfig.read_text("utf-8"))
    return str(content["clusters"][0]["cluster"]["server"])


def values_refused(values_file: Path, issues: str) -> StowageError:
    """Return the error that the values do not fit the chart."""
    return StowageError(
        f"the chart refuses the values in {values_file}:\n{issues.strip()}\n"
        "charts/stowage/values.yaml explains every value, and "
        "charts/stowage/values.schema.json has their types and limits"
    )
