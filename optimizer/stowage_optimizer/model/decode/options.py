"""Decoding solve options, with the service's defaults filled in."""

import math
from collections.abc import Collection
from enum import Enum
from typing import Literal, TypeVar

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.decode.issues import Issues
from stowage_optimizer.model.options import DEFAULT_ALPHA, DEFAULT_STRATEGY, Limits, Objective, Policy, SolveOptions

E = TypeVar("E", bound=Enum)

LARGEST_TIME_LIMIT_S = 24 * 3600.0


def decode_options(
    message: pb.SolveOptions,
    issues: Issues,
    *,
    strategies: Collection[str],
    default_time_limit_s: float,
    default_workers: int = 0,
) -> SolveOptions:
    """Return the options of ``message``; out of range values go to ``issues``."""
    strategy = message.strategy or DEFAULT_STRATEGY
    if strategy not in strategies:
        known = ", ".join(sorted(strategies))
        way_out = "`pip install 'stowage[strategies]'` adds those of the papers"
        issues.add("options.strategy", f"is {strategy!r}, not one of {known}; {way_out}")
    limit_s = message.time_limit_s or default_time_limit_s
    if not (math.isfinite(limit_s) and 0 < limit_s <= LARGEST_TIME_LIMIT_S):
        issues.add("options.time_limit_s", f"is {limit_s}, not in (0, 86400]")
    alpha = message.alpha or DEFAULT_ALPHA
    if not 0 < alpha <= 1:
        issues.add("options.alpha", f"is {alpha}, not in (0, 1]")
    if message.workers < 0:
        issues.add("options.workers", f"is negative ({message.workers})")
    return SolveOptions(
        strategy=strategy,
        time_limit_s=limit_s,
        policy=_known("policy", Policy.STRICT, message.policy, issues),
        alpha=alpha,
        seed=message.seed,
        deterministic=message.deterministic,
        workers=message.workers or default_workers,
        objective=_known("objective", Objective.PLACE, message.objective, issues),
        limits=_limits(message, issues),
    )


def _known(name: str, default: E, value: int, issues: Issues) -> E:
    kind = type(default)
    try:
        return kind(value)
    except ValueError:
        names = " or ".join(f"{name.upper()}_{member.name}" for member in kind)
        issues.add(f"options.{name}", f"is {value}, not {names}")
        return default


def _limits(message: pb.SolveOptions, issues: Issues) -> Limits:
    gain = message.min_gain_per_move
    if not (math.isfinite(gain) and gain >= 0):
        issues.add("options.min_gain_per_move", f"is {gain}, not 0 or more")
    return Limits(
        max_moves=_count(message, "max_moves", issues),
        max_evictions=_count(message, "max_evictions", issues),
        max_disruptions_per_owner=_count(message, "max_disruptions_per_owner", issues),
        min_gain_per_move=gain,
    )


_Count = Literal["max_moves", "max_evictions", "max_disruptions_per_owner"]


def _count(message: pb.SolveOptions, name: _Count, issues: Issues) -> int | None:
    if not message.HasField(name):
        return None
    count: int = getattr(message, name)
    if count < 0:
        issues.add(f"options.{name}", f"is negative ({count})")
    return count
