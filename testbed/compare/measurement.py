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
        count = self._count()
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
                audit=self._audit(changes),
                count=count,
                footprint=footprint,
            ),
            disturbance,
        )

    def _count(self) -> PodCount:
        """Return the two counts, as soon as they are equal; else as they stay."""
        core = CoreV1Api(self.bench.api)

        def look() -> PodCount:
            watched = self.bench.observer.read(
                lambda state: len(state.all_pods(self.namespace))
            )
            return PodCount(pod_count(core, self.namespace), watched)

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

    def _audit(self, changes: Iterable[Change]) -> list[AuditEntry]:
        """Return the window's entries; a binding is logged after it is answered."""
        bound = {
            f"{line.namespace}/{line.name}"
            for line in pod_timelines(changes, self.namespace)
            if line.bound
        }

        def look() -> list[AuditEntry]:
            try:
                log = self.bench.cluster.audit_log
                return list(audit_entries(log, self.audit_start))
            except AuditLogMissingError:
                return []

        try:
            return wait_until(
                "the audit log to have every binding",
                look,
                lambda entries: (
                    not entries or bound <= binding_times_ns(entries).keys()
                ),
                timeout_s=CATCH_UP_S,
            )
        except WaitTimeoutError as error:
            last: list[AuditEntry] = error.last_state
            return last
