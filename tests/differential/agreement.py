"""Compares both verifiers on random plans for random clusters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from random import Random

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.contract import optimizer_pb2_grpc as pb_grpc
from stowage_optimizer.verify.index import Index
from stowage_testbed.optimizer_service.service import running_service
from stowage_testbed.simulate import SchedulerVerifier, Simulator, find_profile
from tests.differential.clusters import random_cluster
from tests.differential.comparison import Comparison, compare
from tests.differential.explanations import Explanation, explain
from tests.differential.mutations import CLAIMS, MUTATIONS, MutationContext
from tests.differential.plans import PlanBuilder, answers, propose, recount_tiers

MOST_EXAMPLES = 20


@dataclass(slots=True)
class Agreement:
    """How often both verifiers agreed, and why not where they did not.

    Attributes
    ----------
    seed, clusters, plans
        What was compared.
    mutated
        Plans that were changed; the others are the optimiser's or the generator's.
    accepted, refused
        Plans about which both agreed.
    explained
        Plans about which they differed, by the explanation; two are joined by ``+``.
    unexplained
        How many are left.
    examples
        The first of these, each with all that is needed to compare it again.
    confusion
        Plans that both refused, by the scheduler's reason (or the plugin that refused)
        and the first rule that the checker found broken.
    """

    seed: int
    clusters: int = 0
    plans: int = 0
    mutated: int = 0
    accepted: int = 0
    refused: int = 0
    explained: Counter[str] = field(default_factory=Counter)
    unexplained: int = 0
    examples: list[Comparison] = field(default_factory=list)
    confusion: Counter[tuple[str, str]] = field(default_factory=Counter)

    def count(
        self, comparison: Comparison, why: tuple[Explanation, ...], *, mutated: bool
    ) -> None:
        """Count one comparison, with what explains it if both did not agree."""
        self.plans += 1
        self.mutated += mutated
        if why:
            self.explained["+".join(why)] += 1
        elif not comparison.agreed:
            self.unexplained += 1
            if len(self.examples) < MOST_EXAMPLES:
                self.examples.append(comparison)
        elif comparison.scheduler.accepted:
            self.accepted += 1
        else:
            self.refused += 1
            scheduler = comparison.scheduler
            reason = next(iter(scheduler.plugins), "") or scheduler.reason
            self.confusion[reason, comparison.violations[0].rule] += 1

    def figures(self) -> dict[str, object]:
        """Return all counts as JSON has them."""
        return {
            "seed": self.seed,
            "clusters": self.clusters,
            "plans": self.plans,
            "valid": self.plans - self.mutated,
            "mutated": self.mutated,
            "accepted_by_both": self.accepted,
            "refused_by_both": self.refused,
            "explained": dict(self.explained.most_common()),
            "unexplained": self.unexplained,
            "confusion": [
                {"scheduler": reason, "checker": rule, "plans": count}
                for (reason, rule), count in self.confusion.most_common()
            ],
        }


PLANS_A_CLUSTER = 20
PROPOSALS = 6
MUTATIONS_A_PLAN = (1, 1, 1, 2, 3)
CLAIM_SHARE = 0.08
TRIES = 20
PROFILE = "deterministic"


def compare_random_plans(verifiers: Verifiers, seed: int, plans: int) -> Agreement:
    """Compare the scheduler's replay with the optimiser's checker.

    Parameters
    ----------
    verifiers
        The processes, which run.
    seed
        Of every random choice: the same seed gives the same plans.
    plans
        How many plans are compared.

    Raises
    ------
    StowageError
        One side does not understand the other's account of a cluster.
    """
    found = Agreement(seed)
    while found.plans < plans:
        name = f"{seed}-{found.clusters}"
        found.clusters += 1
        for comparison, mutated in verifiers.comparisons(name, plans - found.plans):
            why = () if comparison.agreed else explain(verifiers.scheduler, comparison)
            found.count(comparison, why, mutated=mutated)
    return found


@dataclass(frozen=True, slots=True)
class Verifiers:
    """The processes that take part.

    Attributes
    ----------
    simulator
        Fills clusters.
    scheduler
        The scheduler's side.
    optimizer
        Makes plans.
    """

    simulator: Simulator
    scheduler: SchedulerVerifier
    optimizer: pb_grpc.OptimizerStub

    def comparisons(self, name: str, most: int) -> Iterator[tuple[Comparison, bool]]:
        """Yield comparisons for the cluster ``name``, and if the plan is mutated."""
        rng = Random(name)  # noqa: S311 - not a secret
        question = random_cluster(name, rng, self.simulator)
        snapshot = self.scheduler.verify(question).snapshot
        index = Index(snapshot)
        good = answers(rng, self.optimizer, question, snapshot)
        good += _proposals(rng, snapshot, index)
        mutated = [
            _mutated(rng, rng.choice(good), snapshot, index)
            for _ in range(PLANS_A_CLUSTER - len(good))
        ]
        plans = tuple([*good, *mutated][:most])
        compared = compare(self.scheduler, replace(question, plans=plans))
        for number, comparison in enumerate(compared):
            yield comparison, number >= len(good)


@contextmanager
def running_verifiers() -> Iterator[Verifiers]:
    """Start the processes and stop them afterwards."""
    config = find_profile(PROFILE)
    with (
        Simulator(config) as simulator,
        SchedulerVerifier(config) as verifier,
        running_service() as service,
    ):
        yield Verifiers(simulator, verifier, service.stub)


def _proposals(rng: Random, snapshot: pb.Snapshot, index: Index) -> list[pb.Plan]:
    plans = [propose(rng, PlanBuilder(snapshot, index)) for _ in range(PROPOSALS)]
    for plan in plans:
        recount_tiers(plan, snapshot, index)
    return plans


def _mutated(
    rng: Random, good: pb.Plan, snapshot: pb.Snapshot, index: Index
) -> pb.Plan:
    plan = pb.Plan()
    plan.CopyFrom(good)
    context = MutationContext(rng, index, snapshot, plan)
    if rng.random() < CLAIM_SHARE:
        rng.choice(CLAIMS)(context)
        return plan
    left = rng.choice(MUTATIONS_A_PLAN)
    for _ in range(TRIES):
        left -= rng.choice(MUTATIONS)(context)
        if not left:
            break
    recount_tiers(plan, snapshot, index)
    return plan
