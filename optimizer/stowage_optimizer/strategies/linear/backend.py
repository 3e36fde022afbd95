"""What the loop over the tiers needs of a solver."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from stowage_optimizer.model.options import SolveOptions
from stowage_optimizer.strategies.linear.program import LinearProgram, Terms, Values

LARGEST_SEED = 2**31
"""The solvers take 31 bits of seed."""

SHORTEST_SOLVE_S = 0.001
"""Less than this is no time to solve anything in."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How much a solve may use.

    Parameters
    ----------
    amount
        Seconds; where work is counted, steps of about a second each.
    counted
        Whether work is counted in steps, so that it does not depend on the machine.
    seed
        Of every random choice, from 0 to below `LARGEST_SEED`.
    workers
        Threads, at least 1.
    """

    amount: float
    counted: bool
    seed: int
    workers: int

    @classmethod
    def of(cls, options: SolveOptions, amount: float) -> Effort:
        """Return ``amount`` of effort in the way that ``options`` ask for."""
        return cls(
            amount=max(SHORTEST_SOLVE_S, amount),
            counted=options.deterministic,
            seed=options.seed % LARGEST_SEED,
            workers=options.workers or len(os.sched_getaffinity(0)),
        )


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a solve proved, or believes, and what it used.

    Parameters
    ----------
    bound
        Upper limit on the sum, None if there is none.
    spent
        Seconds, or steps.
    """

    bound: int | None
    spent: float


class Backend(Protocol):
    """Solves integer programs."""

    @property
    def name(self) -> str:
        """How the solver is called."""
        ...

    @property
    def exact(self) -> bool:
        """Whether its bounds are proofs; those of floating-point solvers are not."""
        ...

    @property
    def flaw(self) -> str:
        """Why they are none, as the end of a sentence; empty if they are."""
        ...

    def maximise(
        self,
        program: LinearProgram,
        metric: Terms,
        *,
        start: Values,
        effort: Effort,
        offer: Callable[[Values], None],
    ) -> Outcome:
        """Maximise ``metric`` from ``start`` on, which meets every row.

        Parameters
        ----------
        program
            The variables and rows.
        metric
            The sum to maximise.
        start
            Values to start from.
        effort
            How long to try.
        offer
            Called with each better solution, at the latest with the last.

        Raises
        ------
        SolverContradictionError
            The solver denies that ``start`` is possible.
        """
        ...
