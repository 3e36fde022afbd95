"""Helm, kubectl and workloads on a live cluster, for end-to-end tests of the chart."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from kubernetes.client import ApiClient, AppsV1Api, CoreV1Api

from stowage_testbed.cluster import Cluster
from stowage_testbed.helm.command import run_helm
from stowage_testbed.helm.install import CHART
from stowage_testbed.helm.values import location_values, merge_values
from stowage_testbed.optimizer_service.compiled import compile_optimizer
from stowage_testbed.plan import PlanApi
from stowage_testbed.toolchain import tool_path
from stowage_testbed.wait import wait_until

NAMESPACE = "stowage-system"
RELEASE = "stowage"
ACCOUNT = f"system:serviceaccount:{NAMESPACE}:{RELEASE}"
TIMEOUT_S = 90.0
Object = tuple[str, str, str]
"""Kind with its group, namespace (empty without), name."""

Plan = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class HelmEnvironment:
    """A cluster with a client; its answers are typed loosely."""

    cluster: Cluster
    client: ApiClient

    @property
    def core(self) -> Any:
        """The core API."""
        return CoreV1Api(self.client)

    @property
    def plans(self) -> PlanApi:
        """The PackingPlans."""
        return PlanApi(self.client)

    def helm(self, *arguments: str) -> str:
        """Run Helm on the release's namespace; return what it prints."""
        done = run_helm(self.cluster, [*arguments, "--namespace", NAMESPACE], TIMEOUT_S)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def values_file(self, values: Mapping[str, object] | None = None) -> str:
        """Write what only says where the release runs, and further values."""
        compile_optimizer()
        file: Path = self.cluster.workdir / "chart-values.yaml"
        merged = merge_values(location_values(self.cluster), values or {})
        file.write_text(yaml.safe_dump(merged), "utf-8")
        return str(file)

    def install(self, *arguments: str, chart: Path = CHART, values: str = "") -> str:
        """Install the chart as its guide says; return the notes."""
        return self.helm(
            *("install", RELEASE, str(chart), "--create-namespace", "--wait"),
            *("--values", values or self.values_file(), *arguments),
        )

    def kubectl(self, *arguments: str) -> str:
        """Run kubectl; return what it prints."""
        return subprocess.run(
            [str(tool_path("kubectl")), *arguments],
            env={**os.environ, "KUBECONFIG": str(self.cluster.kubeconfig)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    def objects(self) -> set[Object]:
        """Return every object there is, of whatever kind; events aside."""
        kinds = self.kubectl("api-resources", "--verbs=list", "--output=name").split()
        wanted = [one for one in kinds if not one.startswith("events")]
        listed = json.loads(
            self.kubectl("get", ",".join(wanted), "--all-namespaces", "--output=json")
        )["items"]
        return {
            (
                f"{one['apiVersion'].rpartition('/')[0]}/{one['kind']}",
                one["metadata"].get("namespace", ""),
                one["metadata"]["name"],
            )
            for one in listed
        }

    def deploy(self, name: str, replicas: int, memory_mb: int, **spec: object) -> None:
        """Create a ReplicaSet of namespace default."""
        requests = {"cpu": "100m", "memory": f"{memory_mb}M"}
        container = {"name": "c", "image": "none", "resources": {"requests": requests}}
        annotations = spec.pop("annotations", {})
        AppsV1Api(self.client).create_namespaced_replica_set(
            "default",
            {  # type: ignore[arg-type] # a plain object does as well
                "metadata": {"name": name},
                "spec": {
                    "replicas": replicas,
                    "selector": {"matchLabels": {"app": name}},
                    "template": {
                        "metadata": {
                            "labels": {"app": name},
                            "annotations": annotations,
                        },
                        "spec": {"containers": [container], **spec},
                    },
                },
            },
        )

    def remove(self, *names: str) -> None:
        """Remove ReplicaSets and wait until their pods are gone."""
        for name in names:
            AppsV1Api(self.client).delete_namespaced_replica_set(name, "default")
            self.until(f"{name} to be gone", name, lambda on: not on)

    def nodes(self, name: str) -> dict[str, str]:
        """Return the node of each pod of a ReplicaSet, by UID; empty if it waits."""
        listed = self.core.list_namespaced_pod("default", label_selector=f"app={name}")
        return {
            pod.metadata.uid: pod.spec.node_name or ""
            for pod in listed.items
            if pod.metadata.deletion_timestamp is None
        }

    def until(
        self, what: str, name: str, holds: Callable[[dict[str, str]], bool]
    ) -> dict[str, str]:
        """Wait until the pods of a ReplicaSet are as wanted."""
        return wait_until(what, lambda: self.nodes(name), holds, timeout_s=60)

    def until_placed(self, name: str, count: int) -> dict[str, str]:
        """Wait until all pods of a ReplicaSet have a node."""
        return self.until(
            f"{count} pods of {name} to have nodes",
            name,
            lambda on: len(on) == count and all(on.values()),
        )

    def newest_plan(self, *phases: str, timeout_s: float = 60.0) -> Plan:
        """Wait until the newest plan is in one of the phases."""
        return wait_until(
            f"the newest plan to be {' or '.join(phases)}",
            lambda: (self.plans.plans() or [{}])[0],
            lambda plan: (plan.get("status") or {}).get("phase") in phases,
            timeout_s=timeout_s,
        )

    def writes_of(self, user: str) -> list[tuple[str, str, str]]:
        """Return verb, resource and object of a user's writes that were accepted."""
        written = []
        for line in self.cluster.audit_log.read_text("utf-8").splitlines():
            if user not in line:
                continue
            entry = json.loads(line)
            target = entry.get("objectRef", {})
            if (
                entry["user"]["username"] == user
                and entry["verb"] not in ("get", "list", "watch")
                and entry["responseStatus"]["code"] < 400
            ):
                parts = (target.get("resource", ""), target.get("subresource", ""))
                named = f"{target.get('namespace', '')}/{target.get('name', '')}"
                written.append((entry["verb"], "/".join(filter(None, parts)), named))
        return written
