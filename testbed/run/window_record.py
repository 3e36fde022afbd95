"""The record of the window that a scenario's steps measure."""

from __future__ import annotations

from testbed.compare.footprint import UNKNOWN, Footprint
from testbed.compare.recording import (
    Disturbance,
    Observations,
    PodCount,
    RunLabel,
    node_records,
    recorded,
)
from testbed.metrics.record import RunRecord
from testbed.observe.audit import AuditEntry, audit_entries
from testbed.observe.errors import AuditLogMissingError
from testbed.run.bench import Bench
from testbed.run.diary import Diary
from testbed.run.optimizer_phase import optimizer_record
from testbed.run.site import Site
from testbed.run.steps.outcome import Window
from testbed.scenario.model import Scenario


def window_record(
    bench: Bench,
    scenario: Scenario,
    site: Site,
    window: Window,
    diary: Diary,
    *,
    label: RunLabel,
    footprint: Footprint = UNKNOWN,
    count: PodCount | None = None,
) -> RunRecord:
    """Return what the diary has of a window, as metrics are made from it.

    Parameters
    ----------
    label
        What the run is called.
    footprint
        Memory and CPU time of the scheduler in the window, if they were gauged.
    count
        The pods of the API server and of the watch, if they were counted.

    Notes
    -----
    Moves and evictions are those of all plans of the run.
    """
    ours = {name for pool in scenario.node_pools for name in pool.node_names()}
    bodies, plans = bench.observer.read(
        lambda state: (state.bodies("Node"), optimizer_record(state.plans()))
    )
    seen = Observations(
        namespace=site.namespace,
        start=window.start,
        stop=window.stop,
        nodes=node_records(b for b in bodies if b["metadata"]["name"] in ours),
        changes=[*diary.there_before, *diary.changes()],
        audit=_audit(bench, diary),
        count=count,
        footprint=footprint,
    )
    return recorded(label, seen, Disturbance(plans.moves, plans.evictions))


def _audit(bench: Bench, diary: Diary) -> list[AuditEntry]:
    try:
        return list(audit_entries(bench.cluster.audit_log, diary.audit_start))
    except AuditLogMissingError:
        return []
