"""The best plan with relations so far: proposals are made whole and checked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from stowage_optimizer.model.objective import Score, score
from stowage_optimizer.model.options import Policy, SolveOptions
from stowage_optimizer.model.packing import Assignment, Packing
from stowage_optimizer.model.plan import Plan
from stowage_optimizer.model.snapshot import Snapshot
from stowage_optimizer.strategies.filling import filled
from stowage_optimizer.strategies.finish.cheapest import Replicas
from stowage_optimizer.strategies.finish.curve import gain_by_moves
from stowage_optimizer.strategies.finish.owners import owners_of
from stowage_optimizer.strategies.finish.steps import Steps
from stowage_optimizer.strategies.finish.tally import Tally
from stowage_optimizer.strategies.planning import PlanWriter
from stowage_optimizer.strategies.reading import assignment_of
from stowage_optimizer.strategies.related.claiming import claimed, tightest
from stowage_optimizer.strategies.relation_repair import make_whole, repair_relations
from stowage_optimizer.strategies.unjust_displacement import has_unjust_displacement


@dataclass(slots=True)
class RelationChecker:
    """Takes proposals, and keeps the best that can be carried out.

    Parameters
    ----------
    snapshot, packing
        The snapshot and the problem with relations.
    options
        Policy and limits.
    publish
        Called with each better plan.
    stop
        Returns True when the search must end.
    hurry
        Returns True when there is no time left to repair a proposal.
    """

    snapshot: Snapshot
    packing: Packing
    options: SolveOptions
    publish: Callable[[Plan], None]
    stop: Callable[[], bool]
    hurry: Callable[[], bool]
    best: Assignment = field(init=False)
    value: Score = field(init=False)
    easier: Plan = field(init=False)
    writer: PlanWriter = field(init=False)
    _replicas: Replicas = field(init=False)
    _attested: tuple[Assignment, Plan] | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.writer = PlanWriter(self.snapshot, self.packing, self.options.policy)
        self._replicas = Replicas(self.snapshot)
        self.easier = Plan(self.snapshot.id)
        self.best = self.packing.current
        self.value = self._score(self.best)

    def matches(self) -> bool:
        """Whether the best is worth as much as the plan without relations."""
        return self.value == self._score(self.reached)

    @property
    def reached(self) -> Assignment:
        """The assignment of the plan without relations."""
        return assignment_of(self.packing, self.easier)

    def limit(self, easier: Plan, *, repair: bool) -> None:
        """Take ``easier`` as what is proved of the problem without relations.

        Of two plans the better one counts, and of equal ones the later.
        """
        reached = assignment_of(self.packing, easier)
        if self._score(reached) >= self._score(self.reached):
            self.easier = easier
        self.consider(reached, repair=repair)

    def consider(self, proposal: Assignment, *, repair: bool = True) -> None:
        """Keep ``proposal``, or what can be made of it, if that is the best so far.

        Without ``repair`` no more is made of it than takes little time.
        """
        for candidate in self._candidates(proposal, repair=repair):
            value = self._score(candidate)
            if value > self.value and self._allowed(candidate):
                self.best, self.value = candidate, value
                self.publish(self.plan())
            if self.stop():
                return

    def proved(self) -> int:
        """Return in how many tiers of the problem the best is known to be the best."""
        optimal = {tier.priority for tier in self.plan().tiers if tier.optimal}
        count = 0
        for priority in self.packing.tiers:
            if priority not in optimal:
                break
            count += 1
        return count

    def attest(self, assignment: Assignment, plan: Plan) -> None:
        """Take ``assignment`` as a proposal, and ``plan`` as what is proved of it."""
        self._attested = (assignment, plan)
        self.consider(assignment)

    def plan(self) -> Plan:
        """Return the best as a plan that claims what is proved of it."""
        plan = claimed(self.writer, self.best, self.easier, self.reached)
        if self._attested is not None and self._attested[0] == self.best:
            plan = replace(plan, tiers=tightest(plan.tiers, self._attested[1].tiers))
        plan = self._replicas.disrupt_cheapest(plan)
        points = gain_by_moves(plan, ()) if plan.moves else ()
        return replace(plan, gain_by_moves=points)

    def _candidates(
        self, proposal: Assignment, *, repair: bool
    ) -> Iterator[Assignment]:
        """Yield what can be made of ``proposal``, as it is first."""
        settled = repair_relations(self.packing, proposal, self.stop)
        if settled is not None:
            yield settled
            if settled == proposal:
                return
        if not repair or self.hurry():
            return
        whole = make_whole(self.packing, proposal, self.options.policy)
        yield whole
        more = repair_relations(self.packing, filled(self.packing, whole), self.stop)
        if more is not None:
            yield more

    def _allowed(self, candidate: Assignment) -> bool:
        """Return whether ``candidate`` keeps within policy and limits."""
        limits = self.options.limits
        if not limits.none:
            owners = owners_of(self.snapshot, self.packing)
            whole = Steps(self.packing, candidate).whole()
            if not Tally(limits, owners).take(whole):
                return False
        strict = self.options.policy is Policy.STRICT
        return not (strict and has_unjust_displacement(self.packing, candidate))

    def _score(self, assignment: Assignment) -> Score:
        return score(self.packing, assignment, self.options.policy)
