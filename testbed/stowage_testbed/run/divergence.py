"""Whether all rounds of a scenario place alike, and if not, which pod differs first."""

from __future__ import annotations

from collections.abc import Iterable

from stowage_testbed.metrics.packing import list_placements
from stowage_testbed.run.outcome import CheckpointRecord, Divergence, ScenarioOutcome
from stowage_testbed.scenario.steps.waiting import END, FAILED


def find_divergences(outcomes: Iterable[ScenarioOutcome]) -> tuple[Divergence, ...]:
    """Compare every round's first checkpoint with that of the scenario's first round.

    Only those that a file names, or has before it lets the optimiser pack: what a plan
    makes of them, and when a measured run ends, is not the same in every round.
    """
    first: dict[str, CheckpointRecord] = {}
    found: list[Divergence] = []
    for outcome in outcomes:
        reached = next(iter(outcome.checkpoints), None)
        if reached is None or reached.is_planned or reached.name in {END, FAILED}:
            continue
        reference = first.setdefault(outcome.scenario.scenario_id, reached)
        if reference.placement_hash != reached.placement_hash:
            found.append(_compare(outcome, reference, reached))
    return tuple(found)


def _compare(outcome: ScenarioOutcome, reference: CheckpointRecord, other: CheckpointRecord) -> Divergence:
    then, now = list_placements(reference.state), list_placements(other.state)
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
