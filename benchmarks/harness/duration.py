"""How long a burst took, read afterwards from the API server's own stamps."""

from __future__ import annotations

from pathlib import Path

from stowage_testbed.errors import StowageError
from stowage_testbed.observe.audit import (
    AuditMark,
    audit_entries,
    binding_times_ns,
    creation_times_ns,
)
from stowage_testbed.observe.receipt import NS_PER_S


def burst_duration_s(
    audit_log: Path, start: AuditMark, namespace: str, pods: int
) -> float:
    """Return the seconds from the first creation to the last binding.

    No watch of the burst is needed.

    Parameters
    ----------
    start
        Where the burst's part of the log begins.
    pods
        How many creations and bindings there must be.

    Raises
    ------
    StowageError
        There are fewer or more.
    """
    entries = list(audit_entries(audit_log, start))
    created_ns = creation_times_ns(entries, namespace)
    bound_ns = [
        stamp_ns
        for key, stamp_ns in binding_times_ns(entries).items()
        if key.startswith(f"{namespace}/")
    ]
    if not len(created_ns) == len(bound_ns) == pods:
        raise StowageError(
            f"of {pods} pods of {namespace} the audit log shows {len(created_ns)} "
            f"created and {len(bound_ns)} bound; see whether the scheduler serves and "
            "the nodes have room"
        )
    return (max(bound_ns) - min(created_ns)) / NS_PER_S
