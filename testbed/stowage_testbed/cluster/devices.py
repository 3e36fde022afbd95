"""Devices of fake nodes: how they are described, and the DeviceClasses and ResourceSlices that they come to."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from decimal import ROUND_HALF_UP, Decimal
from functools import cache
from typing import Annotated, Any, Literal, NamedTuple

from annotated_types import Interval, MaxLen, MinLen
from pydantic import ConfigDict

from stowage_testbed.amounts.resources import MEMORY, QuantityError, parse, spell
from stowage_testbed.api.client import Manifest
from stowage_testbed.api.objects import make_manifest

GROUP_VERSION = "resource.k8s.io/v1"
DEVICE_KINDS = ("DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice")
DRIVER = "gpu.stowage.dev"
NODE_LABEL = "stowage.dev/node"

MOST_IN_SLICE = 64
"""Devices in one slice as soon as one of them has a taint or consumes counters; a step may taint any."""
MOST_COUNTER_SETS = 8  # In one slice
MOST_VALUES = 10  # That a request policy lists

_STRICT = ConfigDict(extra="forbid", coerce_numbers_to_str=True)
_SUBDOMAIN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_NAMES = {
    # Longest, what it must look like, and an example.
    "name": (60, _SUBDOMAIN, "h100"),
    "driver": (63, rf"(?!\d+(\.|\Z)){_SUBDOMAIN}", DRIVER),
    "resource": (63, rf"{_SUBDOMAIN}/[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?", "nvidia.com/gpu"),
}


class _Profile(NamedTuple):
    """A partition by the parts of a GPU that it takes."""

    compute: int  # Of 7
    eighths: int  # Of the memory
    starts: tuple[int, ...]  # The eighths at which one may begin


_PROFILES = (
    _Profile(7, 8, (0,)),
    _Profile(4, 4, (0,)),
    _Profile(3, 4, (0, 4)),
    _Profile(2, 2, (0, 2, 4)),
    _Profile(1, 2, (0, 2, 4, 6)),
    _Profile(1, 1, (0, 1, 2, 3, 4, 5, 6)),
)
"""The MIG profiles of A100, H100 and their successors.

