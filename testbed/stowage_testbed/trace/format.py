"""The lines of a trace, and their JSON Schema: a header, then what happened, in order; time 0 is the beginning."""

from typing import Annotated, Any, Literal, get_args

import msgspec
from msgspec import Meta

from stowage_testbed.base.errors import InputError
from stowage_testbed.observe.node import Node

VERSION = 1
SUFFIXES = (".jsonl.gz", ".jsonl")  # How the names of traces end
How = Literal["succeeded", "failed", "evicted", "preempted", "deleted"]  # How a pod ended
Time = Annotated[float, Meta(ge=0, description="Seconds since recording began.")]
Name = Annotated[str, Meta(min_length=1)]
Namespace = Annotated[str, Meta(description="Empty for what is in none.")]
Labels = dict[str, str]


class Header(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The first line."""

    stowage_trace: Annotated[int, Meta(description="Version of the format.")]
    began: Annotated[str, Meta(description="When recording began, as in RFC 3339.")]
    kubernetes: Annotated[str, Meta(description="The cluster's version.")]
    namespaces: Annotated[dict[str, Labels], Meta(description="The namespaces at that time, with their labels.")] = (
        msgspec.field(default_factory=dict)
    )


class Event(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, tag_field="do"):
    """Something that happened."""

    t: Time


class PodTemplate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What pods are like."""

    labels: Labels = msgspec.field(default_factory=dict)
    annotations: Labels = msgspec.field(default_factory=dict)
    spec: Annotated[dict[str, Any], Meta(description="A pod's spec as far as scheduling reads it.")] = msgspec.field(
        default_factory=dict
    )


class Template(Event, frozen=True, kw_only=True, tag="template"):
    """What some pods are like; it stands once, before its first use."""

    id: Annotated[Name, Meta(description="Hash of its content.")]
    template: PodTemplate


class NodeSeen(Event, frozen=True, kw_only=True, tag="node"):
    """A node was there, came, or changed; it is told whole each time."""

    name: Name
    node: Node


class NodeGone(Event, frozen=True, kw_only=True, tag="node-gone"):
    """A node was removed."""

    name: Name


class ObjectSeen(Event, frozen=True, kw_only=True, tag="object"):
    """A controller or what else pods depend on was there, came, or changed."""

    object: Annotated[dict[str, Any], Meta(description="The manifest, without what servers make.")]


class Scaled(Event, frozen=True, kw_only=True, tag="scale"):
    """The replicas of a controller changed, and nothing else of it."""

    kind: Name
    namespace: Namespace
    name: Name
    replicas: Annotated[int, Meta(ge=0)]


class ObjectGone(Event, frozen=True, kw_only=True, tag="gone"):
    """An object was deleted."""

    kind: Name
    namespace: Namespace = ""
    name: Name


class Owner(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The controller at the top: a Deployment rather than its ReplicaSet."""

    kind: Name
    name: Name


class PodCame(Event, frozen=True, kw_only=True, tag="pod"):
    """A pod was there, or came."""

    namespace: Namespace
    name: Name
    of: Annotated[Name, Meta(description="Its template's id.")]
    owner: Annotated[Owner | None, Meta(description="The recorded controller that made it; null without one.")] = None


class PodDevice(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A device, or a part of one, that is allocated to a claim of a pod."""

    claim: Annotated[str, Meta(description="As the pod calls it; empty for the one of its extended resources.")]
    request: Annotated[Name, Meta(description="The request of the claim; with an alternative, as in gpu/whole.")]
    driver: Name
    pool: Name
    device: Name
    capacity: Annotated[dict[str, str], Meta(description="What the claim gets of a device that several share.")] = (
        msgspec.field(default_factory=dict)
    )


class PodBound(Event, frozen=True, kw_only=True, tag="bound"):
    """A pod got its node, and the devices that it claims."""

    namespace: Namespace
    name: Name
    node: Name
    devices: list[PodDevice] = msgspec.field(default_factory=list)


class PodEnded(Event, frozen=True, kw_only=True, tag="end"):
    """A pod ended."""

    namespace: Namespace
    name: Name
    how: How
    ran_s: Annotated[
        Annotated[float, Meta(ge=0)] | None, Meta(description="Seconds from its start; null if it never ran.")
    ] = None


class WatchLost(Event, frozen=True, kw_only=True, tag="lost"):
    """The watch was interrupted; what changed meanwhile has this line's time."""

    from_: Annotated[float, Meta(ge=0, description="Time at which it was lost.")] = msgspec.field(name="from")
    why: str


Line = Template | NodeSeen | NodeGone | ObjectSeen | Scaled | ObjectGone | PodCame | PodBound | PodEnded | WatchLost
"""Any line but the header."""

KINDS: dict[str, type[Event]] = {str(one.__struct_config__.tag): one for one in get_args(Line)}
"""The kinds of line by what they have under `do`."""


def check_is_trace(name: str) -> None:
    """Raise an InputError for a file name that does not end as those of traces do."""
    if not name.endswith(SUFFIXES):
        raise InputError(f"{name} is no name of a trace; it ends in {' or '.join(SUFFIXES)}")


def make_schema() -> dict[str, Any]:
    """Return the JSON Schema of one line, the header's included."""
    (header, line), definitions = msgspec.json.schema_components([Header, Line])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A line of a trace",
        "anyOf": [header, line],
        "$defs": definitions,
    }
