"""How much is measured: everything, the default part, or a minute's worth."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.score_cache.workload import Case, Workload


@dataclass(frozen=True, slots=True)
class Scope:
    """What a run of the benchmark covers.

    Attributes
    ----------
    name
        Stands in the results.
    sizes
        Nodes, and the pods that arrive there.
    workloads
        Which pods.
    rounds
        How often each arm runs each case.
    """

    name: str
    sizes: tuple[tuple[int, int], ...]
    workloads: tuple[Workload, ...]
    rounds: int

    def cases(self) -> Iterator[Case]:
        """Yield the cases, the smallest first."""
        for nodes, pods in self.sizes:
            for workload in self.workloads:
                yield Case(workload, nodes, pods)


EVERYTHING = tuple(Workload)

SMOKE = Scope("smoke", ((100, 400),), EVERYTHING, 1)
DEFAULT = Scope("default", ((100, 2000), (1000, 5000), (5000, 10000)), EVERYTHING, 3)
FULL = Scope("full", ((100, 5000), (1000, 10000), (5000, 20000)), EVERYTHING, 7)

SCOPES = {one.name: one for one in (SMOKE, DEFAULT, FULL)}
"""By the name that the command line gives them."""
