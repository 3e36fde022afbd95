"""The kinds of cluster, by name, and what some of them cannot do."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType


class Backend(StrEnum):
    """How a control plane is run."""

    KWOK_BINARY = "kwok-binary"
    KIND = "kind"


class Need(StrEnum):
    """What a scenario may ask of its cluster beyond a control plane with fake nodes."""

    USAGE = "usage"
    """Simulated usage of pods, measured by metrics-server."""

    PROCESSES = "processes"
    """Control plane and release as processes of this machine, to be killed at will."""


CANNOT: Mapping[Backend, Mapping[Need, str]] = MappingProxyType(
    {
        Backend.KWOK_BINARY: {},
        Backend.KIND: {
            Need.USAGE: (
                "metrics-server runs as a process of this machine and must be reached "
                "by the API server, which runs in a container here"
            ),
            Need.PROCESSES: "the control plane and the release run in containers",
        },
    }
)
"""Why a backend cannot give what it is asked for."""

CLUSTER_TOOLS: Mapping[Backend, tuple[str, ...]] = MappingProxyType(
    {
        Backend.KWOK_BINARY: ("etcd", "kube-apiserver", "kube-controller-manager", "kwok", "kwokctl"),
        Backend.KIND: ("kind", "kwok"),
    }
)
"""What must be installed for a cluster to come up."""

SCHEDULER = "stowage-scheduler"
RELEASE_TOOLS = ("helm", SCHEDULER)
"""What must be installed for the chart's release to run on it."""

TOOLS: Mapping[Backend, tuple[str, ...]] = MappingProxyType(
    {backend: (*own, *RELEASE_TOOLS) for backend, own in CLUSTER_TOOLS.items()}
)
"""What must be installed to run a scenario."""
