"""A node as far as scheduling reads it, for every room; a trace has it in this form."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from stowage_testbed.amounts.resources import Resources
from stowage_testbed.observe.change import JsonObject

_DERIVED_TAINT = "node.kubernetes.io/unschedulable"


class Node(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A node as far as scheduling reads it."""

    capacity: Annotated[dict[str, str], Meta(description="Amounts, as in Kubernetes.")]
    allocatable: dict[str, str]
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    taints: list[dict[str, Any]] = msgspec.field(default_factory=list)
    unschedulable: bool = False

    @property
    def room(self) -> Resources:
        """What it can give to pods."""
        return Resources.of_list(self.allocatable)


def read_node(body: JsonObject) -> Node:
    """Return a node from its JSON; taints that follow from its other fields are left out."""
    spec, status = body.get("spec") or {}, body.get("status") or {}
    capacity = dict(status.get("capacity") or {})
    return Node(
        capacity=capacity,
        allocatable=dict(status.get("allocatable") or capacity),
        labels=dict(body["metadata"].get("labels") or {}),
        taints=[
            {key: one[key] for key in ("key", "value", "effect") if one.get(key)}
            for one in spec.get("taints") or ()
            if one["key"] != _DERIVED_TAINT
        ],
        unschedulable=bool(spec.get("unschedulable")),
    )


def ready_of(body: JsonObject) -> str:
    """Return whether a node is ready, as its condition says: True, False or Unknown."""
    conditions = (body.get("status") or {}).get("conditions") or ()
    return next((str(one["status"]) for one in conditions if one["type"] == "Ready"), "Unknown")
