"""Device classes and claims for devices, as far as they are counted."""

from collections.abc import Iterator

import msgspec

from stowage_testbed.observe.change import JsonObject

IMPLICIT_DOMAIN = "deviceclass.resource.kubernetes.io"
"""Domain of the extended resource that every device class serves, by its own name."""


class _Cel(msgspec.Struct):
    expression: str = ""


class _Selector(msgspec.Struct):
    cel: _Cel = msgspec.field(default_factory=_Cel)


class _ClassSpec(msgspec.Struct, rename="camel"):
    selectors: list[_Selector] = msgspec.field(default_factory=list)
    extended_resource_name: str = ""


class _Metadata(msgspec.Struct, rename="camel"):
    name: str = ""
    namespace: str = ""
    creation_timestamp: str = ""

    @property
    def key(self) -> tuple[str, str]:
        return self.namespace, self.name


class DeviceClass(msgspec.Struct):
    """A DeviceClass."""

    metadata: _Metadata
    spec: _ClassSpec = msgspec.field(default_factory=_ClassSpec)

    @property
    def created(self) -> str:
        """When it was created, in a form that sorts."""
        return self.metadata.creation_timestamp

    @property
    def expressions(self) -> tuple[str, ...]:
        """What selects its devices, all together."""
        return tuple(one.cel.expression for one in self.spec.selectors)


class _CapacityRequirements(msgspec.Struct):
    requests: dict[str, str] = msgspec.field(default_factory=dict)


class DeviceRequest(msgspec.Struct, rename="camel"):
    """What one request of a claim asks for."""

    device_class_name: str = ""
    selectors: list[_Selector] = msgspec.field(default_factory=list)
    allocation_mode: str = "ExactCount"
    count: int = 1
    admin_access: bool = False
    capacity: _CapacityRequirements = msgspec.field(default_factory=_CapacityRequirements)

    @property
    def expressions(self) -> tuple[str, ...]:
        """What selects devices of the class, all together."""
        return tuple(one.cel.expression for one in self.selectors)


class _Request(msgspec.Struct, rename="camel"):
    exactly: DeviceRequest | None = None
    first_available: list[DeviceRequest] = msgspec.field(default_factory=list)


class _Requests(msgspec.Struct):
    requests: list[_Request] = msgspec.field(default_factory=list)


class _ClaimSpec(msgspec.Struct):
    devices: _Requests = msgspec.field(default_factory=_Requests)


class AllocatedDevice(msgspec.Struct, rename="camel"):
    """A device, or a part of one, that is allocated to a claim."""

    driver: str = ""
    pool: str = ""
    device: str = ""
    request: str = ""
    admin_access: bool = False
    share_id: str = msgspec.field(default="", name="shareID")
    consumed_capacity: dict[str, str] = msgspec.field(default_factory=dict)

    def in_words(self) -> str:
        """Return its name, with the amounts of a share."""
        amounts = ", ".join(f"{name} {amount}" for name, amount in self.consumed_capacity.items())
        return f"{self.device} ({amounts})" if amounts else self.device


class _Results(msgspec.Struct):
    results: list[AllocatedDevice] = msgspec.field(default_factory=list)


class _Allocation(msgspec.Struct):
    devices: _Results = msgspec.field(default_factory=_Results)


class _User(msgspec.Struct):
    name: str = ""
    uid: str = ""


class _ClaimStatus(msgspec.Struct, rename="camel"):
    allocation: _Allocation | None = None
    reserved_for: list[_User] = msgspec.field(default_factory=list)


class Claim(msgspec.Struct):
    """A ResourceClaim."""

    metadata: _Metadata
    spec: _ClaimSpec = msgspec.field(default_factory=_ClaimSpec)
    status: _ClaimStatus = msgspec.field(default_factory=_ClaimStatus)

    @property
    def users(self) -> frozenset[str]:
        """The UIDs of the pods that may use what is allocated to it."""
        return frozenset(one.uid for one in self.status.reserved_for)

    @property
    def user(self) -> str:
        """The UID of the pod that the claim counts for, if devices are allocated to it; several may use it."""
        return self.status.reserved_for[0].uid if self.status.allocation and self.status.reserved_for else ""

    def requests(self) -> Iterator[DeviceRequest]:
        """Yield its requests, of a list of alternatives the first."""
        for one in self.spec.devices.requests:
            if request := one.exactly or next(iter(one.first_available), None):
                yield request

    def allocated(self) -> Iterator[AllocatedDevice]:
        """Yield the devices that are allocated to it, but for administrative access to devices of others."""
        allocated = self.status.allocation.devices.results if self.status.allocation else ()
        return (one for one in allocated if not one.admin_access)


EXTENDED = ""
"""What a pod calls the claim that the scheduler makes for its extended resources."""


def claims_of(pod: JsonObject) -> dict[str, str]:
    """Return what a pod calls its claims, by their names, as far as they are known."""
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    entries = [*(spec.get("resourceClaims") or ()), *(status.get("resourceClaimStatuses") or ())]
    found = {one["resourceClaimName"]: one["name"] for one in entries if one.get("resourceClaimName")}
    extended = status.get("extendedResourceClaimStatus")
    return found | ({extended["resourceClaimName"]: EXTENDED} if extended else {})
