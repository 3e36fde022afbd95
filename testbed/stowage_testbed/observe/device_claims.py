"""Device classes and claims for devices, as far as they are counted."""

from collections.abc import Iterator

import msgspec

IMPLICIT_DOMAIN = "deviceclass.resource.kubernetes.io"
"""Domain of the extended resource that every device class serves, by its own name."""


class _Cel(msgspec.Struct):
    expression: str = ""


class _Selector(msgspec.Struct):
    cel: _Cel = msgspec.field(default_factory=_Cel)


class _ClassSpec(msgspec.Struct, rename="camel"):
    selectors: list[_Selector] = msgspec.field(default_factory=list)
    extended_resource_name: str = ""


class _Named(msgspec.Struct):
    name: str = ""
    namespace: str = ""

    @property
    def key(self) -> tuple[str, str]:
        return self.namespace, self.name


class DeviceClass(msgspec.Struct):
    """A DeviceClass."""

    metadata: _Named
    spec: _ClassSpec = msgspec.field(default_factory=_ClassSpec)

    @property
    def expressions(self) -> tuple[str, ...]:
        """What selects its devices, all together."""
        return tuple(one.cel.expression for one in self.spec.selectors)


class _Wanted(msgspec.Struct):
    requests: dict[str, str] = msgspec.field(default_factory=dict)


class Asked(msgspec.Struct, rename="camel"):
    """What a request of a claim asks for."""

    device_class_name: str = ""
    selectors: list[_Selector] = msgspec.field(default_factory=list)
    allocation_mode: str = "ExactCount"
    count: int = 1
    admin_access: bool = False
    capacity: _Wanted = msgspec.field(default_factory=_Wanted)

    @property
    def expressions(self) -> tuple[str, ...]:
        """What selects devices of the class, all together."""
        return tuple(one.cel.expression for one in self.selectors)


class _Request(msgspec.Struct, rename="camel"):
    exactly: Asked | None = None
    first_available: list[Asked] = msgspec.field(default_factory=list)


class _Requests(msgspec.Struct):
    requests: list[_Request] = msgspec.field(default_factory=list)


class _ClaimSpec(msgspec.Struct):
    devices: _Requests = msgspec.field(default_factory=_Requests)


class Given(msgspec.Struct, rename="camel"):
    """A device, or a part of one, that a claim has been given."""

    driver: str = ""
    pool: str = ""
    device: str = ""
    admin_access: bool = False
    consumed_capacity: dict[str, str] = msgspec.field(default_factory=dict)


class _Results(msgspec.Struct):
    results: list[Given] = msgspec.field(default_factory=list)


class _Allocation(msgspec.Struct):
    devices: _Results = msgspec.field(default_factory=_Results)


class _User(msgspec.Struct):
    uid: str = ""


class _ClaimStatus(msgspec.Struct, rename="camel"):
    allocation: _Allocation | None = None
    reserved_for: list[_User] = msgspec.field(default_factory=list)


class Claim(msgspec.Struct):
    """A ResourceClaim."""

    metadata: _Named
    spec: _ClaimSpec = msgspec.field(default_factory=_ClaimSpec)
    status: _ClaimStatus = msgspec.field(default_factory=_ClaimStatus)

    @property
    def user(self) -> str:
        """The UID of the pod that the claim counts for, if it has been given devices; several may use it."""
        return self.status.reserved_for[0].uid if self.status.allocation and self.status.reserved_for else ""

    def asked(self) -> Iterator[Asked]:
        """Yield what its requests ask for, of a list of alternatives the first."""
        for one in self.spec.devices.requests:
            if asked := one.exactly or next(iter(one.first_available), None):
                yield asked

    def results(self) -> Iterator[Given]:
        """Yield what it has been given, but for access to devices of others."""
        given = self.status.allocation.devices.results if self.status.allocation else ()
        return (one for one in given if not one.admin_access)
