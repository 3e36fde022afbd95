"""The one file that tells kwokctl everything about a cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml

from testbed.cluster.components import API_SERVER, CONTROLLER_MANAGER, ETCD, KWOK
from testbed.cluster.ports import LOOPBACK, Ports
from testbed.toolchain import tool_path
from testbed.toolchain.manifest import load_manifest

AUDIT_POLICY = Path(__file__).with_name("audit-policy.yaml")
_STAGES = Path(__file__).with_name("kwok-stages.yaml")

FAKE_NODE_ANNOTATION = "kwok.x-k8s.io/node"
FAKE_NODE_VALUE = "fake"

ExtraArgs = Mapping[str, Mapping[str, str]]
"""Arguments by component, then by name without dashes."""

_EXTRA_ARGS: ExtraArgs = {
    # The data lives as long as the cluster; waiting for the disk protects nothing.
    ETCD: {"unsafe-no-fsync": "true"},
    # One instance needs no election, which costs seconds at the start.
    CONTROLLER_MANAGER: {"leader-elect": "false"},
    # Nodes without the annotation belong to hostpods.
    KWOK: {
        "manage-all-nodes": "false",
        "manage-nodes-with-annotation-selector": (
            f"{FAKE_NODE_ANNOTATION}={FAKE_NODE_VALUE}"
        ),
    },
    API_SERVER: {"audit-log-maxsize": "1000", "audit-log-mode": "blocking"},
}


def render_config(ports: Ports, extra_args: ExtraArgs) -> str:
    """Return the configuration of one cluster: options, extra arguments, stages."""
    kubernetes = load_manifest().tool("kube-apiserver")
    config = {
        "apiVersion": "config.kwok.x-k8s.io/v1alpha1",
        "kind": "KwokctlConfiguration",
        "options": {
            "runtime": "binary",
            "kubeVersion": kubernetes.version,
            "bindAddress": LOOPBACK,
            "securePort": True,
            "kubeAuthorization": True,
            "disableQPSLimits": True,
            "disable": ["kube-scheduler"],
            "kubeAuditPolicy": str(AUDIT_POLICY),
            **_binaries(),
            **_ports(ports),
        },
        "componentsPatches": _patches(merged_arguments(_EXTRA_ARGS, extra_args)),
    }
    return yaml.safe_dump(config) + "---\n" + _STAGES.read_text(encoding="utf-8")


def _binaries() -> dict[str, str]:
    return {
        "etcdBinary": str(tool_path("etcd")),
        "kubeApiserverBinary": str(tool_path("kube-apiserver")),
        "kubeControllerManagerBinary": str(tool_path("kube-controller-manager")),
        "kwokControllerBinary": str(tool_path("kwok")),
        "kubectlBinary": str(tool_path("kubectl")),
    }


def _ports(ports: Ports) -> dict[str, int]:
    return {
        "kubeApiserverPort": ports.kube_apiserver,
        "etcdPort": ports.etcd,
        "etcdPeerPort": ports.etcd_peer,
        "kubeControllerManagerPort": ports.kube_controller_manager,
        "kwokControllerPort": ports.kwok_controller,
    }


def merged_arguments(*layers: ExtraArgs) -> ExtraArgs:
    """Return the arguments of all layers; a later one wins."""
    arguments: dict[str, dict[str, str]] = {}
    for layer in layers:
        for component, values in layer.items():
            arguments.setdefault(component, {}).update(values)
    return arguments


def _patches(arguments: ExtraArgs) -> Sequence[Mapping[str, object]]:
    return [
        {
            "name": component,
            "extraArgs": [{"key": key, "value": value} for key, value in args.items()],
        }
        for component, args in arguments.items()
    ]
