"""The one file with the whole configuration of a cluster for kwokctl."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import yaml

from stowage_testbed.cluster.components import API_SERVER, CONTROLLER_MANAGER, ETCD, KWOK
from stowage_testbed.cluster.ports import LOOPBACK, Ports
from stowage_testbed.toolchain import tool_path
from stowage_testbed.toolchain.manifest import find_minor

AUDIT_POLICY = Path(__file__).with_name("audit-policy.yaml")
STAGES = Path(__file__).with_name("kwok-stages.yaml")

FAKE_NODE_ANNOTATION = "kwok.x-k8s.io/node"
FAKE_NODE_VALUE = "fake"

ExtraArgs = Mapping[str, Mapping[str, str]]
"""Arguments by component, then by name without dashes."""

FAKE_NODES_ONLY: Mapping[str, str] = {
    "manage-all-nodes": "false",
    "manage-nodes-with-annotation-selector": (f"{FAKE_NODE_ANNOTATION}={FAKE_NODE_VALUE}"),
}
"""KWOK's arguments: nodes without the annotation belong to others."""

AUDIT_ARGUMENTS: Mapping[str, str] = {
    "audit-log-maxsize": "1000",
    "audit-log-maxbackup": "9",
    "audit-log-mode": "blocking",
}
"""In MB, and in closed files beside the one being written: 10 GB together, which is more than the largest runs write
between two looks at the log."""

# The data lives as long as the cluster; waiting for the disk protects nothing.
ETCD_ARGUMENTS: Mapping[str, str] = {"unsafe-no-fsync": "true"}

ETCD_SOCKET = "etcd.sock"

_SOCKETS_ONLY: ExtraArgs = {
    ETCD: {"listen-client-urls": f"unix://{ETCD_SOCKET}", "listen-peer-urls": "unix://etcd-peer.sock"},
    API_SERVER: {"etcd-servers": f"unix://{ETCD_SOCKET}"},
}
"""Etcd asks nobody who they are, and whoever writes a pod into it has a command run as this user: it listens in the
cluster's folder, which nobody else may enter. The names are relative to that folder, as a socket's path may have no
more than 107 characters."""

# One instance needs no election, which costs seconds at the start.
CONTROLLER_ARGUMENTS: Mapping[str, str] = {"leader-elect": "false"}

_EXTRA_ARGS: ExtraArgs = {
    ETCD: ETCD_ARGUMENTS,
    CONTROLLER_MANAGER: CONTROLLER_ARGUMENTS,
    KWOK: FAKE_NODES_ONLY,
    # An address of RFC 5737: nobody goes by it, and without one the API server does not
    # start on a machine that is offline, where it finds no default route.
    API_SERVER: {**AUDIT_ARGUMENTS, "advertise-address": "192.0.2.1"},
}


def render_config(minor: str, ports: Ports, extra_args: ExtraArgs) -> str:
    """Return the configuration of a cluster of a minor, with ``extra_args`` on top of kwokctl's own."""
    arguments = merged_arguments(_EXTRA_ARGS, extra_args)
    patches = []
    for component, own in arguments.items():
        given = [{"key": key, "value": value} for key, value in own.items()]
        # kwokctl gives these itself, with other values.
        sockets = _SOCKETS_ONLY.get(component, {}).items()
        replaced = [{"key": key, "value": value, "override": True} for key, value in sockets]
        patches.append({"name": component, "extraArgs": [*given, *replaced]})
    config = {
        "apiVersion": "config.kwok.x-k8s.io/v1alpha1",
        "kind": "KwokctlConfiguration",
        "options": {
            "kubeVersion": find_minor(minor).kubernetes,
            "bindAddress": LOOPBACK,
            "securePort": True,
            "kubeAuthorization": True,
            "disableQPSLimits": True,
            "disable": ["kube-scheduler"],
            "kubeAuditPolicy": str(AUDIT_POLICY),
            "runtime": "binary",
            "etcdBinary": str(tool_path("etcd", minor)),
            "kubeApiserverBinary": str(tool_path("kube-apiserver", minor)),
            "kubeControllerManagerBinary": str(tool_path("kube-controller-manager", minor)),
            "kwokControllerBinary": str(tool_path("kwok")),
            "kubeApiserverPort": ports.kube_apiserver,
            "etcdPort": ports.etcd,
            "etcdPeerPort": ports.etcd_peer,
            "kubeControllerManagerPort": ports.kube_controller_manager,
            "kwokControllerPort": ports.kwok_controller,
        },
        "componentsPatches": patches,
    }
    return yaml.safe_dump(config) + "---\n" + STAGES.read_text(encoding="utf-8")


def config_file(workdir: Path) -> Path:
    """Return where a cluster's configuration is."""
    return workdir / "kwokctl.yaml"


def metrics_arguments(workdir: Path) -> ExtraArgs:
    """Return further arguments for metrics: KWOK reads usages from the API, and metrics-server learns who asks."""
    return {
        KWOK: {"enable-crds": "Metric,ClusterResourceUsage"},
        API_SERVER: {
            "requestheader-client-ca-file": str(workdir / "pki" / "ca.crt"),
            # In the certificate that kwokctl gives the API server to proxy with.
            "requestheader-allowed-names": "kwok-admin",
            "requestheader-username-headers": "X-Remote-User",
            "requestheader-group-headers": "X-Remote-Group",
            "requestheader-extra-headers-prefix": "X-Remote-Extra-",
        },
    }


def merged_arguments(*layers: ExtraArgs) -> ExtraArgs:
    """Return the arguments of all layers; a later one wins."""
    arguments: dict[str, dict[str, str]] = {}
    for layer in layers:
        for component, values in layer.items():
            arguments.setdefault(component, {}).update(values)
    return arguments
