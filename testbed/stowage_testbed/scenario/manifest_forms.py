"""What an editor is told of manifests; whatever else Kubernetes knows may stand there.

Values of these forms stay as they are written: the API server reads them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from stowage_testbed.amounts.quantity import Cpu, Memory
from stowage_testbed.declaration import form, setting
from stowage_testbed.scenario.words import Label

Filled = Annotated[str, form(minLength=1)]
"""A text that says something."""

Texts = Mapping[str, str]
Anything = Mapping[str, Any]
Rest = Annotated[Anything, setting("Whatever else Kubernetes knows.", rest=True)]
_Things = tuple[Anything, ...]
_Quantity = Annotated[object, form(written=str | float, format="quantity")]
_Resource = Annotated[_Quantity, setting("Request of another resource, as in 1.")]


@dataclass(frozen=True, slots=True)
class Requests:
    """What a container asks for."""

    rest: Annotated[Mapping[str, _Resource], setting("Of another.", rest=True)]
    cpu: Annotated[Cpu | None, setting("CPU request, as in 100m.")] = None
    memory: Annotated[Memory | None, setting("Memory request, as in 512Mi.")] = None


@dataclass(frozen=True, slots=True)
class ContainerResources:
    """What a container asks for and may use."""

    rest: Rest
    requests: Annotated[Requests | None, setting("What the scheduler counts.")] = None


@dataclass(frozen=True, slots=True)
class Container:
    """A container of a pod."""

    rest: Rest
    name: Annotated[Label, setting("Name of the container.")]
    image: Annotated[Filled, setting("Image name; nothing is pulled on a fake node.")]
    resources: Annotated[ContainerResources | None, setting("Requests and limits.")] = None


@dataclass(frozen=True, slots=True)
class PodSpec:
    """What a pod is."""

    rest: Rest
    affinity: Annotated[Anything | None, setting("Node affinity, pod affinity and anti-affinity.")] = None
    containers: Annotated[
        tuple[Annotated[Container, form(name="container")], ...],
        setting(
            "Containers in the place of the one that cpu, memory and image describe; "
            "these three are then left out of the workload.",
            minItems=1,
        ),
    ] = ()
    node_selector: Annotated[Texts | None, setting("Labels that a node must have.", key="nodeSelector")] = None
    preemption_policy: Annotated[
        Literal["PreemptLowerPriority", "Never"] | None,
        setting("Whether the pods may preempt others.", key="preemptionPolicy"),
    ] = None
    scheduling_gates: Annotated[
        _Things, setting("Gates that hold the pods back from scheduling.", key="schedulingGates")
    ] = ()
    grace_period_s: Annotated[
        int | None, setting("Time that a pod gets to end.", key="terminationGracePeriodSeconds", minimum=0)
    ] = None
    tolerations: Annotated[_Things, setting("Taints that the pods tolerate.")] = ()
    spread: Annotated[
        _Things, setting("How the pods spread over zones or nodes.", key="topologySpreadConstraints")
    ] = ()
    volumes: Annotated[_Things, setting("Volumes of the pods.")] = ()


@dataclass(frozen=True, slots=True)
class Metadata:
    """What is said of an object."""

    rest: Rest
    name: Annotated[Filled, setting("Its name in the cluster; without it, its name here.")] = ""
    labels: Annotated[Texts | None, setting("Labels of the object.")] = None
    annotations: Annotated[Texts | None, setting("Annotations of the object.")] = None


@dataclass(frozen=True, slots=True)
class WrittenObject:
    """An object of any kind."""

    rest: Rest
    kind: Annotated[Filled, setting("What it is.")]
    api_version: Annotated[Filled, setting("Group and version, as in policy/v1.", key="apiVersion")] = ""
    metadata: Annotated[Metadata | None, setting("Labels, annotations, and whatever else Kubernetes knows.")] = None
    spec: Annotated[Anything | None, setting("As Kubernetes knows it.")] = None
