"""From the diary of a run whose steps opened and closed a window to its record."""

from __future__ import annotations

from dataclasses import replace

from testbed.compare.footprint import FootprintMeter
from testbed.compare.measurement import audit_of, counted
from testbed.compare.recording import (
    Disturbance,
    Observations,
    RunLabel,
    node_records,
    recorded,
)
from testbed.metrics.record import RunRecord
from testbed.observe.plan import ObservedPlan
from testbed.run.bench import Bench
from testbed.run.diary import Diary
from testbed.run.site import Site
from testbed.run.steps.outcome import Window

NO_WINDOW = (
    "no window was measured: `measure: start` or `measure: stop` was not reached"
)


def window_record(
    bench: Bench,
    site: Site,
    diary: Diary,
    window: Window | None,
    label: RunLabel,
    meter: FootprintMeter,
    error: str,
) -> RunRecord:
    """Return the record of a window; ``error`` is what went wrong before."""
    footprint = meter.read()
    count = counted(bench, site.namespace)
    changes = diary.changes()
    if window is None:
        now = bench.observer.clock.now()
        window, error = Window(now, now), error or NO_WINDOW
    bodies, plans = bench.observer.read(
        lambda state: (state.bodies("Node"), state.plans())
    )
    record = recorded(
        label,
        Observations(
            namespace=site.namespace,
            start=window.start,
            stop=window.stop,
            nodes=node_records(
                body for body in bodies if body["metadata"]["name"] in site.nodes
            ),
            changes=changes,
            audit=audit_of(bench, diary.audit_start, changes, site.namespace),
            count=count,
            footprint=footprint,
        ),
        disturbance(plans),
    )
    return replace(record, error="; ".join(filter(None, [error, record.error])))


def disturbance(plans: list[ObservedPlan]) -> Disturbance:
    """Return what the plans of a run did, and what the last of them proved."""
    return Disturbance(
        moves=sum(plan.moves for plan in plans),
        evictions=sum(plan.evictions for plan in plans),
        bound_placed=_bound(plans[-1]) if plans else None,
    )


def _bound(plan: ObservedPlan) -> int | None:
    """Return the most pods that can be placed: the bound of the lowest tier."""
    if not plan.tiers:
        return None
    return min(plan.tiers, key=lambda tier: tier.priority).upper_bound
