"""CP-SAT over counts of replicas: the last resort, which settles what is small."""

from collections.abc import Sequence

from stowage_optimizer.bounds.phase import Phase
from stowage_optimizer.bounds.proofs import TierBounds
from stowage_optimizer.model.objective import Score
from stowage_optimizer.model.packing import as_assignment, as_nodes
from stowage_optimizer.model.tie import Values
from stowage_optimizer.programs.counts import CountFormulation
from stowage_optimizer.programs.program import STAY, running_items
from stowage_optimizer.programs.tiers import BUILT_PER_S
from stowage_optimizer.strategies.lexicographic.open_phase import AttemptContext, OpenPhase

SHORTEST_S = 0.02
"""Less than this is no time to build and solve anything in."""

MOST_VARIABLES = 100_000
"""Larger programs are not begun: choosing among patterns gets further there."""

BUILDING_SHARE = 0.5
"""Largest share of the time that may go into writing the program down."""


def can_count(context: AttemptContext, phase: OpenPhase, seconds: float) -> bool:
    """Return whether the program can be written down in time, and held."""
    size = len(context.packing.room) * len(context.shared.problem.demand)
    if seconds < SHORTEST_S or size > MOST_VARIABLES:
        return False
    size = CountFormulation.variables(context.packing, phase.tier + 1)
    return size / BUILT_PER_S <= BUILDING_SHARE * seconds


def solve_counts(context: AttemptContext, phase: OpenPhase, seconds: float) -> tuple[Score, int | None, float]:
    """Return what was reached, the bound proved for it, and the seconds it took.

    The bound is of all assignments that have as much of each earlier number; None if
    nothing is proved.
    """
    shared, budget = context.shared, context.budget
    started = budget.clock()
    counts = CountFormulation(context.packing, phase.tier + 1)
    value, nodes, bounds, _ = shared.snapshot()
    _hold(context, phase, counts, value, bounds)
    assignment = as_assignment(nodes)

    def offer(values: Values) -> None:
        found = as_nodes(counts.read(values, assignment))
        shared.offer(found, context.repairer)

    if not budget.deterministic:
        seconds -= budget.clock() - started
    metric, start = counts.metric(phase.phase, phase.tier), counts.values(assignment)
    outcome = counts.program.maximise(metric, start, budget.for_solver(seconds), offer)
    bound = outcome.bound
    if bound is not None and phase.phase is Phase.DISRUPT:
        bound = STAY * running_items(context.packing, phase.tier) - bound
    return value, bound, outcome.spent


def _hold(
    context: AttemptContext, phase: OpenPhase, counts: CountFormulation, value: Score, proved: Sequence[TierBounds]
) -> None:
    """Add a row for each phase: from what is reached to what is proved."""
    for tier in range(phase.tier + 1):
        kept, placed, stability = value[tier]
        bounds = proved[tier]
        most = STAY * running_items(context.packing, tier)
        for row, reached, bound in (
            (Phase.KEEP, kept, bounds.kept),
            (Phase.PLACE, placed, bounds.placed),
            (Phase.DISRUPT, most + stability, most - bounds.disruption),
        ):
            if row is Phase.KEEP and not context.shared.strict:
                continue
            if tier == phase.tier and row.value > phase.phase.value:
                continue
            metric = counts.metric(row, tier)
            counts.program.between(metric, reached, max(reached, bound))
