"""Nodes of one kind: as YAML of the command line or of a file, as integers, and made Ready on a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import yaml
from annotated_types import MinLen
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator

from stowage_testbed.amounts.resources import CPU, MEMORY, MOST_PODS, NOTHING, PODS, Resources, parse
from stowage_testbed.api.client import Manifest
from stowage_testbed.api.objects import Objects
from stowage_testbed.base import health
from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.wait import WaitTimeoutError, wait_until
from stowage_testbed.cluster.device_pools import create_classes, create_slices, delete_slices
from stowage_testbed.cluster.devices import MOST_PARTITIONS, Devices, Shares, find_clash, find_fault
from stowage_testbed.cluster.kwokctl_config import FAKE_NODE_ANNOTATION
from stowage_testbed.observe.change import Change, JsonObject, name_of
from stowage_testbed.observe.device_claims import IMPLICIT_DOMAIN
from stowage_testbed.observe.node import ready_of
from stowage_testbed.observe.source import NODES

if TYPE_CHECKING:
    from kubernetes.client import ApiClient

READY_TIMEOUT_S = 120.0
_NOT_READY = "node.kubernetes.io/not-ready"
_LEASES = "kube-node-lease"

ZONE_LABEL = "topology.kubernetes.io/zone"
METRICS_PATH_ANNOTATION = "metrics.k8s.io/resource-metrics-path"
"""Where metrics-server asks: one KWOK answers for every node."""
TTL_ANNOTATION = "node.alpha.kubernetes.io/ttl"
"""What the controller manager writes on every node, as the label beta.kubernetes.io/os: a request each, of a few."""

MOST_NODES = 100_000
_STRICT = ConfigDict(extra="forbid", coerce_numbers_to_str=True)

Effect = Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]
"""What a taint does to pods that do not tolerate it."""


class NodePoolError(StowageError):
    """A node pool cannot be made, for all its ``issues``."""

    def __init__(self, what: str, issues: Sequence[str], way_out: str = "") -> None:
        self.issues = tuple(issues)
        super().__init__(f"{what}: {'; '.join(issues)}{way_out}")


@dataclass(frozen=True, slots=True)
class Taint:
    """One taint of a node pool."""

    __pydantic_config__ = _STRICT

    key: Annotated[str, MinLen(1)]
    """The taint's key."""
    effect: Effect
    """What happens to pods that do not tolerate it."""
    value: str = ""
    """The taint's value."""


@dataclass(frozen=True, slots=True)
class NodePool:
    """Nodes of one kind; zones are dealt out in turn.

    Raises
    ------
    NodePoolError
        A size is negative or zero; names every such field.
    """

    name_prefix: str = "node"
    count: int = 0
    resources: Resources = NOTHING
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    zones: tuple[str, ...] = ()
    devices: tuple[Devices, ...] = ()

    def __post_init__(self) -> None:
        always = {name: self.resources[name] for name in (CPU, MEMORY, PODS)}
        sizes = {"count": self.count, **always, **self.resources}
        issues = [f"{name} is {size}, it must be 1 or more" for name, size in sizes.items() if size < 1]
        if self.count > MOST_NODES:
            issues.append(f"count is {self.count}, it must be {MOST_NODES} or less")
        if fault := find_fault(self.devices):
            issues.append(fault)
        if issues:
            raise NodePoolError(f"node pool {self.name_prefix!r}", issues)

    @property
    def offers(self) -> Resources:
        """What a container of a pod may request of one node: also devices, as extended resources."""
        return self.resources + self.offered_devices

    @property
    def offered_devices(self) -> Resources:
        """The devices of one node as extended resources, at most, each by all names that it has."""
        devices = Resources()
        for one in self.devices:
            names = [one.resource] if one.resource else []
            devices += Resources(dict.fromkeys([*names, f"{IMPLICIT_DOMAIN}/{one.class_name}"], one.count))
            if one.partitions:
                devices += Resources({f"{IMPLICIT_DOMAIN}/{one.partition_class_name}": one.count * MOST_PARTITIONS})
        return devices

    def node_names(self) -> list[str]:
        """Return the nodes' names in order."""
        width = len(str(self.count - 1))
        return [f"{self.name_prefix}-{i:0{width}}" for i in range(self.count)]

    def manifests(self) -> list[dict[str, Any]]:
        """Return the nodes as the API server is given them, in order."""
        resources, found = self.resources.quantities(), []
        for number, name in enumerate(self.node_names()):
            labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "beta.kubernetes.io/os": "linux"}
            if self.zones:
                labels[ZONE_LABEL] = self.zones[number % len(self.zones)]
            found.append(
                {
                    "apiVersion": "v1",
                    "kind": "Node",
                    "metadata": {"name": name, "labels": {**labels, **self.labels}, "annotations": annotate_fake(name)},
                    "spec": {"taints": [asdict(taint) for taint in self.taints]},
                    "status": {"capacity": resources, "allocatable": resources},
                }
            )
        return found


