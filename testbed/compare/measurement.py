"""One measured window on a live cluster, from `begin` to `end`."""

from __future__ import annotations

import gc
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Self

from kubernetes.client import CoreV1Api

from testbed.compare.footprint import FootprintMeter
from testbed.compare.pod_count import pod_count
from testbed.compare.recording import (
    UNDISTURBED,
    Disturbance,
    Observations,
    PodCount,
    RunLabel,
    node_records,
    recorded,
)
from testbed.metrics.record import RunRecord
from testbed.observe.audit import (
    AuditEntry,
    audit_end,
    audit_entries,
    binding_times_ns,
)
from testbed.observe.change import Change
from testbed.observe.errors import AuditLogMissingError
from testbed.observe.receipt import Receipt
from testbed.observe.timeline import pod_timelines
from testbed.run.bench import Bench
from testbed.wait import WaitTimeoutError, wait_until

CATCH_UP_S = 10.0
"""How long watch and audit log may take to show what is already done."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """A window that is open. Nothing is computed before it ends.

    The observer's journal is the measurement's from `begin` to `end`.
    """

    bench: Bench
    namespace: str
    start: Receipt
    there: tuple[Change, ...]
    audit_start: int
    meter: FootprintMeter

    @classmethod
    def begin(cls, bench: Bench, namespace: str, pids: Iterable[int] = ()) -> Self:
        """Open a window on the pods of a namespace.

        Parameters
        ----------
        bench
            Its observer watches pods and nodes at least.
        namespace
            Whose pods are the run's.
        pids
            Processes of the scheduler.
        """
        # A full collection stops every thread for a tenth of a second, and all receipts
        # with it: what is there already need not be looked through while it lasts.
        gc.collect()
        gc.freeze()
        audit_start = audit_end(bench.cluster.audit_log)
        meter = FootprintMeter(pids)
        there = bench.observer.restart_journal()
        return cls(
            bench,
            namespace,
            bench.observer.clock.now(),
            tuple(there),
            audit_start,
            meter,
        )

    def end(
        self,
        label: RunLabel,
        nodes: Collection[str],
        disturbance: Disturbance = UNDISTURBED,
    ) -> RunRecord:
        """Close the window now and return its record.

        Parameters
        ----------
        label
            What the run is called.
        nodes
            Names of the workload's nodes.
        disturbance
            What the plans of the window did.
        """
        observer = self.bench.observer
        stop, footprint = observer.clock.now(), self.meter.read()
        gc.unfreeze()
        count = counted(self.bench, self.namespace)
        changes = [*self.there, *observer.take_journal()]
        bodies = observer.read(lambda state: state.bodies("Node"))
        return recorded(
            label,
            Observations(
                namespace=self.namespace,
                start=self.start,
                stop=stop,
                nodes=node_records(
                    body for body in bodies if body["metadata"]["name"] in nodes
                ),
                changes=changes,
                audit=audit_of(self.bench, self.audit_start, changes, self.namespace),
                count=count,
                footprint=footprint,
            ),
            disturbance,
        )


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
