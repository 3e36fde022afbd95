"""`boreas`: batches of pending pods, each placed whole or not at all.

After "Boreas - A Service Scheduler for Optimal Kubernetes Deployment" (Lebesbye,
Mauro, Turin, Yu): the pending pods of a batch are placed together, on as few nodes as
possible, or all of them stay pending. Running pods stay where they are, and priorities
do not count. The paper solves with Zephyrus2 on OR-Tools; this with OR-Tools.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from optimizer.model.options import SolveOptions
from optimizer.model.packing import Assignment, Packing
from optimizer.model.plan import Plan
from optimizer.model.snapshot import Snapshot
from optimizer.strategies.bounds import trivial_bounds
from optimizer.strategies.filling import filled
from optimizer.strategies.incumbent import Incumbent
from optimizer.strategies.linear.backend import Effort
from optimizer.strategies.linear.counts import CountFormulation
from optimizer.strategies.linear.cpsat import CpSat
from optimizer.strategies.linear.formulation import Phase
from optimizer.strategies.linear.program import Terms, Values
from optimizer.strategies.planning import PlanWriter
from optimizer.strategies.reduced import reduced
from optimizer.strategies.restricting import restricted
from optimizer.strategies.standing import stands
from optimizer.strategies.strategy import Answer, Clock, end_reason_of

BATCH_PODS = 99
"""Pods in a batch, at the most; the paper's default (section 3.1)."""


@dataclass(frozen=True, slots=True)
class Boreas:
    """All or nothing, batch by batch, in the snapshot's order."""

    batch_pods: int = BATCH_PODS

    def solve(
        self,
        snapshot: Snapshot,
        options: SolveOptions,
        *,
        clock: Clock,
        publish: Callable[[Plan], None],
    ) -> Answer:
        """Return the plan that places every batch that fits; see `Strategy.solve`."""
        deadline = clock() + options.time_limit_s
        packing = reduced(snapshot)
        writer = PlanWriter(snapshot, packing, options.policy)
        incumbent = Incumbent(packing, trivial_bounds(packing), writer, publish)
        publish(incumbent.plan())
        assignment = packing.current
        batches = list(self._batches(packing))
        for done, members in enumerate(batches):
            left = options.time_limit_s
            if not options.deterministic:
                left = deadline - clock()
            effort = Effort.of(options, left / (len(batches) - done))
            assignment = _place(packing, assignment, members, effort, CpSat(clock))
            incumbent.offer(assignment)
        plan = incumbent.plan()
        return Answer(plan, end_reason_of(plan), packing.refusals)

    def _batches(self, packing: Packing) -> Iterator[Sequence[int]]:
        pending = [i for i, item in enumerate(packing.items) if item.home is None]
        for begin in range(0, len(pending), self.batch_pods):
            yield pending[begin : begin + self.batch_pods]


@dataclass(slots=True)
class _Best:
    """The best placement of a batch so far."""

    batch: Packing
    assignment: Assignment = field(init=False)

    def __post_init__(self) -> None:
        self.assignment = filled(self.batch, self.batch.current)

    @property
    def whole(self) -> bool:
        """Whether every pod of the batch has a node."""
        return None not in self.assignment

    def take(self, candidate: Assignment) -> None:
        """Take a placement that the solver found after the last one."""
        self.assignment = candidate


def _place(
    packing: Packing,
    assignment: Assignment,
    members: Sequence[int],
    effort: Effort,
    solver: CpSat,
) -> Assignment:
    """Return ``assignment`` with every pod of the batch placed, or as it was."""
    best = _Best(restricted(packing, members, assignment))
    half = replace(effort, amount=effort.amount / 2)
    if not best.whole:
        _solve(best, half, solver, whole=False)
    if not best.whole:
        return assignment
    _solve(best, half, solver, whole=True)
    placed = list(assignment)
    for item, node in zip(members, best.assignment, strict=True):
        placed[item] = node
    # What pods demand of each other is not in the program: then all of it, or none.
    if not stands(packing, tuple(placed)):
        return assignment
    return tuple(placed)


def _solve(best: _Best, effort: Effort, solver: CpSat, *, whole: bool) -> None:
    """Place as many as possible; or, once all are, use as few nodes as possible."""
    formulation = CountFormulation(best.batch, len(best.batch.tiers))
    placed = formulation.metric(Phase.PLACE, len(best.batch.tiers) - 1)
    start = list(formulation.values(best.assignment))
    metric: Terms = placed
    if whole:
        size = len(best.batch.items)
        formulation.program.between(placed, size, size)
        used = formulation.used_nodes()
        metric = [(variable, -1) for variable in used.values()]
        taken = set(best.assignment)
        start += [int(node in taken) for node in used]

    def take(values: Values) -> None:
        best.take(formulation.read(values, best.assignment))

    solver.maximise(formulation.program, metric, start=start, effort=effort, offer=take)
