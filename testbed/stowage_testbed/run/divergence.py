"""Whether all rounds of a scenario place alike, and if not, which pod differs first."""

from __future__ import annotations

from collections.abc import Iterable

from stowage_testbed.metrics.packing import placements
from stowage_testbed.run.outcome import Divergence, PhaseOutcome, ScenarioOutcome


def divergences(outcomes: Iterable[ScenarioOutcome]) -> tuple[Divergence, ...]:
    """Compare the deterministic phase of every round with the scenario's first."""
    first: dict[str, PhaseOutcome] = {}
    found: list[Divergence] = []
    for outcome in outcomes:
        if outcome.before is None:
            continue
        name = outcome.scenario.scenario_id
        reference = first.setdefault(name, outcome.before)
        if reference.placement_hash != outcome.before.placement_hash:
            found.append(_difference(outcome, reference, outcome.before))
    return tuple(found)


def _difference(
    outcome: ScenarioOutcome, reference: PhaseOutcome, other: PhaseOutcome
) -> Divergence:
    then, now = placements(reference.state), placements(other.state)
    order = [workload.name for workload in outcome.scenario.workload]
    workload = next((name for name in order if then.get(name) != now.get(name)), "")
    return Divergence(
        scenario_id=outcome.scenario.scenario_id,
        repeat=outcome.repeat,
        first_hash=reference.placement_hash,
        other_hash=other.placement_hash,
        workload=workload,
        first_nodes=then.get(workload, ()),
        other_nodes=now.get(workload, ()),
    )
