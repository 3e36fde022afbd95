"""Which fleets are measured, by which strategies, and for how long."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from benchmarks.engine import Scope, ScopeName
from benchmarks.optimizer.fleet import Fleet, Start, make_fleet, placed, read_fleet
from stowage_optimizer.model.options import DEFAULT_STRATEGY

MADE = "made"
"""Instead of a list of the trace's pods: the fleet is made."""

REAL_SIZES = (150, 500, 1523)
"""Nodes of fleets of the trace; the last are all that it has."""

OURS = DEFAULT_STRATEGY
RIVALS = ("cpsat-aggregated", "milp")
"""Strategies that know nothing of ours, whose plans may refute its proofs."""

LIMIT_S = 1.0
"""The chart's default."""

SEED = 1
"""The strategies' own random choices are the same in every run."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One fleet, whose pods are a list of the trace's, or `MADE`."""

    pods: str
    nodes: int
    fill: float
    seed: int
    start: Start = Start.LEAST_ALLOCATED

    @property
    def name(self) -> str:
        """The fleet in a word."""
        return f"{self.pods}-{self.nodes}-{self.fill:.2f}-{self.start}-{self.seed}"

    def make(self, folder: Path | None) -> Fleet:
        """Return the fleet, its pods where the stock scheduler puts them."""
        if self.pods == MADE or folder is None:
            fleet = make_fleet(self.nodes, self.fill, self.seed)
        else:
            fleet = read_fleet(folder, self.pods, self.nodes, self.fill, self.seed)
        return placed(fleet, self.start, self.seed)


class Aim(StrEnum):
    """What a plan is for."""

    PLACE = "place"
    FEWEST = "consolidate"
    CHEAPEST = "consolidate by price"
    """The same where nodes have prices."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One call: a fleet, a strategy and its limit."""

    sample: Sample
    strategy: str
    limit_s: float
    aim: Aim = Aim.PLACE

    @property
    def arm(self) -> str:
        """The strategy and its limit in words."""
        what = self.strategy if self.aim is Aim.PLACE else self.aim
        return f"{what} {self.limit_s:g} s"

    @property
    def task(self) -> str:
        """What tells the call from all others."""
        return f"{self.sample.name}, {self.arm}"


@dataclass(frozen=True, slots=True)
class FleetScope(Scope):
    """What is covered: fleets of the trace by lists of pods and nodes, and made ones.

    The smallest fleets are to be proved. The limits are ``small_s`` for these, ``short_s`` for all others, ``long_s``
    for the largest of the trace, ``made_s`` for made ones. ``starts`` and ``calls`` are those of the service.
    """

    lists: tuple[str, ...]
    small: int
    small_seeds: int
    sizes: tuple[int, ...]
    seeds: int
    made: tuple[int, ...]
    rivals: tuple[str, ...]
    small_s: float
    short_s: float
    long_s: float
    made_s: float
    starts: int
    calls: int

    def asks(self, *, real: bool) -> Iterator[Ask]:
        """Yield all calls, the first fleet of each kind before the second."""
        if real:
            for seed in range(1, self.small_seeds + 1):
                sample = Sample("gpuspec25", self.small, FILLS[seed % len(FILLS)], seed)
                yield from self._compared(sample, self.small_s)
        for seed in range(1, self.seeds + 1):
            if real:
                yield from self._real(seed)
            for nodes in self.made:
                sample = Sample(MADE, nodes, 0.95, seed)
                yield Ask(sample, OURS, LIMIT_S)
                yield Ask(sample, OURS, self.made_s)

    def _real(self, seed: int) -> Iterator[Ask]:
        for number, pods in enumerate(self.lists):
            for size, nodes in enumerate(self.sizes):
                fill = FILLS[(number + size + seed) % len(FILLS)]
                start = list(Start)[(number + seed) % len(Start)]
                sample = Sample(pods, nodes, fill, seed, start)
                yield Ask(sample, OURS, LIMIT_S)
                yield from self._compared(sample, self.short_s)
                if nodes == max(self.sizes) and not number:
                    yield Ask(sample, OURS, self.long_s)
                    yield Ask(sample, OURS, self.long_s, Aim.FEWEST)
                    yield Ask(sample, OURS, self.long_s, Aim.CHEAPEST)

    def _compared(self, sample: Sample, limit_s: float) -> Iterator[Ask]:
        yield Ask(sample, OURS, limit_s)
        for rival in self.rivals:
            yield Ask(sample, rival, limit_s)


FILLS = (0.95, 1.05, 0.90)
LISTS = ("gpuspec25", "default", "gpushare100", "multigpu20", "cpu100")

DEFAULT = FleetScope(
    ScopeName.DEFAULT,
    lists=LISTS, small=60, small_seeds=10, sizes=REAL_SIZES, seeds=3,
    made=(5000, 15_000), rivals=RIVALS, small_s=5.0, short_s=10.0, long_s=60.0,
    made_s=30.0, starts=3, calls=30,
)  # fmt: skip

SMOKE = FleetScope(
    ScopeName.SMOKE,
    lists=LISTS[:1], small=60, small_seeds=1, sizes=(150,), seeds=1, made=(500,),
    rivals=RIVALS[:1], small_s=2.0, short_s=5.0, long_s=10.0, made_s=5.0, starts=1,
    calls=3,
)  # fmt: skip

SCOPES = (SMOKE, DEFAULT)
