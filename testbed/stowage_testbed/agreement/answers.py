"""Plans that the optimiser itself makes."""

from __future__ import annotations

from random import Random

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.contract import optimizer_pb2_grpc as pb_grpc
from stowage_testbed.agreement.errors import NoAnswerError
from stowage_testbed.simulate import Question

STRATEGIES = ("lexicographic", "cpsat-aggregated", "first-fit-decreasing")
ANSWERS = 2
TIME_LIMIT_S = 20.0
"""Far more than is needed: the clock must not stop a solve that counts steps."""

FAILURES = (pb.END_REASON_ERROR, pb.END_REASON_INFEASIBLE_INPUT)


def answers(
    rng: Random,
    optimizer: pb_grpc.OptimizerStub,
    question: Question,
    snapshot: pb.Snapshot,
) -> list[pb.Plan]:
    """Return the plans of some strategies.

    Raises
    ------
    NoAnswerError
        The optimiser takes the snapshot for faulty, or failed.
    """
    return [
        _answer(rng, optimizer, strategy, question, snapshot)
        for strategy in rng.sample(STRATEGIES, ANSWERS)
    ]


def _answer(
    rng: Random,
    optimizer: pb_grpc.OptimizerStub,
    strategy: str,
    question: Question,
    snapshot: pb.Snapshot,
) -> pb.Plan:
    options = pb.SolveOptions(
        strategy=strategy,
        policy=question.policy,
        time_limit_s=TIME_LIMIT_S,
        seed=rng.randrange(2**31),
        workers=1,
        deterministic=True,
    )
    # What came before the last one depends on the time that checking took.
    *_, last = optimizer.Solve(pb.SolveRequest(snapshot=snapshot, options=options))
    if last.end_reason in FAILURES:
        raise NoAnswerError(snapshot.id, strategy, last.message)
    plan: pb.Plan = last.plan
    return plan
