"""The objects of a scenario besides its workload: written into it, or in files beside it that steps apply."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import Any

from stowage_testbed.amounts.resources import Resources
from stowage_testbed.api.client import Manifest
from stowage_testbed.api.kinds import Kind
from stowage_testbed.api.manifests import SUFFIXES, read_located_manifests
from stowage_testbed.api.pod_templates import add_metadata, change_pods
from stowage_testbed.base.errors import StowageError
from stowage_testbed.cluster.node_pool import annotate_fake
from stowage_testbed.observe.pod import WORKLOAD_LABEL

_REPLICATED = frozenset({"Deployment", "ReplicaSet", "ReplicationController", "StatefulSet"})
_OWN_GROUPS = frozenset({"", "apps", "batch"})  # The groups of Kubernetes' own kinds of pods and controllers


def _part(value: Any, *path: str) -> Mapping[str, Any]:
    """Return a mapping in a manifest; an empty one where something else stands, which `manifest_rules` reports."""
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else {}


@dataclass(frozen=True, slots=True)
class ObjectSpec:
    """An object besides the workload, by the name that the scenario has for it."""

    name: str
    manifest: Mapping[str, Any]
    """As it is written; its ``apiVersion`` may be missing, and its namespace."""
    place: str = ""
    """Where it stands: ``file:line`` of a file of manifests, else the scenario's line."""

    @property
    def kind(self) -> str:
        """Its kind, without a version."""
        return str(self.manifest["kind"])

    @property
    def object_name(self) -> str:
        """Its name in the cluster."""
        return str(self.manifest["metadata"]["name"])

    @property
    def namespace(self) -> str:
        """The namespace that it names; mostly none."""
        return str(self.manifest["metadata"].get("namespace", ""))

    @property
    def is_node(self) -> bool:
        """Whether it is one of Kubernetes' own nodes."""
        return self.kind == "Node" and "/" not in str(self.manifest.get("apiVersion", "v1"))

    @property
    def defined_kind(self) -> str:
        """The kind that it brings, if it is a definition of one."""
        return str(_part(self.manifest, "spec", "names").get("kind", ""))

    @property
    def allocatable(self) -> Resources | None:
        """What pods may take of the node, None where it does not say; raises `QuantityError`."""
        quantities = _part(self.manifest, "status", "allocatable") or _part(self.manifest, "status", "capacity")
        return Resources.of_list(quantities) if quantities else None

    @property
    def pods(self) -> int:
        """How many of the scenario's pods come with it: none of another namespace, or of somebody else's kind."""
        spec = _part(self.manifest, "spec")
        counts = {key: value for key, value in spec.items() if isinstance(value, int)}
        group = str(self.manifest.get("apiVersion", "")).rpartition("/")[0]
        if self.namespace or group not in _OWN_GROUPS:
            return 0
        if self.kind == "Pod":
            return 1
        if self.kind in _REPLICATED:
            return counts.get("replicas", 1)
        if self.kind == "Job" and not spec.get("suspend"):
            parallel = counts.get("parallelism", 1)
            return min(parallel, counts.get("completions") or parallel)
        return 0

    def in_namespace(self, kind: Kind, namespace: str) -> Manifest:
        """Return the object to create, in its own namespace or this one; its pods count as a workload of its name."""
        labelled = partial(add_metadata, labels={WORKLOAD_LABEL: self.name})
        body = change_pods({"apiVersion": kind.api_version, **self.manifest}, labelled)
        metadata = dict(body["metadata"])
        if kind.namespaced:
            metadata.setdefault("namespace", namespace)
        if self.is_node:
            metadata["annotations"] = annotate_fake(self.object_name) | (metadata.get("annotations") or {})
        return {**body, "metadata": metadata}


def is_file(name: str) -> bool:
    """Return whether a name in a step is that of a file or folder of manifests."""
    return name.endswith("/") or Path(name).suffix in SUFFIXES


def read_objects(path: str, folder: Path, taken: Collection[str], made: Mapping[str, ObjectSpec]) -> list[ObjectSpec]:
    """Return the objects of a file or folder, in an order in which they can be made.

    A scenario calls them by their name, or ``kind-name`` where that is taken; a ``generateName`` is numbered from the
    second on, the same in each run. One that earlier files have ``made`` keeps its name: it changes that one.
    """
    found: dict[str, ObjectSpec] = {}
    same = {_identify(one): one.name for one in made.values()}
    for one, place in read_located_manifests(Path(path), folder):
        name = str(one["metadata"].get("name", ""))
        spec = ObjectSpec(name, one, place)
        if not name:
            prefix = str(one["metadata"]["generateName"]).rstrip("-.")
            names = chain([prefix], (f"{prefix}-{number}" for number in count(2)))
            name = next(one for one in names if one not in found and one not in taken)
            spec = ObjectSpec(name, {**one, "metadata": {**one["metadata"], "name": name}}, place)
        elif _identify(spec) in same:
            spec = replace(spec, name=same[_identify(spec)])
            found[spec.name] = spec
            continue
        elif name in found or name in taken:
            spec = replace(spec, name=f"{one['kind'].lower()}-{name}")
        if spec.name in found or spec.name in taken:
            raise StowageError(
                f"{place}: {one['kind']} {spec.name} cannot be told from another; give it a metadata.name of its own"
            )
        found[spec.name] = spec
    return list(found.values())


def _identify(one: ObjectSpec) -> tuple[str, str, str, str]:
    group = str(one.manifest.get("apiVersion", "")).rpartition("/")[0]
    return group, one.kind, one.namespace, str(one.manifest["metadata"].get("name", ""))
