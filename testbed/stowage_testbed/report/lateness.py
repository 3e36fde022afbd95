"""Pods that steps created later than they should have."""

from __future__ import annotations

from collections.abc import Iterable

from stowage_testbed.run.outcome import ScenarioOutcome


def lateness_note(outcomes: Iterable[ScenarioOutcome]) -> str:
    """Return a line for each step with late pods; empty if there is none."""
    return "\n".join(
        f"{outcome.scenario.scenario_id} round {outcome.repeat}, {record.step}: "
        f"{record.facts['late']:g} of {record.facts['pods']:g} pods were created late, "
        f"by {record.facts['latest_s']:.2f} s at most"
        for outcome in outcomes
        for record in (outcome.stepped.steps if outcome.stepped else ())
        if record.facts.get("late")
    )