Memory alone keeps partitions apart: of those that fit into its eighths, none take more than 7 parts of the compute.
"""


MOST_PARTITIONS = 7  # Of one GPU at a time


class _Placement(NamedTuple):
    """A partition of a GPU of some memory, as NVIDIA names it."""

    profile: str
    size: str
    eighths: range

    @property
    def suffix(self) -> str:
        """Return what its name has after that of the GPU."""
        return f"-mig-{self.profile.replace('.', '')}-{self.eighths.start}"


@cache
def _list_placements(memory: str) -> tuple[_Placement, ...]:
    total, found = parse(MEMORY, memory), []
    for one in _PROFILES:
        size = total * one.eighths // 8
        profile = f"{one.compute}g.{(Decimal(size) / 2**30).to_integral_value(ROUND_HALF_UP)}gb"
        for start in one.starts:
            found.append(_Placement(profile, spell(MEMORY, size), range(start, start + one.eighths)))
    return tuple(found)


DeviceEffect = Literal["NoSchedule", "NoExecute"]
"""What a taint of devices does to pods whose claims do not tolerate it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceTaint:
    """One taint of devices."""

    __pydantic_config__ = _STRICT

    key: Annotated[str, MinLen(1)]
    """The taint's key."""
    effect: DeviceEffect
    """What happens to pods whose claims do not tolerate it."""
    value: str = ""
    """The taint's value."""

    def manifest(self) -> Manifest:
        """Return the taint as Kubernetes has it."""
        return {"key": self.key, "effect": self.effect, **({"value": self.value} if self.value else {})}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """What a claim may take of the memory of a device that several share."""

    __pydantic_config__ = _STRICT

    default: str
    """What a claim gets that names no amount."""
    min: str = ""
    """The least amount; smaller ones are rounded up to it."""
    step: str = ""
    """From `min` on, amounts are rounded up by so much."""
    max: str = ""
    """The largest amount."""
    values: tuple[str, ...] = ()
    """The amounts that there are, ascending; others are rounded up to the next."""

    def __post_init__(self) -> None:
        written = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "values"}
        amounts = {name: _read_bytes(name, text) for name, text in written.items() if text}
        values = [_read_bytes("values", text) for text in self.values]
        default, least, most = amounts["default"], amounts.get("min", 0), amounts.get("max", 0)
        if values and len(amounts) > 1:
            raise ValueError("`values` are all that there are; leave out `min`, `step` and `max`")
        if values and (values != sorted(set(values)) or len(values) > MOST_VALUES):
            raise ValueError(f"`values` must be ascending, and {MOST_VALUES} at most")
        if values and default not in values:
            raise ValueError(f"`default` {self.default} is none of `values`")
        if len(amounts) > 1 and not least:
            raise ValueError("`step` and `max` count from a `min`; write it")
        if default < least:
            raise ValueError(f"`default` {self.default} is below `min` {self.min}")
        if most and default > most:
            raise ValueError(f"`default` {self.default} is above `max` {self.max}")
        for name in ("default", "max"):
            if "step" in amounts and (amounts.get(name, least) - least) % amounts["step"]:
                raise ValueError(f"`{name}` {written[name]} is no number of steps of {self.step} above {self.min}")

    @property
    def largest(self) -> int:
        """Return the most bytes that any rule names, which the device must have."""
        least_steps = sum(parse(MEMORY, text) for text in (self.min, self.step) if text)
        return max(least_steps, *(parse(MEMORY, text) for text in (self.default, self.max, *self.values) if text))

    def policy(self) -> Manifest:
        """Return the rule as Kubernetes has it."""
        policy: Manifest = {"default": self.default}
        if self.values:
            policy["validValues"] = list(self.values)
        if self.min:
            bounds = {"min": self.min, "step": self.step, "max": self.max}
            policy["validRange"] = {name: text for name, text in bounds.items() if text}
        return policy


@dataclass(frozen=True, slots=True, kw_only=True)
class Devices:
    """Equal devices of a node."""

    __pydantic_config__ = _STRICT

    model: Annotated[str, MinLen(1), MaxLen(64)]
    """What they are, as in H100."""
    count: Annotated[int, Interval(ge=1, le=64)]
    """How many a node has."""
    memory: str = ""
    """Memory of one device, as in 80Gi."""
    partitions: Literal["", "mig"] = ""
    """mig: claims may take a partition, of the device class <name>-mig, by its attribute `profile`, as in 3g.40gb."""
    shares: bool | Shares = False
    """Whether claims may take a part of the memory, by what rule, or true for any part."""
    name: str = ""
    """Name of their device class; without it, the model in lower case."""
    resource: str = ""
    """The extended resource that the device class serves, as in nvidia.com/gpu."""
    driver: str = DRIVER
    """Their driver; its first label names the devices, as in gpu-0."""
    taints: tuple[DeviceTaint, ...] = ()
    """Their taints."""

    def __post_init__(self) -> None:
        for word, (most, pattern, example) in _NAMES.items():
            text = self.class_name if word == "name" else getattr(self, word)
            if (text or word == "name") and not re.fullmatch(rf"(?=.{{1,{most}}}\Z){pattern}", text):
                raise ValueError(f"`{word}` must be at most {most} long and like {example}; not {text!r}")
        memory = _read_bytes("memory", self.memory) if self.memory else 0
        if self.partitions and not memory:
            raise ValueError("`partitions` divides `memory` into eighths; write it, as in 80Gi")
        if self.partitions and (memory % 8 or memory < 8 * 2**30):
            raise ValueError(f"`memory` {self.memory} cannot be divided into eighths of a GiB or more, as 80Gi can")
        if self.shares and not memory:
            raise ValueError("`shares` are of `memory`; write it, as in 80Gi")
        if isinstance(self.shares, Shares) and self.shares.largest > memory:
            raise ValueError(f"`shares` names more than the `memory` of {self.memory}")

    @property
    def class_name(self) -> str:
        """Return the name of their device class."""
        return self.name or re.sub(r"[^a-z0-9]+", "-", self.model.lower()).strip("-")

    @property
    def partition_class_name(self) -> str:
        """Return the name of the device class of their partitions, if they have any."""
        return f"{self.class_name}-mig"

    @property
    def device_type(self) -> str:
        """Return what they are called before their number, and their attribute `type`."""
        return self.driver.partition(".")[0]


