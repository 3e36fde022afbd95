"""The configuration of kind for one cluster."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import yaml

from stowage_testbed.cluster.kwokctl_config import AUDIT_ARGUMENTS, AUDIT_POLICY, CONTROLLER_ARGUMENTS, ETCD_ARGUMENTS
from stowage_testbed.cluster.ports import LOOPBACK

_POLICY_INSIDE = "/etc/kubernetes/audit-policy.yaml"

_LOGS_INSIDE = "/var/log/stowage"
"""Where the API server's container sees the cluster's logs: the folder and not the one file, as kubeadm would have it,
since a file that is mounted cannot be renamed when it has become too long."""

# As kwokctl starts them with `disableQPSLimits`: no scenario should measure these.
_NO_LIMITS_API_SERVER = {
    "max-requests-inflight": "0",
    "max-mutating-requests-inflight": "0",
    "enable-priority-and-fairness": "false",
}
_NO_LIMITS_CONTROLLERS = {"kube-api-qps": "5000", "kube-api-burst": "10000"}

# Names and services of the cluster are not needed: the release knows its API server by
# address, and nothing runs on fake nodes.
_INIT = {"kind": "InitConfiguration", "skipPhases": ["preflight", "addon/coredns", "addon/kube-proxy"]}
# Refused by default from 1.35 on, and not removed in 1.36.
_KUBELET = {"kind": "KubeletConfiguration", "failCgroupV1": False}


def render_config(name: str, image: str, api_port: int, audit_log: Path) -> str:
    """Return the configuration of one cluster with one node; the ``audit_log`` exists, in a folder of logs alone."""
    node = {
        "role": "control-plane",
        "image": image,
        "extraMounts": [
            _mount(AUDIT_POLICY, _POLICY_INSIDE, read_only=True),
            _mount(audit_log.parent, _LOGS_INSIDE, read_only=False),
        ],
        "kubeadmConfigPatches": [yaml.safe_dump(patch) for patch in (_cluster(audit_log.name), _INIT, _KUBELET)],
    }
    return yaml.safe_dump(
        {
            "kind": "Cluster",
            "apiVersion": "kind.x-k8s.io/v1alpha4",
            "name": name,
            "networking": {"apiServerAddress": LOOPBACK, "apiServerPort": api_port, "kubeProxyMode": "none"},
            "nodes": [node],
        }
    )


def _mount(host: Path, inside: str, *, read_only: bool) -> Mapping[str, object]:
    return {"hostPath": str(host), "containerPath": inside, "readOnly": read_only}


def _cluster(audit_log: str) -> Mapping[str, object]:
    audit = {"audit-policy-file": _POLICY_INSIDE, "audit-log-path": f"{_LOGS_INSIDE}/{audit_log}"}
    return {
        "kind": "ClusterConfiguration",
        "apiServer": {
            "extraArgs": _list({**audit, **AUDIT_ARGUMENTS, **_NO_LIMITS_API_SERVER}),
            "extraVolumes": [
                _volume("audit-policy", _POLICY_INSIDE, "File", read_only=True),
                _volume("audit-log", _LOGS_INSIDE, "Directory", read_only=False),
            ],
        },
        "controllerManager": {"extraArgs": _list({**CONTROLLER_ARGUMENTS, **_NO_LIMITS_CONTROLLERS})},
        "etcd": {"local": {"extraArgs": _list(ETCD_ARGUMENTS)}},
    }


def _volume(name: str, path: str, kind: str, *, read_only: bool) -> Mapping[str, object]:
    return {"name": name, "hostPath": path, "mountPath": path, "readOnly": read_only, "pathType": kind}


def _list(arguments: Mapping[str, str]) -> list[Mapping[str, str]]:
    return [{"name": name, "value": value} for name, value in arguments.items()]
