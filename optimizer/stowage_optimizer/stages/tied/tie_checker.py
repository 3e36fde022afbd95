"""The best solution that keeps every tie so far, and what it may claim.

Proposals are repaired and checked. The bounds are those of the same problem without
ties.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from stowage_optimizer.assignments.first_fit import filled
from stowage_optimizer.assignments.repair import repair_ties, repair_with_ties
from stowage_optimizer.assignments.solution_writer import SolutionWriter
from stowage_optimizer.assignments.unjust_displacement import has_unjust_displacement
from stowage_optimizer.bounds.proofs import trivial_bounds
from stowage_optimizer.model.certificate import Certificate, ProofMethod, ProofStatus
from stowage_optimizer.model.objective import Score, score
from stowage_optimizer.model.options import Policy
from stowage_optimizer.model.packing import Assignment, Packing
from stowage_optimizer.model.solution import GainPoint, Publish, Solution, TierResult
from stowage_optimizer.model.tie import keeps_ties
from stowage_optimizer.model.time_budget import Reserve, TimeBudget
from stowage_optimizer.stages.finish.gain_curve import gain_by_moves

REPAIRING = Reserve(pods_per_s=8_000, least_share=0.1, most_share=0.5)
"""For repairing one proposal, where a part of it is as good as a plan."""

PREEMPTING_SHARE = 0.1
"""Part of the time left that preemption may take: in the largest clusters there is none."""

MOST_ORDERS, DETERMINISTIC_ORDERS = 100, 10
"""Orders in which gangs take their room."""


@dataclass(slots=True)
class TieChecker:
    """Takes proposals, and keeps the best that can be carried out.

    Parameters
    ----------
    hurry
        Returns True when there is no time left to repair a proposal.
    """

    packing: Packing
    budget: TimeBudget
    publish: Publish
    hurry: Callable[[], bool]
    best: Assignment = field(init=False)
    value: Score = field(init=False)
    easier: Solution = field(init=False)
    _writer: SolutionWriter = field(init=False)
    _rng: Random = field(init=False)
    _attested: Solution | None = field(init=False, default=None)
    _placed_as_it_is: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self._writer = SolutionWriter(self.packing, self.budget.policy)
        self._rng = Random(self.budget.options.seed)  # noqa: S311 - not for secrets
        self.best = self.packing.current
        self.easier = Solution(self.packing, self.best)
        self.value = self._score(self.best)

    def place_as_it_is(self) -> None:
        """Take what finds room without a move: no answer is worse than that."""
        self.publish(self.solution())
        packing = self.packing
        placed = repair_ties(packing, filled(packing, packing.current), self.budget)
        if self._score(placed) > self.value:
            self.best, self.value = placed, self._score(placed)
            self._placed_as_it_is = sum(
                kind.worth
                for kind, home, node in zip(packing.kind_of, packing.current, placed, strict=True)
                if node is not None and home is None
            )
            self.publish(self.solution())

    def preempt(self) -> None:
        """Take the best that preemption makes of the best so far, and of the present state in other orders."""
        if not self.packing.gregarious:
            return
        budget, before = self.budget.part(PREEMPTING_SHARE * self.budget.left_s()), self.value
        proposal, order = self.best, None
        for _ in range(DETERMINISTIC_ORDERS if self.budget.deterministic else MOST_ORDERS):
            found = self._preempting(proposal, budget, order)
            self._take(found)
            if found == proposal or budget.over():
                break
            proposal, order = self.packing.current, self._rng
        if self.value > before:
            self.publish(self.solution())
            self.consider(repair_with_ties(self.packing, self.best, self.budget))

    def matches(self) -> bool:
        """Whether the best is worth as much as the solution without ties."""
        return self.value == self._score(self.reached)

    @property
    def reached(self) -> Assignment:
        """The assignment of the solution without ties."""
        return self.easier.on(self.packing)

    def bound_by(self, easier: Solution, *, repair: bool) -> None:
        """Take ``easier`` as what is proved of the problem without ties.

        Of two solutions the better one counts, and of equal ones the later.
        """
        reached = easier.on(self.packing)
        if self._score(reached) >= self._score(self.reached):
            self.easier = easier
        self.consider(reached, repair=repair)

    def consider(self, proposal: Assignment, *, repair: bool = True) -> None:
        """Keep ``proposal``, or what can be made of it, if that is the best so far.

        Without ``repair`` no more is made of it than takes little time.
        """
        for candidate in self._candidates(proposal, repair=repair):
            if self._take(candidate):
                self.publish(self.solution())
            if self.budget.over():
                return

    def proved(self) -> int:
        """Return in how many tiers of the problem the best is known to be the best."""
        optimal = {tier.priority for tier in self.solution().tiers if tier.optimal}
        count = 0
        for priority in self.packing.tiers:
            if priority not in optimal:
                break
            count += 1
        return count

    def attest(self, found: Solution) -> None:
        """Take ``found`` as a proposal, with what is proved of it."""
        self._attested = found
        self.consider(found.assignment)

    def solution(self) -> Solution:
        """Return the best with what is proved of it."""
        best = claimed(self._writer, self.best, self.easier)
        if self._attested is not None:
            attested = claimed(self._writer, self.best, self._attested)
            best = replace(best, tiers=tightest(best.tiers, attested.tiers))
        return replace(best, gain_by_moves=self._curve(best))

    def _curve(self, best: Solution) -> tuple[GainPoint, ...]:
        """Return what is placed without a move, and by the whole plan."""
        ends = gain_by_moves(best, ())
        if not ends:
            return ()
        as_it_is = best.tiers[-1].placed_before + self._placed_as_it_is
        if as_it_is >= ends[-1].placed:
            return ends[-1:]
        return (GainPoint(0, as_it_is), ends[-1])

    def _candidates(self, proposal: Assignment, *, repair: bool) -> Iterator[Assignment]:
        """Yield what can be made of ``proposal``, as it is first."""
        budget = self.budget
        if self.packing.divisible:
            pods = len(self.packing.snapshot.pods)
            budget = budget.part(min(REPAIRING.of(budget.limit_s, pods), budget.left_s()))
        kept = repair_ties(self.packing, proposal, budget)
        yield kept
        if kept == proposal or self.hurry():
            return
        if self.packing.gregarious:
            yield self._preempting(proposal, self.budget.part(PREEMPTING_SHARE * self.budget.left_s()))
        if not repair:
            return
        repaired = repair_with_ties(self.packing, proposal, budget)
        yield repaired
        yield repair_ties(self.packing, filled(self.packing, repaired), budget)

    def _preempting(self, assignment: Assignment, budget: TimeBudget, rng: Random | None = None) -> Assignment:
        for tie in self.packing.ties:
            assignment = tie.preempting(self.packing, assignment, budget, rng)
        return assignment

    def _take(self, candidate: Assignment) -> bool:
        """Make ``candidate`` the best, if it is better and allowed; return whether it is."""
        value = self._score(candidate)
        if not (value > self.value and self._allowed(candidate)):
            return False
        self.best, self.value = candidate, value
        return True

    def _allowed(self, candidate: Assignment) -> bool:
        """Return whether ``candidate`` keeps the ties and the policy."""
        if not keeps_ties(self.packing, candidate):
            return False
        strict = self.budget.policy is Policy.STRICT
        return not (strict and has_unjust_displacement(self.packing, candidate))

    def _score(self, assignment: Assignment) -> Score:
        return score(self.packing, assignment, self.budget.policy)


def claimed(writer: SolutionWriter, assignment: Assignment, easier: Solution) -> Solution:
    """Return ``assignment`` with the bounds that ``easier`` proves for it.

    A bound is of all plans that are as good in everything before. So it holds down to
    the first phase in which the two differ; below, nothing is known.

    Parameters
    ----------
    writer
        Writes solutions of the problem with ties.
    easier
        A solution for the same pods without ties.
    """
    solution = writer.write(assignment, trivial_bounds(writer.packing))
    if not easier.tiers:
        return solution
    tiers = _tiers(writer, solution, easier)
    return replace(solution, tiers=tuple(tiers))


def tightest(some: Sequence[TierResult], others: Sequence[TierResult]) -> tuple[TierResult, ...]:
    """Return of each tier of one plan the better of two accounts of what is proved."""
    return tuple(
        max(pair, key=lambda tier: (tier.optimal, -tier.upper_bound)) for pair in zip(some, others, strict=True)
    )


def _tiers(writer: SolutionWriter, solution: Solution, easier: Solution) -> Iterator[TierResult]:
    packing = writer.packing
    mine = score(packing, solution.assignment, writer.policy)
    theirs = score(packing, easier.on(packing), writer.policy)
    kept = {priority: one.kept == other.kept for priority, one, other in zip(packing.tiers, mine, theirs, strict=True)}
    same = proved = True
    for own, known in zip(solution.tiers, easier.tiers, strict=True):
        same = same and kept.get(own.priority, True)
        if not same:
            yield replace(own, optimal=False)
            proved = False
            continue
        same = (own.placed, own.disruption) == (known.placed, known.disruption)
        # Equal to what is proved of it, or open somewhere.
        proved = proved and same and known.optimal
        tier = known if same else _limited(own, known)
        yield replace(tier, optimal=proved)


def _limited(own: TierResult, known: TierResult) -> TierResult:
    """Return ``own``, the first to differ, with the bounds of ``known``.

    With more or fewer pods placed nothing is known of the disruption.
    """
    bound = max(own.placed, known.upper_bound)
    place = _open(known.place, reached=own.placed == bound)
    if own.placed != known.placed:
        return replace(own, upper_bound=bound, place=place)
    least = min(own.disruption, known.disruption_lower_bound)
    disrupt = _open(known.disrupt, reached=own.disruption == least)
    return replace(own, upper_bound=bound, disruption_lower_bound=least, place=place, disrupt=disrupt)


def _open(certificate: Certificate, *, reached: bool) -> Certificate:
    """Return ``certificate`` of a bound that may be reached by one plan only."""
    if reached:
        return replace(certificate, status=ProofStatus.PROVED)
    if certificate.status is not ProofStatus.PROVED:
        return certificate
    trivial = certificate.method in (ProofMethod.TRIVIAL, ProofMethod.UNSPECIFIED)
    return replace(certificate, status=ProofStatus.GAP if trivial else ProofStatus.BOUND)
