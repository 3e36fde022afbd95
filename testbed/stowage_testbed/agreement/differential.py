"""Compares both verifiers on random plans for random clusters."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from random import Random

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.contract import optimizer_pb2_grpc as pb_grpc
from stowage_optimizer.verify.case import Index
from stowage_testbed.agreement.answers import answers
from stowage_testbed.agreement.clusters import random_cluster
from stowage_testbed.agreement.comparison import Comparison, compare
from stowage_testbed.agreement.explanations import explain
from stowage_testbed.agreement.mutations import CLAIMS, MUTATIONS, MutationContext
from stowage_testbed.agreement.plan_builder import PlanBuilder
from stowage_testbed.agreement.proposals import propose
from stowage_testbed.agreement.tally import Agreement, Tally
from stowage_testbed.agreement.tier_counts import recount_tiers
from stowage_testbed.optimizer_service.service import running_service
from stowage_testbed.simulate import SchedulerVerifier, Simulator, profile_file

PLANS_A_CLUSTER = 20
PROPOSALS = 6
MUTATIONS_A_PLAN = (1, 1, 1, 2, 3)
CLAIM_SHARE = 0.08
TRIES = 20
PROFILE = "deterministic"


def agreement(seed: int, plans: int) -> Agreement:
    """Compare the scheduler's replay with the optimiser's checker.

    Parameters
    ----------
    seed
        Of every random choice: the same seed gives the same plans.
    plans
        How many plans are compared.

    Raises
    ------
    NoAnswerError, QuestionRefusedError
        One side does not understand the other's account of a cluster.
    """
    with running_verifiers() as verifiers:
        return compare_random_plans(verifiers, seed, plans)


def compare_random_plans(verifiers: Verifiers, seed: int, plans: int) -> Agreement:
    """Return the same with processes that run already."""
    tally = Tally(seed)
    while tally.plans < plans:
        name = f"{seed}-{tally.clusters}"
        tally.clusters += 1
        for comparison, mutated in verifiers.comparisons(name, plans - tally.plans):
            why = () if comparison.agreed else explain(verifiers.scheduler, comparison)
            tally.count(comparison, why, mutated=mutated)
    return tally.result()


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
    config = profile_file(PROFILE)
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
