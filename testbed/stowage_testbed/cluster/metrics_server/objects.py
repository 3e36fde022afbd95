"""The usage that metrics-server scrapes: objects of KWOK, and one kubelet that answers for every node."""

from __future__ import annotations

import http.client
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from stowage_testbed.api.client import Manifest
from stowage_testbed.api.objects import Objects
from stowage_testbed.base.errors import StowageError
from stowage_testbed.cluster.components import METRICS_SERVER
from stowage_testbed.cluster.node_pool import metrics_path
from stowage_testbed.cluster.owner import read_owner
from stowage_testbed.cluster.probes import ApiProbe


@dataclass(frozen=True, slots=True)
class FakeKubelet:
    """The kubelets of all fake nodes of one cluster: KWOK.

    KWOK adds up CPU seconds only when it is asked, and then as if the usage of that moment had lasted since it was
    asked before. Whoever changes the usage therefore reads the meters first, so that what was used until then is booked
    as it was.
    """

    probe: ApiProbe

    @classmethod
    def of(cls, workdir: Path) -> FakeKubelet:
        """Return the fake kubelets of the cluster in ``workdir``."""
        owner = read_owner(workdir)
        if owner is None or not (workdir / METRICS_SERVER).is_dir():
            raise StowageError(
                f"cluster {workdir.name!r} measures no usage; bring one up that does with: stowage up NAME --metrics"
            )
        return cls(ApiProbe.of(workdir, owner.ports.kwok_controller))

    def read_meters(self, nodes: Iterable[str]) -> None:
        """Scrape these nodes, so that their usage until now is booked."""
        for node in nodes:
            try:
                status, body = self.probe.get(metrics_path(node))
            except (OSError, http.client.HTTPException) as error:
                raise _no_reading(node, str(error)) from error
            if status != http.HTTPStatus.OK:
                raise _no_reading(node, f"{status} {body.strip()[:200]}")


def _no_reading(node: str, answer: str) -> StowageError:
    return StowageError(
        f"the fake kubelet of node {node!r} gave no reading ({answer}); "
        "see logs/kwok-controller.log in the cluster's folder"
    )


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