def annotate_fake(node: str) -> dict[str, str]:
    """Return the annotations of a node that KWOK plays."""
    return {FAKE_NODE_ANNOTATION: "fake", METRICS_PATH_ANNOTATION: metrics_path(node), TTL_ANNOTATION: "0"}


def metrics_path(node: str) -> str:
    """Return the path of a node's usage on the port of its fake kubelet."""
    return f"/metrics/nodes/{node}/metrics/resource"


EXAMPLE = "{prefix: gpu, count: 3, cpu: 4, memory: 8Gi, zones: [a, b], devices: {model: H100, count: 8}}"


def _amount(name: str, quantity: Any) -> int:
    amount = parse(name, quantity)
    if amount < 1:
        raise ValueError(f"{quantity!r} must be more than 0")
    return amount


def _list_devices(written: Any) -> Any:
    return [written] if isinstance(written, dict) else written


class _Pool(BaseModel):
    model_config = _STRICT
    prefix: Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9.-]{0,40}[a-z0-9])?$")] = "node"
    count: Annotated[int, BeforeValidator(partial(_amount, "count"))] = 1
    cpu: Annotated[int, BeforeValidator(partial(_amount, CPU))]
    memory: Annotated[int, BeforeValidator(partial(_amount, MEMORY))]
    pods: Annotated[int, BeforeValidator(partial(_amount, PODS))] = MOST_PODS
    resources: dict[str, Any] = {}
    labels: dict[str, str] = {}
    taints: tuple[Taint, ...] = ()
    zones: tuple[str, ...] = ()
    devices: Annotated[tuple[Devices, ...], BeforeValidator(_list_devices)] = ()

    @field_validator("resources")
    @classmethod
    def _amounts(cls, resources: dict[str, Any]) -> dict[str, int]:
        return {name: _amount(name, quantity) for name, quantity in resources.items()}

    def made(self) -> NodePool:
        return NodePool(
            name_prefix=self.prefix,
            count=self.count,
            resources=Resources({**self.resources, CPU: self.cpu, MEMORY: self.memory, PODS: self.pods}),
            labels=self.labels,
            taints=self.taints,
            zones=self.zones,
            devices=self.devices,
        )


def parse_node_specs(specs: Sequence[str]) -> list[NodePool]:
    """Return the pools of several specs, in order.

    A spec is one pool or a list of pools, as in ``{count: 3, cpu: 4, memory: 8Gi}``, with or without the outer braces,
    or the name of a file with either. ``count`` is 1 unless given, ``cpu`` and ``memory`` must be given.
    """
    pools: list[NodePool] = []
    for spec in specs:
        for pool in _read(spec):
            if pool.name_prefix in {other.name_prefix for other in pools}:
                raise _malformed(spec, [f"a second pool is called {pool.name_prefix!r}; give it a `prefix: NAME`"])
            if clash := find_clash([*chain.from_iterable(other.devices for other in pools), *pool.devices]):
                raise _malformed(spec, [clash])
            pools.append(pool)
    return pools


def _read(spec: str) -> Iterator[NodePool]:
    text = spec.strip()
    is_file = text.endswith((".yaml", ".yml"))
    try:
        if is_file:
            text = Path(text).read_text(encoding="utf-8-sig")
        elif not text.startswith(("{", "[")):
            text = f"{{{text}}}"
        found = yaml.safe_load(text)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise _malformed(spec, [" ".join(str(error).split())]) from error
    for number, one in enumerate(found if isinstance(found, list) else [found]):
        place = f"pool {number}: " if isinstance(found, list) else ""
        try:
            yield _Pool.model_validate(one).made()
        except ValidationError as error:
            # Of words in the place of a truth value no more need be said.
            issues = [issue for issue in error.errors() if issue["loc"][-1] != "bool"]
            raise _malformed(spec, [place + _in_words(issue) for issue in issues]) from error
        except NodePoolError as error:
            raise _malformed(spec, [place + issue for issue in error.issues]) from error


