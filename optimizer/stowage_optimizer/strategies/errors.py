"""What may go wrong inside a strategy."""

from __future__ import annotations

from stowage_optimizer.errors import OptimizerError


class SolverContradictionError(OptimizerError):
    """The solver denies what is known to be possible."""

    def __init__(self, phase: str, status: str) -> None:
        self.phase = phase
        self.status = status
        super().__init__(
            f"the solver says {status} in {phase}, although the placement it was "
            "given as a hint meets every constraint; report this snapshot as a bug"
        )


class StrategyNameTakenError(OptimizerError):
    """Another package provides a strategy under a name that is taken."""

    def __init__(self, name: str, path: str) -> None:
        self.name = name
        self.path = path
        super().__init__(
            f"the strategy {name!r} of {path} has a name that is taken; "
            "rename or uninstall it"
        )


class StrategyUnloadableError(OptimizerError):
    """Another package announces a strategy that cannot be made."""

    def __init__(self, name: str, why: str) -> None:
        self.name = name
        self.why = why
        super().__init__(
            f"the strategy {name!r} of another package cannot be made: {why}; "
            "repair or uninstall that package"
        )
