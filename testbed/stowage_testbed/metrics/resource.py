"""The resources that figures are given for, and how much of each a thing has."""

from __future__ import annotations

from typing import Literal, Protocol

Resource = Literal["cpu", "memory"]

RESOURCES: tuple[Resource, ...] = ("cpu", "memory")


class Sized(Protocol):
    """A node with what it can give, or a pod with what it requests."""

    @property
    def cpu_milli(self) -> int:
        """Thousandths of a core."""
        ...

    @property
    def memory_bytes(self) -> int:
        """Bytes."""
        ...


def amount(resource: Resource, of: Sized) -> int:
    """Return the milli-cores or bytes that a node can give or a pod requests."""
    return of.cpu_milli if resource == "cpu" else of.memory_bytes
