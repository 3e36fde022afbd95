"""Kubernetes' own PodGroups: where a cluster serves them, and what they say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stowage_testbed.api.kinds import kinds_of
from stowage_testbed.observe.change import JsonObject
from stowage_testbed.observe.source import CORE_SOURCES, Source, source_of

if TYPE_CHECKING:
    from kubernetes.client import ApiClient

POD_GROUP = "PodGroup"
GROUP = "scheduling.k8s.io"
"""Other schedulers have kinds of the same name in other API groups."""
POD_GROUP_VERSION = f"{GROUP}/v1beta1"
"""In which scenarios write them, from Kubernetes 1.37 on."""


def list_sources(api: ApiClient) -> tuple[Source, ...]:
    """Return the sources that a cluster has from its start, with the PodGroups where it serves them."""
    kind = kinds_of(api).find_served(POD_GROUP)
    return (*CORE_SOURCES, source_of(kind)) if kind is not None and kind.group == GROUP else CORE_SOURCES


def read_min_count(body: JsonObject) -> int:
    """Return how many pods a group needs at once, 0 for a group that is no gang."""
    policy = (body.get("spec") or {}).get("schedulingPolicy") or {}
    return int((policy.get("gang") or {}).get("minCount") or 0)
