"""The steps of a scenario as JSON."""

from __future__ import annotations

from typing import Any

from stowage_testbed.run.steps.outcome import SteppedOutcome, StepRecord


def steps_document(stepped: SteppedOutcome | None) -> dict[str, Any] | None:
    """Return what became of the steps; ``None`` for a scenario without any."""
    if stepped is None:
        return None
    window = stepped.window
    return {
        "steps": [_step(record) for record in stepped.steps],
        "window": window
        and {
            "start": window.start.wall_text(),
            "stop": window.stop.wall_text(),
            "start_monotonic_ns": window.start.monotonic_ns,
            "stop_monotonic_ns": window.stop.monotonic_ns,
            "length_s": window.length_s,
        },
        "evidence": sorted(stepped.evidence),
        "recovery": stepped.recovery and stepped.recovery.document(),
    }


def _step(record: StepRecord) -> dict[str, Any]:
    return {
        "number": record.step.number,
        "kind": record.step.kind,
        "line": record.step.line,
        "what": record.step.action.in_words(),
        "duration_s": record.duration_s,
        "facts": dict(record.facts),
        "error": record.error,
    }
