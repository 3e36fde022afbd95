"""How to solve: strategy, objective, limits, policy, seed."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from sys import float_info
from typing import Annotated

from stowage_optimizer.model.codec import Check, in_range

Clock = Callable[[], float]
"""Seconds since an arbitrary, fixed moment."""

DEFAULT_ALPHA = 0.4
"""Share of the time reserved for the tiers where the caller names none; the
default of the paper's published plugin."""

DEFAULT_STRATEGY = "lexicographic"

LARGEST_TIME_LIMIT_S = 24 * 3600.0

Count = Annotated[int | None, Check(lambda one: one is None or one >= 0, lambda one: f"is negative ({one})")]


class Objective(Enum):
    """What a plan is for; the value is the contract's number."""

    PLACE = 0
    CONSOLIDATE = 1


class Policy(Enum):
    """Which pods may be displaced for others; the value is the contract's number."""

    STRICT = 0
    PAPER = 1


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a plan may disrupt; None means as much as it likes.

    Parameters
    ----------
    max_disruptions_per_owner
        Moves and evictions together, of the pods of one owner.
    min_gain_per_move
        Pods that each move must gain; 0 means that any gain is worth its moves.
    """

    max_moves: Count = None
    max_evictions: Count = None
    max_disruptions_per_owner: Count = None
    min_gain_per_move: Annotated[float, in_range(0, float_info.max, "0 or more")] = 0.0


@dataclass(frozen=True, slots=True)
class SolveOptions:
    """Options with every default filled in.

    Parameters
    ----------
    time_limit_s
        Wall-clock limit of the solve, from when the snapshot has been read.
    policy
        ``STRICT``: a running pod may be left unplaced only for pods of strictly
        higher priority. ``PAPER``: running pods of equal priority may be traded.
    alpha
        Share of the time limit reserved for the tiers, in (0, 1].
    deterministic
        Count work in steps, not seconds.
    workers
        Threads of the solver; 0 means every core this process may use.
    objective
        ``PLACE``: tier by tier, as many pods as possible. ``CONSOLIDATE``: as few
        nodes as possible, or as cheap ones.
    """

    strategy: str = DEFAULT_STRATEGY
    time_limit_s: Annotated[float, in_range(0, LARGEST_TIME_LIMIT_S, "in (0, 86400]")] = 1.0
    policy: Policy = Policy.STRICT
    alpha: Annotated[float, in_range(0, 1, "in (0, 1]")] = DEFAULT_ALPHA
    seed: int = 0
    deterministic: bool = False
    workers: Annotated[int, in_range(0, 2**31 - 1)] = 0
    objective: Objective = Objective.PLACE
    limits: Limits = Limits()
