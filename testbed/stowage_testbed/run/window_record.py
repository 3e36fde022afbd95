"""The record of the window that a scenario's steps measure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from stowage_testbed.metrics.record import RunRecord, find_state_at_end
from stowage_testbed.observe.plan import ObservedPlan
from stowage_testbed.observe.receipt import NS_PER_S, Receipt
from stowage_testbed.recording.run_record import Observations, RunLabel, make_node_records, make_record
from stowage_testbed.run.catching_up import count_pods, read_audit
from stowage_testbed.run.steps.context import StepContext
from stowage_testbed.run.steps.observed_moment import sum_up_plans

ARM = "release"
"""What stands for the scheduler's arm in the record of a run without comparison."""

ENDED_WELL = frozenset({"Completed", "NoImprovement"})
"""Phases after which the cluster is as the plan says."""

TIMESTAMP_S = 1.0
"""Timestamps of objects have whole seconds."""


def make_window_record(context: StepContext) -> RunRecord | None:
    """Return what there is of the measured window, as metrics are made from it.

    ``None`` is returned where the steps measured none. Moves and evictions are those of
    all plans of the run.
    """
    window, recorder, run = context.window, context.recorder, context.run
    if window is None:
        return None
    ours = set(context.scenario.node_names)
    bodies, plans = run.observer.read(lambda state: (state.bodies("Node"), state.plans()))
    changes = [*recorder.there_before, *recorder.changes()]
    of_plans = sum_up_plans(plans)
    seen = Observations(
        namespace=context.namespace,
        start=window.start,
        stop=window.stop,
        nodes=make_node_records(b for b in bodies if b["metadata"]["name"] in ours),
        changes=changes,
        audit=read_audit(run, recorder.audit_start, changes, context.namespace),
        count=count_pods(run, context.namespace),
    )
    record = make_record(RunLabel(context.scenario.scenario_id, ARM), seen)
    return replace(
        record,
        moves=of_plans.moves,
        evictions=of_plans.evictions,
        bound_placed=find_proved_bound(record, plans, window.start),
        recovery=context.recovery,
    )


def find_proved_bound(record: RunRecord, plans: Sequence[ObservedPlan], start: Receipt) -> int | None:
    """Return the most pods that could have been placed, as the last plan proves it.

    A plan counts the pods of the whole cluster, so that only what it leaves out of its
    bound is taken from it. ``None`` is returned where it proves nothing of the state at
    the end: it was not carried out, or a pod that waits came after it.

    Parameters
    ----------
    start
        When the window began.
    """
    if not plans or not plans[-1].tiers or plans[-1].phase not in ENDED_WELL:
        return None
    made_s = datetime.fromisoformat(plans[-1].created).timestamp() + TIMESTAMP_S
    began_s = start.wall_ns / NS_PER_S
    if any(
        not pod.node and pod.gone_s is None and pod.created_s is not None and began_s + pod.created_s > made_s
        for pod in record.pods
    ):
        return None
    lowest = min(plans[-1].tiers, key=lambda tier: tier.priority)
    return len(find_state_at_end(record).bound) + lowest.upper_bound - lowest.placed
