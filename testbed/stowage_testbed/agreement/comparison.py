"""Random plans for random clusters before both judges."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from random import Random

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.contract import optimizer_pb2_grpc as pb_grpc
from stowage_optimizer.verify.case import Index
from stowage_testbed.agreement.accounts import give_true_account
from stowage_testbed.agreement.answers import answers
from stowage_testbed.agreement.board import Board
from stowage_testbed.agreement.clusters import random_cluster
from stowage_testbed.agreement.explanations import explain
from stowage_testbed.agreement.hearing import Hearing, hear
from stowage_testbed.agreement.mutations import CLAIMS, MUTATIONS, Scene
from stowage_testbed.agreement.proposals import propose
from stowage_testbed.agreement.tally import Agreement, Tally
from stowage_testbed.bench.service import running_service
from stowage_testbed.simulate import Judge, Simulator, profile_file

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
        Of every random choice: the same seed brings the same plans.
    plans
        How many plans are judged.

    Raises
    ------
    NoAnswerError, QuestionRefusedError
        One side does not understand what the other tells of a cluster.
    """
    with running_judges() as judges:
        return compare(judges, seed, plans)


def compare(judges: Judges, seed: int, plans: int) -> Agreement:
    """Return the same with processes that run already."""
    tally = Tally(seed)
    while tally.plans < plans:
        name = f"{seed}-{tally.clusters}"
        tally.clusters += 1
        for hearing, mutated in judges.hearings(name, plans - tally.plans):
            why = () if hearing.agreed else explain(judges.judge, hearing)
            tally.count(hearing, why, mutated=mutated)
    return tally.result()


@dataclass(frozen=True, slots=True)
class Judges:
    """The processes that take part.

    Attributes
    ----------
    simulator
        Fills clusters.
    judge
        The scheduler's side.
    optimizer
        Makes plans.
    """

    simulator: Simulator
    judge: Judge
    optimizer: pb_grpc.OptimizerStub

    def hearings(self, name: str, most: int) -> Iterator[tuple[Hearing, bool]]:
        """Yield hearings about the cluster ``name``, and whether a plan was spoiled."""
        draw = Random(name)  # noqa: S311 - not a secret
        question = random_cluster(name, draw, self.simulator)
        snapshot = self.judge.judge(question).snapshot
        index = Index(snapshot)
        good = answers(draw, self.optimizer, question, snapshot)
        good += _proposals(draw, snapshot, index)
        spoiled = [
            _spoiled(draw, draw.choice(good), snapshot, index)
            for _ in range(PLANS_A_CLUSTER - len(good))
        ]
        plans = tuple([*good, *spoiled][:most])
        heard = hear(self.judge, replace(question, plans=plans))
        for number, hearing in enumerate(heard):
            yield hearing, number >= len(good)


@contextmanager
def running_judges() -> Iterator[Judges]:
    """Start the processes and stop them afterwards."""
    config = profile_file(PROFILE)
    with (
        Simulator(config) as simulator,
        Judge(config) as judge,
        running_service() as service,
    ):
        yield Judges(simulator, judge, service.stub)


def _proposals(draw: Random, snapshot: pb.Snapshot, index: Index) -> list[pb.Plan]:
    plans = [propose(draw, Board(snapshot, index)) for _ in range(PROPOSALS)]
    for plan in plans:
        give_true_account(plan, snapshot, index)
    return plans


def _spoiled(
    draw: Random, good: pb.Plan, snapshot: pb.Snapshot, index: Index
) -> pb.Plan:
    plan = pb.Plan()
    plan.CopyFrom(good)
    scene = Scene(draw, index, snapshot, plan)
    if draw.random() < CLAIM_SHARE:
        draw.choice(CLAIMS)(scene)
        return plan
    left = draw.choice(MUTATIONS_A_PLAN)
    for _ in range(TRIES):
        left -= draw.choice(MUTATIONS)(scene)
        if not left:
            break
    give_true_account(plan, snapshot, index)
    return plan
