"""The devices that claims have been given, as Dynamic Resource Allocation has it."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from stowage_testbed.observe.change import JsonObject


class DeviceGiven(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A device, or a share of one, that a pod has by one of its claims."""

    claim: Annotated[str, Meta(description="Name of the claim in the pod's spec.")]
    request: Annotated[str, Meta(description="Request of the claim; of a list of alternatives as in gpu/whole.")]
    driver: str
    pool: str
    device: str
    capacity: Annotated[dict[str, str], Meta(description="What of a shared device was given.")] = msgspec.field(
        default_factory=dict
    )


def list_given(body: JsonObject, claim: str) -> tuple[DeviceGiven, ...]:
    """Return the devices that a ResourceClaim has been given, which a pod calls ``claim``; none for admin access."""
    allocation = (body.get("status") or {}).get("allocation") or {}
    return tuple(
        DeviceGiven(
            claim=claim,
            request=one["request"],
            driver=one["driver"],
            pool=one["pool"],
            device=one["device"],
            capacity=dict(one.get("consumedCapacity") or {}),
        )
        for one in (allocation.get("devices") or {}).get("results") or ()
        if not one.get("adminAccess")
    )
