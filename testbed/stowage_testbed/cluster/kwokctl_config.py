"""The one file with the whole configuration of a cluster for kwokctl."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import yaml

from stowage_testbed.cluster.components import (
    API_SERVER,
    CONTROLLER_MANAGER,
    ETCD,
    KWOK,
)
from stowage_testbed.cluster.ports import LOOPBACK, Ports
from stowage_testbed.toolchain import tool_path
from stowage_testbed.toolchain.minors import find_minor

AUDIT_POLICY = Path(__file__).with_name("audit-policy.yaml")
STAGES = Path(__file__).with_name("kwok-stages.yaml")

FAKE_NODE_ANNOTATION = "kwok.x-k8s.io/node"
FAKE_NODE_VALUE = "fake"

ExtraArgs = Mapping[str, Mapping[str, str]]
"""Arguments by component, then by name without dashes."""

Options = Mapping[str, object]
"""kwokctl's options that depend on its runtime."""

Folders = Mapping[str, Mapping[Path, str]]
"""Where containers see folders of this machine, which they may write to; by component.
"""

FAKE_NODES_ONLY: Mapping[str, str] = {
    "manage-all-nodes": "false",
    "manage-nodes-with-annotation-selector": (
        f"{FAKE_NODE_ANNOTATION}={FAKE_NODE_VALUE}"
    ),
}
"""KWOK's arguments: nodes without the annotation belong to others."""

AUDIT_ARGUMENTS: Mapping[str, str] = {
    "audit-log-maxsize": "1000",
    "audit-log-maxbackup": "9",
    "audit-log-mode": "blocking",
}
"""In MB, and in closed files beside the one being written: 10 GB together, which is
more than the largest runs write between two looks at the log."""

# The data lives as long as the cluster; waiting for the disk protects nothing.
ETCD_ARGUMENTS: Mapping[str, str] = {"unsafe-no-fsync": "true"}

ETCD_SOCKET = "etcd.sock"
ETCD_PEER_SOCKET = "etcd-peer.sock"

SOCKETS_ONLY: ExtraArgs = {
    ETCD: {
        "listen-client-urls": f"unix://{ETCD_SOCKET}",
        "listen-peer-urls": f"unix://{ETCD_PEER_SOCKET}",
    },
    API_SERVER: {"etcd-servers": f"unix://{ETCD_SOCKET}"},
}
"""Etcd asks nobody who they are, and whoever writes a pod into it has a command run as
this user: it listens in the cluster's folder, which nobody else may enter. The names
are relative to that folder, as a socket's path may have no more than 107 characters."""

LOGS_INSIDE = "/var/log/stowage"
"""Where containers of the API server see the cluster's logs: the folder and not the one
file, as kwokctl and kubeadm would have it, since a file that is mounted cannot be
renamed when it has become too long."""

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


def render_config(
    minor: str,
    options: Options,
    extra_args: ExtraArgs,
    replaced: ExtraArgs | None = None,
    folders: Folders | None = None,
) -> str:
    """Return the configuration of a cluster of a minor: options, arguments, stages.

    ``extra_args`` and ``folders`` come on top of kwokctl's own; ``replaced`` are
    arguments that kwokctl gives as well, with other values.
    """
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
            "kubectlBinary": str(tool_path("kubectl", minor)),
            **options,
        },
        "componentsPatches": _patches(
            merged_arguments(_EXTRA_ARGS, extra_args), replaced or {}, folders or {}
        ),
    }
    return yaml.safe_dump(config) + "---\n" + STAGES.read_text(encoding="utf-8")


def config_file(workdir: Path) -> Path:
    """Return where a cluster's configuration is."""
    return workdir / "kwokctl.yaml"


def binary_options(minor: str, ports: Ports) -> Options:
    """Return the options of the binary runtime."""
    return {
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
    }


def docker_options(ports: Ports, images: Mapping[str, str]) -> Options:
    """Return the options of the docker runtime, where only two publish a port."""
    return {
        "runtime": "docker",
        "etcdImage": images[ETCD],
        "kubeApiserverImage": images[API_SERVER],
        "kubeControllerManagerImage": images[CONTROLLER_MANAGER],
        "kwokControllerImage": images[KWOK],
        "kubeApiserverPort": ports.kube_apiserver,
        "kwokControllerPort": ports.kwok_controller,
    }


_PROXY_USER = "kwok-admin"
"""Name in the certificate that kwokctl gives the API server to proxy with."""


def metrics_arguments(workdir: Path) -> ExtraArgs:
    """Return the further arguments of a cluster with metrics.

    KWOK reads its metrics and usages from the API. The API server tells metrics-server
    who really asks, so that both authorise the same user.
    """
    return {
        KWOK: {"enable-crds": "Metric,ClusterResourceUsage"},
        API_SERVER: {
            "requestheader-client-ca-file": str(workdir / "pki" / "ca.crt"),
            "requestheader-allowed-names": _PROXY_USER,
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


def _patches(
    extra: ExtraArgs, replaced: ExtraArgs, folders: Folders
) -> Sequence[Mapping[str, object]]:
    return [
        {
            "name": component,
            "extraArgs": [
                *_arguments(extra, component),
                *({**one, "override": True} for one in _arguments(replaced, component)),
            ],
            "extraVolumes": [
                {"hostPath": str(folder), "mountPath": inside, "readOnly": False}
                for folder, inside in folders.get(component, {}).items()
            ],
        }
        for component in {**extra, **replaced}
    ]


def _arguments(layer: ExtraArgs, component: str) -> Iterator[Mapping[str, object]]:
    for key, value in layer.get(component, {}).items():
        yield {"key": key, "value": value}
