"""What API server, watch and audit log have of a namespace, once they agree."""

from __future__ import annotations

from collections.abc import Iterable

from kubernetes.client import CoreV1Api

from testbed.compare.pod_count import pod_count
from testbed.compare.recording import PodCount
from testbed.observe.audit import AuditEntry, audit_entries, binding_times_ns
from testbed.observe.change import Change
from testbed.observe.errors import AuditLogMissingError
from testbed.observe.timeline import pod_timelines
from testbed.run.bench import Bench
from testbed.wait import WaitTimeoutError, wait_until

CATCH_UP_S = 10.0
"""How long watch and audit log may take to show what is already done."""


def counted(bench: Bench, namespace: str) -> PodCount:
    """Return both counts of a namespace, as soon as they are equal or as they stay."""
    core = CoreV1Api(bench.api)

    def look() -> PodCount:
        watched = bench.observer.read(lambda state: len(state.all_pods(namespace)))
        return PodCount(pod_count(core, namespace), watched)

    try:
        return wait_until(
            "the watch to show every pod of the API server",
            look,
            lambda count: count.api == count.watched,
            timeout_s=CATCH_UP_S,
        )
    except WaitTimeoutError as error:
        last: PodCount = error.last_state
        return last


def audit_of(
    bench: Bench, start: int, changes: Iterable[Change], namespace: str
) -> list[AuditEntry]:
    """Return a window's entries; a binding is logged after it is answered.

    Parameters
    ----------
    start
        Where the window's part of the log begins, in bytes.
    changes
        What the watch saw: the log is to have every binding of them.
    """
    bound = {
        f"{line.namespace}/{line.name}"
        for line in pod_timelines(changes, namespace)
        if line.bound
    }

    def look() -> list[AuditEntry]:
        try:
            return list(audit_entries(bench.cluster.audit_log, start))
        except AuditLogMissingError:
            return []

    try:
        return wait_until(
            "the audit log to have every binding",
            look,
            lambda entries: not entries or bound <= binding_times_ns(entries).keys(),
            timeout_s=CATCH_UP_S,
        )
    except WaitTimeoutError as error:
        last: list[AuditEntry] = error.last_state
        return last
