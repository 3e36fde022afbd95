"""Host ports: named and refused, not yet expressed."""

from __future__ import annotations

from collections.abc import Iterator

from optimizer.constraints.refusing import class_refusal
from optimizer.model.refusal import Refusal
from optimizer.model.snapshot import Snapshot


def refuse_host_ports(snapshot: Snapshot) -> Iterator[tuple[str, Refusal]]:
    """Yield the classes that take ports of their node."""
    for pod_class in snapshot.classes.values():
        if pod_class.host_ports:
            ports = ", ".join(str(port.port) for port in pod_class.host_ports)
            yield class_refusal(
                pod_class, "host-ports", f"host ports {ports} are not expressed"
            )
