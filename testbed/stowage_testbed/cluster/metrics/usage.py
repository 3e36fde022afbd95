"""The usage that KWOK simulates, as the one object that it reads it from.

KWOK takes the first of several objects that match a pod, in an order that means
nothing. So there is one for the whole cluster: what a pod's annotations say, else what
is set for its namespace, else nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

NAME = "usage"
CPU_ANNOTATION = "kwok.x-k8s.io/usage-cpu"
MEMORY_ANNOTATION = "kwok.x-k8s.io/usage-memory"

MEMORY = "64Mi"
"""What every pod uses; metrics-server takes a container without memory for gone."""


def usage_object(cpu_milli: Mapping[str, int]) -> dict[str, Any]:
    """Return the object, given each pod's CPU by namespace; others use none."""
    cpu = 'Quantity("0")'
    for namespace, milli in cpu_milli.items():
        mine = f'pod.metadata.namespace == "{namespace}"'
        cpu = f'{mine} ? Quantity("{milli}m") : {cpu}'
    usage = {
        "cpu": {"expression": _annotated(CPU_ANNOTATION, cpu)},
        "memory": {
            "expression": _annotated(MEMORY_ANNOTATION, f'Quantity("{MEMORY}")')
        },
    }
    return {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "ClusterResourceUsage",
        "metadata": {"name": NAME},
        "spec": {"usages": [{"usage": usage}]},
    }


def _annotated(annotation: str, otherwise: str) -> str:
    annotations = "pod.metadata.annotations"
    return (
        f'"{annotation}" in {annotations} '
        f'? Quantity({annotations}["{annotation}"]) : ({otherwise})'
    )
