"""What may go wrong inside a strategy."""

from __future__ import annotations

from optimizer.errors import OptimizerError


class SolverContradictionError(OptimizerError):
    """The solver denies what is known to be possible."""

    def __init__(self, phase: str, status: str) -> None:
        self.phase = phase
        self.status = status
        super().__init__(
            f"the solver says {status} in {phase}, although the placement it was "
            "given as a hint meets every constraint; report this snapshot as a bug"
        )
