"""The metrics of the window that a scenario's steps measure."""

from __future__ import annotations

from testbed.compare.recording import (
    Disturbance,
    Observations,
    RunLabel,
    node_records,
    recorded,
)
from testbed.hpa.metrics import hpa_metrics
from testbed.metrics.catalogue import metrics_of
from testbed.metrics.metric import Metric
from testbed.observe.audit import AuditEntry, audit_entries
from testbed.observe.errors import AuditLogMissingError
from testbed.run.bench import Bench
from testbed.run.diary import Diary
from testbed.run.optimizer_phase import optimizer_record
from testbed.run.site import Site
from testbed.run.steps.outcome import SteppedOutcome
from testbed.scenario.model import Scenario

ARM = "release"
"""What stands for the scheduler's arm in a record of `stowage run`."""


def window_metrics(
    bench: Bench, scenario: Scenario, site: Site, stepped: SteppedOutcome, diary: Diary
) -> tuple[Metric, ...]:
    """Return the metrics in their fixed order; none where no window was measured.

    Those of a recovery come last, where a service was overloaded.

    Moves and evictions are those of all plans of the run. Memory and CPU time of the
    scheduler have no value: nobody gauges them here.
    """
    window = stepped.window
    if window is None:
        return ()
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
    )
    disturbance = Disturbance(plans.moves, plans.evictions)
    record = recorded(RunLabel(scenario.scenario_id, ARM), seen, disturbance)
    of_recovery = hpa_metrics(stepped.recovery) if stepped.recovery else ()
    return (*metrics_of(record), *of_recovery)


def _audit(bench: Bench, diary: Diary) -> list[AuditEntry]:
    try:
        return list(audit_entries(bench.cluster.audit_log, diary.audit_start))
    except AuditLogMissingError:
        return []
