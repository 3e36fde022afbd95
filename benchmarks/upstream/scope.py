"""How much of upstream's harness is run, and how large."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from benchmarks.scope import Scope, ScopeName
from benchmarks.upstream.cases import Case


@dataclass(frozen=True, slots=True)
class UpstreamScope(Scope):
    """What a run covers.

    Attributes
    ----------
    rounds
        How often each profile is measured in each case.
    sizes
        Cases whose pace is measured, and the parameters that give them their size;
        None for all cases at the size of upstream's performance tests.
    small
        Whether all cases are run once at their smallest, to see that they pass.
    limit_s
        Longest time of one process.
    """

    rounds: int
    sizes: Mapping[str, Mapping[str, int]] | None = field(default_factory=dict)
    small: bool = False
    limit_s: float = 600.0

    def paced(self, case: Case) -> bool:
        """Return whether the case's pace is measured."""
        return self.sizes is None or case.name in self.sizes

    def size_name(self) -> str:
        """Return the size of the measured cases, as the figures say it."""
        sizes = {"smoke": "5 nodes", "full": "upstream's size"}
        return sizes.get(self.name, f"{NODES:,} nodes")


NODES = 1000
SPREADING = {"initNodes": NODES, "initPods": 200, "measurePods": 2000}
HEADLINES = {
    "SchedulingBasic": {"initNodes": NODES, "initPods": 200, "measurePods": 2000},
    "PreferredTopologySpreading": SPREADING,
    "Unschedulable": {"initNodes": NODES, "initPods": 20, "measurePods": 1500},
}
FURTHER = {
    "TopologySpreading": SPREADING,
    "DefaultTopologySpreading": SPREADING,
    "SchedulingNodeAffinity": SPREADING,
    "SchedulingPreferredPodAffinity": SPREADING,
    "SchedulingWithMixedChurn": {"initNodes": NODES, "measurePods": 2000},
}

SMOKE = UpstreamScope(ScopeName.SMOKE, 1, {"SchedulingBasic": {}})
SHORT = UpstreamScope(ScopeName.SHORT, 3, HEADLINES)
DEFAULT = UpstreamScope(ScopeName.DEFAULT, 3, {**HEADLINES, **FURTHER}, small=True)
FULL = UpstreamScope(ScopeName.FULL, 3, None, small=True, limit_s=2400.0)
SCOPES = (SMOKE, SHORT, DEFAULT, FULL)
