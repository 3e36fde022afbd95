"""Decoding solve options, with the service's defaults filled in."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Literal

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.decode.faults import Faults
from stowage_optimizer.model.options import (
    DEFAULT_ALPHA,
    DEFAULT_STRATEGY,
    Limits,
    Objective,
    Policy,
    SolveOptions,
)

LARGEST_TIME_LIMIT_S = 24 * 3600.0


def decode_options(
    message: pb.SolveOptions,
    faults: Faults,
    *,
    strategies: Collection[str],
    default_time_limit_s: float,
    default_workers: int = 0,
) -> SolveOptions:
    """Return the options of ``message``; out of range values go to ``faults``."""
    strategy = message.strategy or DEFAULT_STRATEGY
    if strategy not in strategies:
        known = ", ".join(sorted(strategies))
        faults.add("options.strategy", f"is {strategy!r}, not one of {known}")
    limit_s = message.time_limit_s or default_time_limit_s
    if not (math.isfinite(limit_s) and 0 < limit_s <= LARGEST_TIME_LIMIT_S):
        faults.add("options.time_limit_s", f"is {limit_s}, not in (0, 86400]")
    alpha = message.alpha or DEFAULT_ALPHA
    if not 0 < alpha <= 1:
        faults.add("options.alpha", f"is {alpha}, not in (0, 1]")
    if message.workers < 0:
        faults.add("options.workers", f"is negative ({message.workers})")
    return SolveOptions(
        strategy=strategy,
        time_limit_s=limit_s,
        policy=_policy(message.policy, faults),
        alpha=alpha,
        seed=message.seed,
        deterministic=message.deterministic,
        workers=message.workers or default_workers,
        objective=_objective(message.objective, faults),
        limits=_limits(message, faults),
    )


def _objective(value: int, faults: Faults) -> Objective:
    try:
        return Objective(value)
    except ValueError:
        faults.add(
            "options.objective",
            f"is {value}, not OBJECTIVE_PLACE or OBJECTIVE_CONSOLIDATE",
        )
        return Objective.PLACE


def _limits(message: pb.SolveOptions, faults: Faults) -> Limits:
    gain = message.min_gain_per_move
    if not (math.isfinite(gain) and gain >= 0):
        faults.add("options.min_gain_per_move", f"is {gain}, not 0 or more")
    return Limits(
        max_moves=_count(message, "max_moves", faults),
        max_evictions=_count(message, "max_evictions", faults),
        max_disruptions_per_owner=_count(message, "max_disruptions_per_owner", faults),
        min_gain_per_move=gain,
    )


_Count = Literal["max_moves", "max_evictions", "max_disruptions_per_owner"]


def _count(message: pb.SolveOptions, name: _Count, faults: Faults) -> int | None:
    if not message.HasField(name):
        return None
    count: int = getattr(message, name)
    if count < 0:
        faults.add(f"options.{name}", f"is negative ({count})")
    return count


def _policy(value: int, faults: Faults) -> Policy:
    try:
        return Policy(value)
    except ValueError:
        faults.add("options.policy", f"is {value}, not POLICY_STRICT or POLICY_PAPER")
        return Policy.STRICT
