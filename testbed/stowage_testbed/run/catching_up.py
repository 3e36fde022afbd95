"""What API server, watch and audit log have of a namespace, once they agree."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from stowage_testbed.base.wait import HANG_S, WaitTimeoutError, wait_until
from stowage_testbed.observe.audit import (
    AuditEntry,
    AuditLogMissingError,
    AuditMark,
    AuditReader,
    read_binding_times_ns,
)
from stowage_testbed.observe.change import Change
from stowage_testbed.observe.timeline import read_pod_timelines
from stowage_testbed.recording.run_record import PodCount
from stowage_testbed.run.context import RunContext


def count_pods(context: RunContext, namespace: str) -> PodCount:
    """Return both counts of a namespace, as soon as they are equal or as they stay."""

    def look() -> PodCount:
        watched = context.observer.read(lambda state: len(state.all_pods(namespace)))
        return PodCount(context.objects.count("Pod", namespace), watched)

    try:
        return wait_until(
            "the watch to show every pod of the API server",
            look,
            lambda count: count.api == count.watched,
            timeout_s=HANG_S,
        )
    except WaitTimeoutError as error:
        last: PodCount = error.last_state
        return last


def read_audit(context: RunContext, start: AuditMark, changes: Iterable[Change], namespace: str) -> list[AuditEntry]:
    """Return a window's entries; a binding is logged after it is answered.

    Bindings that the log lacks after ``CATCH_UP_S`` are counted by the window's record
    (``audit_missing``).

    Parameters
    ----------
    start
        Where the window's part of the log begins.
    changes
        What the watch saw: the log is to have every binding of them.
    """
    missing = {f"{line.namespace}/{line.name}" for line in read_pod_timelines(changes, namespace) if line.bound}
    log, entries = AuditReader(context.cluster.audit_log, start), list[AuditEntry]()

    def look() -> int:
        try:
            new = list(log.entries())
        except AuditLogMissingError:
            missing.clear()
            return 0
        entries.extend(new)
        missing.difference_update(read_binding_times_ns(new))
        return len(missing)

    with suppress(WaitTimeoutError):
        wait_until("the audit log to have every binding", look, lambda left: not left or not entries, timeout_s=HANG_S)
    return entries