@dataclass(frozen=True, slots=True)
class _Device:
    """One whole device of a node, with the partitions that it may be divided into."""

    number: int
    of: Devices
    name: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", f"{self.of.device_type}-{self.number}")

    def names(self) -> tuple[str, ...]:
        """Return the names of the whole and of its partitions."""
        return (self.name, *(self.name + one.suffix for one in self._placements()))

    def manifests(self) -> list[Manifest]:
        """Return the whole, and after it its partitions."""
        taints = {"taints": [one.manifest() for one in self.of.taints]} if self.of.taints else {}
        return [{**one, **taints} for one in (self._whole(), *self._partitions())]

    def counters(self) -> Manifest:
        """Return what its partitions share."""
        return {"name": self.name, "counters": _count(range(8))}

    def _whole(self) -> Manifest:
        of, whole = self.of, self._describe(self.name, self.of.device_type)
        if of.memory:
            policy = {"requestPolicy": of.shares.policy()} if isinstance(of.shares, Shares) else {}
            whole["capacity"] = {"memory": {"value": of.memory, **policy}}
        if of.shares:
            whole["allowMultipleAllocations"] = True
        return {**whole, **(self._consume(range(8)) if of.partitions else {})}

    def _partitions(self) -> Iterable[Manifest]:
        for each in self._placements():
            own = {"profile": {"string": each.profile}, "parent": {"string": self.name}}
            one = self._describe(self.name + each.suffix, "mig", own)
            yield {**one, "capacity": {"memory": {"value": each.size}}, **self._consume(each.eighths)}

    def _placements(self) -> tuple[_Placement, ...]:
        return _list_placements(self.of.memory) if self.of.partitions else ()

    def _describe(self, name: str, type_: str, further: Mapping[str, Any] | None = None) -> Manifest:
        attributes = {"type": {"string": type_}, "model": {"string": self.of.model}, **(further or {})}
        return {"name": name, "attributes": {**attributes, "index": {"int": self.number}}}

    def _consume(self, eighths: Iterable[int]) -> Manifest:
        return {"consumesCounters": [{"counterSet": self.name, "counters": _count(eighths)}]}


def make_classes(sets: Iterable[Devices]) -> list[Manifest]:
    """Return the device classes that devices belong to, each once."""
    classes: dict[str, Manifest] = {}
    for one in sets:
        types = {one.class_name: one.device_type} | ({one.partition_class_name: "mig"} if one.partitions else {})
        for name, type_ in types.items():
            own, model = f"device.attributes[{json.dumps(one.driver)}]", json.dumps(one.model, ensure_ascii=False)
            tests = f'device.driver == "{one.driver}"', f'{own}.type == "{type_}"', f"{own}.model == {model}"
            spec: Manifest = {"selectors": [{"cel": {"expression": " && ".join(tests)}}]}
            if one.resource and type_ == one.device_type:
                spec["extendedResourceName"] = one.resource
            classes.setdefault(name, make_manifest(GROUP_VERSION, "DeviceClass", name, spec=spec))
    return list(classes.values())


