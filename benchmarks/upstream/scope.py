"""How much of upstream's harness is run, and how large."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from benchmarks.upstream.cases import Case


class ScopeName(StrEnum):
    """How much is measured."""

    SMOKE = "smoke"
    SHORT = "short"
    DEFAULT = "default"
    FULL = "full"


@dataclass(frozen=True, slots=True)
class Scope:
    """What a run covers.

    Attributes
    ----------
    name
        Stands in the results.
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

    name: ScopeName
    rounds: int
    sizes: Mapping[str, Mapping[str, int]] | None = field(default_factory=dict)
    small: bool = False
    limit_s: float = 600.0

    def paced(self, case: Case) -> bool:
        """Return whether the case's pace is measured."""
        return self.sizes is None or case.name in self.sizes

    def size_name(self) -> str:
        """Return the size of the measured cases, as the figures say it."""
        return {ScopeName.SMOKE: "5 nodes", ScopeName.FULL: "upstream's size"}.get(
            self.name, f"{NODES:,} nodes"
        )


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

SMOKE = Scope(ScopeName.SMOKE, 1, {"SchedulingBasic": {}})
SHORT = Scope(ScopeName.SHORT, 3, HEADLINES)
DEFAULT = Scope(ScopeName.DEFAULT, 3, {**HEADLINES, **FURTHER}, small=True)
FULL = Scope(ScopeName.FULL, 3, None, small=True, limit_s=2400.0)
SCOPES = {one.name: one for one in (SMOKE, SHORT, DEFAULT, FULL)}
