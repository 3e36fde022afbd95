"""An arm of the comparison: a strategy and the time that it is given."""

from __future__ import annotations

from dataclasses import dataclass

from stowage_optimizer.cli.solve_options import POLICIES
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.instances.case import Case

SEED = 1
"""The strategies' own random choices are the same in every run."""


@dataclass(frozen=True, slots=True)
class Arm:
    """One strategy with one limit."""

    role: str
    strategy: str
    time_limit_s: float

    @property
    def name(self) -> str:
        """Return the arm as text, as in ``ours lexicographic 1 s``."""
        return f"{self.role} {self.strategy} {self.time_limit_s:g} s"

    def options(self, case: Case) -> pb.SolveOptions:
        """Return what the service is asked for."""
        return pb.SolveOptions(
            strategy=self.strategy,
            time_limit_s=self.time_limit_s,
            policy=POLICIES[case.policy],
            seed=SEED,
        )
