"""A solver that is given rows which the problem does not have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from stowage_optimizer.strategies.errors import SolverContradictionError
from stowage_optimizer.strategies.linear.backend import Backend, Effort, Outcome
from stowage_optimizer.strategies.linear.program import LinearProgram, Terms, Values


@dataclass(frozen=True, slots=True)
class Doubted:
    """Another solver, whose limits and refusals do not count as proofs.

    Parameters
    ----------
    inner
        Solves.
    flaw
        What is wrong with the program, as the end of a sentence.
    """

    inner: Backend
    flaw: str
    exact: bool = False

    @property
    def name(self) -> str:
        """Return how the solver is called."""
        return self.inner.name

    def maximise(
        self,
        program: LinearProgram,
        metric: Terms,
        *,
        start: Values,
        effort: Effort,
        offer: Callable[[Values], None],
    ) -> Outcome:
        """Maximise ``metric``; see `Backend.maximise`. ``start`` may break rows."""
        try:
            return self.inner.maximise(
                program, metric, start=start, effort=effort, offer=offer
            )
        except SolverContradictionError:
            return Outcome(None, 0.0)
