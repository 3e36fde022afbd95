"""A PackingPlan as the page shows it."""

from __future__ import annotations

from typing import Any

from stowage_testbed.observe.change import JsonObject
from stowage_testbed.plan import protected_of, steps_of, tiers_of


def plan_row(body: JsonObject) -> dict[str, Any]:
    """Return what the browser reads of a plan: the tables of ``stowage plan show``."""
    metadata, spec = body["metadata"], body.get("spec") or {}
    status = body.get("status") or {}
    return {
        "name": metadata["name"],
        "created": metadata.get("creationTimestamp", ""),
        "mode": spec.get("executionMode", "DryRun"),
        "trigger": spec.get("trigger", "Manual"),
        "phase": status.get("phase", ""),
        "message": status.get("message", ""),
        "strategy": status.get("strategy", ""),
        "end": status.get("endReason", ""),
        "optimal": bool(status.get("optimal")),
        "solve_s": float(status.get("solveSeconds") or 0),
        "tiers": list(tiers_of(status)),
        "steps": list(steps_of(status)),
        "protected": list(protected_of(status)),
    }
