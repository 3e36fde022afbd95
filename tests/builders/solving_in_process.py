"""Solving a snapshot in this very process, without child or socket."""

from __future__ import annotations

import time

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.decode import decode_options, decode_snapshot
from stowage_optimizer.model.decode.issues import Issues
from stowage_optimizer.model.encode import encode_plan
from stowage_optimizer.model.plan import Plan
from stowage_optimizer.strategies.answering import answering
from stowage_optimizer.strategies.registry import shipped_strategies
from stowage_optimizer.strategies.strategy import Answer


def answer_to(
    snapshot: pb.Snapshot,
    *,
    policy: pb.Policy = pb.POLICY_STRICT,
    time_limit_s: float = 20.0,
    seed: int = 1,
    published: list[Plan] | None = None,
    deterministic: bool = False,
    strategy: str = "paper",
) -> Answer:
    """Return the answer of ``strategy``; one thread keeps tests from crowding."""
    issues = Issues()
    strategies = shipped_strategies()
    model = decode_snapshot(snapshot, issues)
    options = decode_options(
        pb.SolveOptions(
            strategy=strategy,
            policy=policy,
            time_limit_s=time_limit_s,
            workers=1,
            seed=seed,
            deterministic=deterministic,
        ),
        issues,
        strategies=strategies,
        default_time_limit_s=1.0,
    )
    issues.raise_if_any()
    seen = [] if published is None else published
    return strategies[strategy].solve(
        model, options, clock=time.monotonic, publish=seen.append
    )


def finished_answer_to(
    snapshot: pb.Snapshot,
    asked: pb.SolveOptions,
    *,
    published: list[Plan] | None = None,
) -> Answer:
    """Return the answer to all of ``asked``, finished as the service does."""
    issues = Issues()
    strategies = shipped_strategies()
    model = decode_snapshot(snapshot, issues)
    options = decode_options(
        asked, issues, strategies=strategies, default_time_limit_s=20, default_workers=1
    )
    issues.raise_if_any()
    seen = [] if published is None else published
    return answering(strategies[options.strategy], options).solve(
        model, options, clock=time.monotonic, publish=seen.append
    )


def plan_for(snapshot: pb.Snapshot, *, policy: pb.Policy = pb.POLICY_STRICT) -> pb.Plan:
    """Return the paper strategy's plan as the contract's message."""
    return encode_plan(answer_to(snapshot, policy=policy).plan)
