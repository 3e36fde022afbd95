"""Plans whose limits come with the prices that prove them."""

from dataclasses import dataclass

import numpy as np
from solving_in_process import decoded

from stowage_optimizer.assignments.solution_writer import SolutionWriter
from stowage_optimizer.bounds.aggregate_relaxation import aggregate_bound
from stowage_optimizer.bounds.dual import DualSearch, dual_certificate
from stowage_optimizer.bounds.phase import Phase, Question
from stowage_optimizer.bounds.proofs import trivial_bounds
from stowage_optimizer.constraints.reduction import reduce_snapshot
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.certificate import Certificate, ProofMethod, ProofStatus
from stowage_optimizer.model.codec import write
from stowage_optimizer.model.encode import encode_plan
from stowage_optimizer.model.objective import score
from stowage_optimizer.model.options import Policy
from stowage_optimizer.model.packing import Assignment, Packing
from stowage_optimizer.model.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class ReducedSnapshot:
    """A snapshot as message and as model, the packing that it is reduced to, and what is asked about in its stead."""

    message: pb.Snapshot
    snapshot: Snapshot
    packing: Packing
    relaxed: Packing | None = None

    @property
    def left_alone(self) -> set[str]:
        """Return the classes that every strategy refuses."""
        return {one.subject.removeprefix("class ") for one in self.packing.refusals}

    def plan(self, assignment: Assignment, policy: Policy, *, by_kind: bool = False) -> pb.Plan:
        """Return ``assignment`` as a plan whose limits are dual bounds, all priced.

        Parameters
        ----------
        by_kind
            Whether the limits of placing are those that kinds of nodes prove.
        """
        packing = self.packing
        writer = SolutionWriter(packing, policy)
        plan = encode_plan(writer.write(assignment, trivial_bounds(packing)))
        reached = score(packing, assignment, policy)
        packing = self.relaxed or packing
        problem = packing.problem
        nodes = np.array([-1 if node is None else node for node in assignment])
        by_priority = {tier.priority: tier for tier in plan.tiers}
        for tier, priority in enumerate(packing.tiers):
            for phase in (Phase.PLACE, Phase.DISRUPT):
                question = Question(problem, tier, phase, reached)
                first = aggregate_bound(question, lambda: 0.0, 1.0) if by_kind else None
                bound = DualSearch(question, nodes, lambda: 0.0).run(deadline=1.0)
                bound, scope = (first.bound, first.scope) if first else (bound, None)
                if bound is None:
                    continue
                message = write(
                    pb.Certificate,
                    Certificate(
                        ProofStatus.BOUND, ProofMethod.DUAL_BOUND, dual_certificate(question, packing, bound, scope)
                    ),
                )
                target = by_priority[priority]
                if phase is Phase.PLACE:
                    target.upper_bound = self.staying(priority) + bound.value
                    target.place.CopyFrom(message)
                else:
                    target.disruption_lower_bound = bound.value
                    target.disrupt.CopyFrom(message)
        return plan

    def staying(self, priority: int) -> int:
        """Return what running pods of ``priority`` and above count for that stay in any case."""
        classes, class_id = self.snapshot.classes, self.snapshot.pods.class_id
        staying = [classes[class_id[pod]] for pod in self.packing.staying]
        return sum(max(1, one.worth) for one in staying if one.priority >= priority)


def reduced_snapshot(message: pb.Snapshot) -> ReducedSnapshot:
    """Return a valid snapshot and what it is reduced to."""
    snapshot = decoded(message)
    return ReducedSnapshot(message, snapshot, reduce_snapshot(snapshot))
