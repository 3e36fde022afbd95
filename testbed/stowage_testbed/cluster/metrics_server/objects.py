"""The objects that make up a cluster's metrics API, from the files beside this one.

Among them the kinds that KWOK reads simulated usage from.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import yaml

from stowage_testbed.api.client import Manifest
from stowage_testbed.api.objects import Objects

_FOLDER = Path(__file__).parent


def read_manifests(name: str) -> list[Manifest]:
    """Return the documents of ``<name>.yaml``."""
    text = (_FOLDER / f"{name}.yaml").read_text(encoding="utf-8")
    return list(yaml.safe_load_all(text))


def serve_usage_api(objects: Objects, timeout_s: float) -> None:
    """Create the kinds, wait until they are served, and describe a fake kubelet.

    Pods use no CPU, unless their annotations say so, until it is set.

    To be done before KWOK asks for them: it repeats a failed list only after seconds.
    """
    definitions = read_manifests("usage-crds")
    for definition in definitions:
        objects.create(definition)
    for definition in definitions:
        objects.await_definition(definition["metadata"]["name"], timeout_s)
    for manifest in (*read_manifests("kubelet-metrics"), usage_object({})):
        objects.create(manifest)


USAGE = "usage"
CPU_ANNOTATION = "kwok.x-k8s.io/usage-cpu"
MEMORY_ANNOTATION = "kwok.x-k8s.io/usage-memory"

MEMORY = "64Mi"
"""What every pod uses; metrics-server takes a container without memory for gone."""


def usage_object(cpu_milli: Mapping[str, int]) -> Manifest:
    """Return what KWOK simulates, given each pod's CPU by namespace; others use none.

    KWOK takes the first of several objects that match a pod, in an order that means nothing. So there is one for the
    whole cluster: what a pod's annotations say, else what is set for its namespace, else nothing.
    """
    cpu = 'Quantity("0")'
    for namespace, milli in cpu_milli.items():
        mine = f'pod.metadata.namespace == "{namespace}"'
        cpu = f'{mine} ? Quantity("{milli}m") : {cpu}'
    usage = {
        "cpu": {"expression": _annotated(CPU_ANNOTATION, cpu)},
        "memory": {"expression": _annotated(MEMORY_ANNOTATION, f'Quantity("{MEMORY}")')},
    }
    return {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "ClusterResourceUsage",
        "metadata": {"name": USAGE},
        "spec": {"usages": [{"usage": usage}]},
    }


def _annotated(annotation: str, otherwise: str) -> str:
    annotations = "pod.metadata.annotations"
    return f'"{annotation}" in {annotations} ? Quantity({annotations}["{annotation}"]) : ({otherwise})'
