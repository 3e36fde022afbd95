"""A run as one JSON document: every table can be made from it again."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from stowage_testbed.metrics.packing import count_pods_per_node, list_placements
from stowage_testbed.observe.plan import ObservedPlan
from stowage_testbed.run.latency import Latency
from stowage_testbed.run.outcome import CheckpointRecord, Divergence, RunOutcome, ScenarioOutcome, StepRecord, Window

FORMAT = "stowage.dev/run/v2"


def make_run_document(outcome: RunOutcome, environment: dict[str, Any]) -> dict[str, Any]:
    """Return the document of a run; ``environment`` holds versions and the machine."""
    return {
        "format": FORMAT,
        "run": outcome.run_id,
        "started": outcome.started,
        "cluster": outcome.cluster,
        "passed": outcome.passed,
        "error": outcome.error,
        "durations_s": dict(outcome.durations_s),
        "environment": environment,
        "scenarios": [make_scenario_document(item) for item in outcome.outcomes],
        "divergences": [_write_divergence(item) for item in outcome.divergences],
    }


def make_scenario_document(outcome: ScenarioOutcome) -> dict[str, Any]:
    """Return the document of one scenario run."""
    scenario = outcome.scenario
    return {
        "scenario": scenario.name,
        "variant": scenario.variant,
        "repeat": outcome.repeat,
        "seed": scenario.instance.seed if scenario.instance else None,
        "parameters": dict(scenario.parameters),
        "passed": outcome.passed,
        "error": outcome.error,
        "skipped": outcome.skipped,
        "steps": [_write_step(record) for record in outcome.steps],
        "checkpoints": [_write_checkpoint(one) for one in outcome.checkpoints],
        "checks": [asdict(check) for check in outcome.checks],
        "window": _write_window(outcome.window),
        "evidence": sorted(outcome.evidence),
        "recovery": outcome.recovery and outcome.recovery.document(),
        "metrics": [asdict(metric) for metric in outcome.metrics],
        "moves": outcome.moves,
        "evictions": outcome.evictions,
        "optimal": outcome.optimal,
        "plans": [_write_plan(plan) for plan in outcome.plans],
        "durations_s": dict(outcome.durations_s),
    }


def _write_checkpoint(one: CheckpointRecord) -> dict[str, Any]:
    return {
        "name": one.name,
        "placed": one.placed,
        "pending": one.pending,
        "utilisation": {resource: float(share) for resource, share in one.utilisation.items()},
        "placement_hash": one.placement_hash,
        "placements": {workload: list(nodes) for workload, nodes in list_placements(one.state).items()},
        "pods_per_node": count_pods_per_node(one.state),
        "latency": _write_latency(one.latency),
        "duration_s": one.duration_s,
        "is_planned": one.is_planned,
    }


def _write_latency(latency: Latency) -> dict[str, Any]:
    return {
        "what": "pod created to bound",
        "n": latency.n,
        "clock": latency.clock,
        "resolution_s": latency.resolution_s,
        "audit_lag_s": latency.audit_lag_s,
        "percentiles_s": {f"p{item.rank:g}": item.value for item in latency.percentiles},
        "left_out": [item.reason for item in latency.percentiles if item.reason],
    }


def _write_plan(plan: ObservedPlan) -> dict[str, Any]:
    """Return one PackingPlan's summary, without what only its cluster knows it by."""
    facts = asdict(plan)
    del facts["uid"], facts["created"]
    return facts


def _write_divergence(divergence: Divergence) -> dict[str, Any]:
    facts = asdict(divergence)
    return {"scenario": facts.pop("scenario_id"), **facts}


def _write_window(window: Window | None) -> dict[str, Any] | None:
    if window is None:
        return None
    return {
        "start": window.start.wall_text(),
        "stop": window.stop.wall_text(),
        "start_monotonic_ns": window.start.monotonic_ns,
        "stop_monotonic_ns": window.stop.monotonic_ns,
        "length_s": window.length_s,
    }


def _write_step(record: StepRecord) -> dict[str, Any]:
    return {
        "number": record.step.number,
        "kind": record.step.kind,
        "line": record.step.line,
        "what": record.step.action.in_words(),
        "duration_s": record.duration_s,
        "facts": dict(record.facts),
        "error": record.error,
    }