def _in_words(issue: Any) -> str:
    where = ".".join(str(part) for part in issue["loc"] if part != Shares.__name__)
    match issue["type"]:
        case "missing":
            return f"{where} is missing"
        case "extra_forbidden":
            return f"{where!r} is none of {', '.join(_Pool.model_fields)}"
        case "unexpected_keyword_argument":
            return f"{where} is unknown"
        case "dataclass_type":
            return f"{where} must be a mapping, not {issue['input']!r}"
        case "value_error":
            return f"{where}: {issue['ctx']['error']}"
        case _:
            return f"{where or 'it'}: {issue['msg']}, not {issue['input']!r}"


def _malformed(spec: str, issues: Sequence[str]) -> NodePoolError:
    return NodePoolError(f"--nodes {spec!r}", issues, f". Write YAML, for example: {EXAMPLE}")


def create_nodes(api: ApiClient, pools: Sequence[NodePool], *, timeout_s: float = READY_TIMEOUT_S) -> list[str]:
    """Create the pools' nodes in order, and return their names when all are Ready.

    The scheduler's cache lists nodes in the order in which it learns of them, so the order of creation can decide a
    placement.

    Raises
    ------
    ApiRefusedError
        The API server refused a node: the name exists, a label is malformed.
    StowageError
        Some were not Ready within ``timeout_s``; or the cluster has other devices of a class, or takes no such devices.
    """
    manifests = chain.from_iterable(pool.manifests() for pool in pools)
    return create_ready(api, list(manifests), devices_by_node(pools), timeout_s=timeout_s)


def devices_by_node(pools: Iterable[NodePool]) -> dict[str, tuple[Devices, ...]]:
    """Return the devices of each node that has any."""
    return {name: pool.devices for pool in pools if pool.devices for name in pool.node_names()}


def create_ready(
    api: ApiClient,
    manifests: Sequence[Manifest],
    devices: Mapping[str, Sequence[Devices]],
    *,
    timeout_s: float = READY_TIMEOUT_S,
) -> list[str]:
    """Create nodes in order, each with its devices; return their names, and raise, as `create_nodes` does."""
    objects, names = Objects(api), [manifest["metadata"]["name"] for manifest in manifests]
    if devices:
        create_classes(objects, chain.from_iterable(devices.values()))
        delete_slices(objects, devices.keys())
    former = {lease["metadata"]["name"] for lease in objects.list_all("Lease", _LEASES)}
    for name in former.intersection(names):
        delete_lease(objects, name)
    for manifest, name in zip(manifests, names, strict=True):
        create_slices(objects, objects.create(manifest), devices.get(name, ()))
    _wait_ready(api, names, timeout_s)
    return names


def delete_lease(objects: Objects, node: str) -> None:
    """Delete the lease of a former node of this name: while KWOK goes on with it, nobody plays the new node's pods."""
    objects.delete("Lease", node, namespace=_LEASES)


def _wait_ready(api: ApiClient, names: Sequence[str], timeout_s: float) -> None:
    # It takes long to import, which commands that make no nodes need not wait for.
    from stowage_testbed.observe.watches import Broken, Relisted, Watches  # noqa: PLC0415

    watches, waiting = Watches(api), set(names)

    def take_ready(changes: Iterable[Change]) -> set[str]:
        waiting.difference_update(name_of(change.body) for change in changes if is_schedulable(change.body))
        return waiting

    def look() -> set[str]:
        for arrival in watches.take_all(health.LOOK_EVERY_S):
            match arrival:
                case Broken(error=error):
                    raise error
                case Relisted(listed=listed):
                    take_ready(listed)
                case Change():
                    take_ready([arrival])
        return waiting

    try:
        if take_ready(watches.list_source(NODES)):
            watches.follow()
            wait_until("nodes to be Ready", look, lambda left: not left, timeout_s=timeout_s, poll_s=0.0)
    except WaitTimeoutError as error:
        raise StowageError(
            f"{len(waiting)} nodes were not Ready within {error.timeout_s:g} s, {min(waiting)} the first of them; "
            "see logs/kwok-controller.log in the cluster's folder"
        ) from error
    finally:
        watches.stop()


def is_schedulable(node: JsonObject) -> bool:
    """Return whether a node is Ready and the controller manager has taken back the taint that admission gave it."""
    taints = node["spec"].get("taints") or ()
    return ready_of(node) == "True" and all(taint["key"] != _NOT_READY for taint in taints)
