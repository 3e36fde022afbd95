"""One measured window on a live cluster, from `begin` to `end`."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Self

from stowage_testbed.compare.session.one_turn import WindowMeter
from stowage_testbed.metrics.record import RunRecord
from stowage_testbed.observe.audit import AuditMark, audit_end
from stowage_testbed.observe.change import Change
from stowage_testbed.observe.receipt import Receipt
from stowage_testbed.recording.run_record import (
    Observations,
    RunLabel,
    node_records,
    recorded,
)
from stowage_testbed.run.catching_up import audit_of, counted
from stowage_testbed.run.context import RunContext


@dataclass(frozen=True, slots=True)
class Measurement:
    """A window that is open. Nothing is computed before it ends.

    The observer's journal is the measurement's from `begin` to `end`.
    """

    context: RunContext
    namespace: str
    start: Receipt
    there: tuple[Change, ...]
    audit_start: AuditMark
    meter: WindowMeter

    @classmethod
    def begin(
        cls, context: RunContext, namespace: str, pids: Iterable[int] = ()
    ) -> Self:
        """Open a window on the pods of a namespace.

        Parameters
        ----------
        context
            Its observer watches pods and nodes at least.
        namespace
            Whose pods are the run's.
        pids
            Processes of the scheduler.
        """
        audit_start = audit_end(context.cluster.audit_log)
        meter = WindowMeter(pids)
        meter.open()
        there = context.observer.restart_journal()
        return cls(
            context,
            namespace,
            context.observer.clock.now(),
            tuple(there),
            audit_start,
            meter,
        )

    def end(self, label: RunLabel, nodes: Collection[str]) -> RunRecord:
        """Close the window now and return its record.

        Parameters
        ----------
        label
            What the run is called.
        nodes
            Names of the workload's nodes.
        """
        observer = self.context.observer
        stop = observer.clock.now()
        self.meter.close()
        count = counted(self.context, self.namespace)
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
                audit=audit_of(self.context, self.audit_start, changes, self.namespace),
                count=count,
                footprint=self.meter.footprint,
            ),
        )
