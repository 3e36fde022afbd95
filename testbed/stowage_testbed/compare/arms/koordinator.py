"""The arm `koordinator`: koord-scheduler, as its project's manifests run it.

Configuration, rights and custom resources are those of the Go module that the binary
is built from. Its manager, which brings webhooks, and its node agent are left out: they
do not place pods.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

import yaml

from stowage_testbed.cluster.base import Cluster
from stowage_testbed.compare.arms.account import NAMESPACE, STOCK_SCHEDULER, Rights
from stowage_testbed.compare.arms.crds import custom_resources
from stowage_testbed.compare.arms.kube_scheduler import BATCHING, KubeSchedulerArm
from stowage_testbed.run.arm import PodOverrides
from stowage_testbed.toolchain import tool_data

NAME = "koordinator"
TOOL = "koord-scheduler"
SCHEDULER_NAME = "koord-scheduler"
_READY = "/apis/v1/__services__"
"""Refused until its caches are filled; /healthz answers long before."""


def koordinator_arm() -> KubeSchedulerArm:
    """Return the arm; its settings can be read once it is installed."""
    return KubeSchedulerArm(
        name=NAME,
        tool=TOOL,
        pod_overrides=PodOverrides(SCHEDULER_NAME),
        config=shipped_config,
        rights=_rights,
        gates=lambda _: {BATCHING: False},
        ready_path=_READY,
        # By default it serves on every interface.
        flags=("--port=0",),
        prepare=_prepare,
        notes=("built on the scheduling framework of Kubernetes 1.35",),
    )


def shipped_config() -> Mapping[str, Any]:
    """Return the configuration of Koordinator's own installation.

    Its quotas are kept in a namespace that is there, instead of its own.
    """
    file = tool_data(TOOL) / "config/manager/scheduler-config.yaml"
    config_map = yaml.safe_load(file.read_text("utf-8"))
    config: dict[str, Any] = yaml.safe_load(config_map["data"]["koord-scheduler-config"])
    for profile in config["profiles"]:
        for plugin in profile["pluginConfig"]:
            if plugin["name"] == "ElasticQuota":
                plugin["args"]["quotaGroupNamespace"] = NAMESPACE
    return config


def _rights() -> Rights:
    file = tool_data(TOOL) / "config/rbac/scheduler_role.yaml"
    role = next(yaml.safe_load_all(file.read_text("utf-8")))
    return Rights(STOCK_SCHEDULER, tuple(role["rules"]))


def _prepare(cluster: Cluster) -> AbstractContextManager[None]:
    # It makes three quotas for itself when it starts.
    return custom_resources(cluster, tool_data(TOOL) / "config/crd/bases", "ElasticQuota", namespace=NAMESPACE)