def find_fault(sets: Sequence[Devices]) -> str:
    """Return why devices cannot be on one node, empty if they can."""
    drivers = {one.driver: one.device_type for one in sets}
    for driver, type_ in drivers.items():
        if same := [other for other, named in drivers.items() if named == type_ and other != driver]:
            return f"the `driver`s {driver} and {same[0]} both call a device {type_}-0; let one begin otherwise"
    return find_clash(sets)


def find_clash(sets: Iterable[Devices]) -> str:
    """Return why devices cannot be on one cluster, empty if they can."""
    by_name: dict[str, Manifest] = {}
    serving: dict[str, str] = {}
    for one in dict.fromkeys(sets):
        if one.resource and serving.setdefault(one.resource, one.class_name) != one.class_name:
            return (
                f"device classes {serving[one.resource]!r} and {one.class_name!r} both serve `resource` "
                f"{one.resource!r}, of which Kubernetes takes the latest class; leave it out of one of them"
            )
        for manifest in make_classes([one]):
            name = manifest["metadata"]["name"]
            if by_name.setdefault(name, manifest) != manifest:
                return f"two kinds of `devices` are of device class {name!r}; give one of them another `name`"
    return ""


def make_pool(node: str, sets: Sequence[Devices], *, uid: str = "") -> list[Manifest]:
    """Return a node's slices in the order of the allocator, which takes devices from the first on.

    The devices of each driver are a pool, called as the node, in slices of their own; what partitions share is in the
    last ones. The node with this UID owns them.
    """
    slices = []
    for driver, devices in _list_devices(sets).items():
        contents: list[Manifest] = [
            {"devices": [each for one in group for each in one.manifests()]} for group in _group(devices)
        ]
        counters = [one.counters() for one in devices if one.of.partitions]
        for first in range(0, len(counters), MOST_COUNTER_SETS):
            contents.append({"sharedCounters": counters[first : first + MOST_COUNTER_SETS]})
        pool = {"name": node, "generation": 1, "resourceSliceCount": len(contents)}
        width = max(2, len(str(len(contents) - 1)))
        for number, content in enumerate(contents):
            spec = {"driver": driver, "nodeName": node, "pool": pool, **content}
            one = make_manifest(GROUP_VERSION, "ResourceSlice", f"{node}-{driver}-{number:0{width}}", spec=spec)
            one["metadata"]["labels"] = {NODE_LABEL: node}
            if uid:
                owner = {"apiVersion": "v1", "kind": "Node", "name": node, "uid": uid, "controller": True}
                one["metadata"]["ownerReferences"] = [owner]
            slices.append(one)
    return slices


def device_names(sets: Sequence[Devices]) -> dict[str, tuple[str, ...]]:
    """Return the whole devices of a node in order, each with the names of it and its partitions."""
    return {one.name: one.names() for devices in _list_devices(sets).values() for one in devices}


def _list_devices(sets: Sequence[Devices]) -> dict[str, list[_Device]]:
    """Return the whole devices by driver; those of one driver are numbered through."""
    found: defaultdict[str, list[_Device]] = defaultdict(list)
    for one in sets:
        for _ in range(one.count):
            found[one.driver].append(_Device(len(found[one.driver]), one))
    return found


def _group(devices: Iterable[_Device]) -> list[list[_Device]]:
    """Deal devices out to slices, in order; a device and its partitions are in one."""
    groups: list[list[_Device]] = []
    room = 0
    for one in devices:
        size = len(one.names())
        if size > room:
            groups.append([])
            room = MOST_IN_SLICE
        groups[-1].append(one)
        room -= size
    return groups


def _count(eighths: Iterable[int]) -> Manifest:
    return {f"memory-slice-{number}": {"value": "1"} for number in eighths}


def _read_bytes(word: str, text: str) -> int:
    try:
        found = parse(MEMORY, text)
    except QuantityError as error:
        raise ValueError(f"`{word}`: {error}") from error
    if not found:
        raise ValueError(f"`{word}` must be more than 0")
    return found
