"""The trace as objects of Kubernetes, and its pods placed by the real scheduler without an API server.

A GPU is a device with a thousand bytes of memory that pods share: a claim takes one for each thousandth of a GPU. The
paper's cluster has nodes of many sizes, so that each is described by itself.
"""

from collections.abc import Iterator

import numpy as np

from stowage_testbed.api.client import Manifest
from stowage_testbed.api.objects import make_manifest
from stowage_testbed.base.errors import StowageError
from stowage_testbed.cluster.devices import DRIVER, GROUP_VERSION, Devices, make_pool
from stowage_testbed.reproduce.fgd.moves import MOST_PODS, NAMESPACE, NODE, FleetState, bits
from stowage_testbed.reproduce.fgd.simulation import NOWHERE
from stowage_testbed.reproduce.fgd.workload import MILLI, Fleet, Ints, NodeArrays, PodList
from stowage_testbed.simulate.instance import Instance
from stowage_testbed.simulate.process import Simulator

CLASS = "gpu"
CLAIM_TEMPLATE = "class-"


def place_by_scheduler(
    pods: PodList, fleet: Fleet, nodes: NodeArrays, arrived: Ints, simulator: Simulator
) -> FleetState:
    """Return where the scheduler places pods in the order of arrival; which GPU each has is not told.

    Raises
    ------
    StowageError
        The scheduler gave no answer, or left an object out.
    """
    objects = (make_class(), *make_slices(fleet, nodes), *make_templates(pods, fleet))
    made = tuple(make_pods(pods, arrived))
    found = simulator.place(Instance(pods.name, tuple(make_nodes(nodes)), made, objects, once=True))
    if found.left_out:
        raise StowageError(
            f"{pods.name}: the scheduler left {found.left_out[0].object} out: {found.left_out[0].reason}"
        )
    at = [found.nodes.get(f"{NAMESPACE}/pod-{number}") for number in range(len(arrived))]
    node = np.array([NOWHERE if one is None else int(one.removeprefix(NODE)) for one in at], np.int64)
    return FleetState(pods, fleet, nodes, arrived, node, np.zeros(len(arrived), np.int64))


def make_nodes(nodes: NodeArrays) -> Iterator[Manifest]:
    """Yield the nodes, the first first."""
    for number, (cpu, memory, *_) in enumerate(zip(*(one.tolist() for one in nodes), strict=True)):
        room = {"cpu": f"{cpu}m", "memory": f"{memory}Mi", "pods": str(MOST_PODS)}
        yield make_manifest("v1", "Node", f"{NODE}{number}", status={"capacity": room, "allocatable": room})


def make_slices(fleet: Fleet, nodes: NodeArrays) -> Iterator[Manifest]:
    """Yield the slices of GPUs."""
    for number, (gpus, model) in enumerate(zip(nodes.gpus.tolist(), nodes.model.tolist(), strict=True)):
        if gpus:
            gpu = Devices(model=fleet.models[model], count=gpus, memory=str(MILLI), shares=True, name=CLASS)
            yield from make_pool(f"{NODE}{number}", [gpu])


def make_class() -> Manifest:
    """Return the class of all GPUs."""
    selector = {"cel": {"expression": f'device.driver == "{DRIVER}"'}}
    return make_manifest(GROUP_VERSION, "DeviceClass", CLASS, spec={"selectors": [selector]})


def make_templates(pods: PodList, fleet: Fleet) -> Iterator[Manifest]:
    """Yield the template of each class's claim."""
    columns = (one.tolist() for one in (pods.pods.gpus, pods.pods.gpu_milli, pods.pods.models))
    for number, (gpus, milli, models) in enumerate(zip(*columns, strict=True)):
        if not gpus:
            continue
        asked: dict[str, object] = {"deviceClassName": CLASS, "count": gpus}
        asked["capacity"] = {"requests": {"memory": str(milli)}}
        if models != (1 << len(fleet.models)) - 1:
            named = ", ".join(f'"{fleet.models[at]}"' for at in bits(models))
            asked["selectors"] = [{"cel": {"expression": f'device.attributes["{DRIVER}"].model in [{named}]'}}]
        spec = {"spec": {"devices": {"requests": [{"name": CLASS, "exactly": asked}]}}}
        yield make_manifest(GROUP_VERSION, "ResourceClaimTemplate", f"{CLAIM_TEMPLATE}{number}", NAMESPACE, spec=spec)


def make_pods(pods: PodList, arrived: Ints) -> Iterator[Manifest]:
    """Yield the pods in the order of arrival."""
    needs = list(zip(*(one.tolist() for one in pods.pods), strict=True))
    for number, of in enumerate(arrived.tolist()):
        cpu, memory, gpus, *_ = needs[of]
        requests = {"cpu": f"{cpu}m", "memory": f"{memory}Mi"}
        container: dict[str, object] = {"name": "main", "image": "trace", "resources": {"requests": requests}}
        spec: dict[str, object] = {"containers": [container]}
        if gpus:
            container["resources"] = {"requests": requests, "claims": [{"name": CLASS}]}
            spec["resourceClaims"] = [{"name": CLASS, "resourceClaimTemplateName": f"{CLAIM_TEMPLATE}{of}"}]
        yield make_manifest("v1", "Pod", f"pod-{number}", NAMESPACE, spec=spec)
