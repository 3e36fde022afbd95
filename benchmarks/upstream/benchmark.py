"""The whole benchmark: run upstream's harness, write its file, return its table."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from functools import cache
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.engine import (
    Rounds,
    Say,
    Scope,
    ScopeName,
    build_of,
    failing_figure,
    paired_ratios,
    ratio_figure,
    turned,
)
from benchmarks.upstream.harness import Harness, UpstreamBuild
from benchmarks.upstream.profiles import PROFILES, STOCK, Case, Profile, read_cases
from stowage_testbed.base.errors import InputError
from stowage_testbed.optimizer_service.service import running_service
from stowage_testbed.reproduce.rebuilding import write_figures
from stowage_testbed.text.figure import Figure, figure


@dataclass(frozen=True, slots=True)
class UpstreamScope(Scope):
    """What a run covers, and the longest time of one process.

    ``sizes`` are the cases whose pace is measured, with the parameters that give them
    their size, called ``size`` in the figures; None for all at the size of upstream's
    performance tests. Of cases in ``workloads``, upstream's workloads of these names are
    measured as they are. With ``small`` all cases are run once at their smallest, to see
    that they pass. Cases that need feature gates are run if these are ``switched_on``.
    """

    rounds: int
    size: str
    sizes: Mapping[str, Mapping[str, int]] | None = field(default_factory=dict)
    workloads: Mapping[str, Sequence[str]] = field(default_factory=dict)
    small: bool = False
    limit_s: float = 600.0
    switched_on: tuple[str, ...] = ()

    def check(self, cases: Sequence[Case]) -> None:
        """Raise an `InputError` if upstream has a case no longer."""
        asked = {*(self.sizes or ()), *self.workloads}
        if gone := sorted(asked - {one.name for one in cases}):
            raise InputError(f"upstream has no case {', '.join(gone)}: correct the scope {self.name}")

    def paced(self, case: Case) -> Iterator["Sized"]:
        """Yield what is measured of a case."""
        for name in self.workloads.get(case.name, ()):
            yield Sized(f"{case.name}/{name}", case, case.workload(name), {})
        if self.sizes is None:
            yield Sized(case.name, case, case.largest(), {})
        elif case.name in self.sizes:
            parameters = self.sizes[case.name]
            yield Sized(case.name, case, case.largest() if parameters else case.smallest(), parameters)


@dataclass(frozen=True, slots=True)
class Sized:
    """A case, its workload, and the parameters that give it another size; called ``name`` in the figures."""

    name: str
    case: Case
    workload: Mapping[str, Any]
    parameters: Mapping[str, int]


NODES = 1000
SIZE = f"{NODES:,} nodes"
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

SMOKE = UpstreamScope(ScopeName.SMOKE, 1, "5 nodes", {"SchedulingBasic": {}})
SHORT = UpstreamScope(ScopeName.SHORT, 3, SIZE, HEADLINES)
DEFAULT = UpstreamScope(ScopeName.DEFAULT, 3, SIZE, {**HEADLINES, **FURTHER}, small=True)
FULL = UpstreamScope(ScopeName.FULL, 3, "upstream's size", None, small=True, limit_s=2400.0)
SCOPES = (SMOKE, SHORT, DEFAULT, FULL)


SMALL = "smallest"
"""The size of cases that are only to pass."""

WANTED = {
    ("score-cache", "SchedulingBasic", "1,000 nodes"): 1.3,
    ("score-cache", "PreferredTopologySpreading", "1,000 nodes"): 2.0,
    ("score-cache", "SchedulingBasic", "upstream's size"): 1.5,
    ("score-cache", "PreferredTopologySpreading", "upstream's size"): 2.7,
}
"""Ratios that are asked for, beyond the profile's promise."""


@dataclass(frozen=True, slots=True)
class Pace:
    """What a profile gave in a case in a round: mean pods a second, if it has a pace.

    ``end`` is the end of its output if it did not pass.
    """

    case: str
    size: str
    profile: str
    round_number: int
    pods_s: float | None
    passed: bool
    end: str = ""


def upstream_figures(paces: Sequence[Pace], profiles: Sequence[Profile] = PROFILES) -> Iterator[Figure]:
    """Yield the figures: paces and ratios case by case, then who passes how many."""
    measured = [one for one in paces if one.pods_s is not None and one.size != SMALL]
    for case, size in dict.fromkeys((one.case, one.size) for one in measured):
        here = [one for one in measured if (one.case, one.size) == (case, size)]
        for profile in profiles:
            own = [one.pods_s for one in here if one.profile == profile.name and one.pods_s]
            if own:
                yield figure(f"{case}, {size}: {profile.name}", "pods/s", own, median)
            least = WANTED.get((profile.name, case, size), profile.promise)
            yield from _over_stock(f"{case}, {size}", profile, here, least)
    for size in dict.fromkeys(one.size for one in measured):
        here = [one for one in measured if one.size == size]
        # Three rounds of one case say little.
        if len({one.case for one in here}) > 1:
            for profile in profiles:
                yield from _over_stock(f"all cases, {size}", profile, here, profile.promise)
    for profile in profiles:
        yield from _passing(profile, paces)


def _over_stock(name: str, profile: Profile, here: Sequence[Pace], least: float | None) -> Iterator[Figure]:
    """Yield a profile's pace over stock's, wherever both have one in a round."""
    mine, stock = (
        {(one.case, one.round_number): one.pods_s for one in here if one.profile == of.name and one.pods_s}
        for of in (profile, STOCK)
    )
    ratios = paired_ratios(mine, stock)
    if profile is not STOCK and ratios:
        yield ratio_figure(f"{name}: {profile.name} over stock", ratios, least)


def _passing(profile: Profile, paces: Sequence[Pace]) -> Iterator[Figure]:
    """Yield how many cases fail with the profile that pass with stock."""
    stock = {(one.case, one.size) for one in paces if one.profile == STOCK.name and one.passed}
    mine = [one for one in paces if one.profile == profile.name]
    passed = dict.fromkeys((one.case for one in mine), True)
    for one in mine:
        passed[one.case] &= one.passed or (profile is not STOCK and (one.case, one.size) not in stock)
    words = "fail" if profile is STOCK else "fail, of those that stock passes"
    if mine:
        target = "" if profile is STOCK else "<= 0"
        yield failing_figure(f"{profile.name}: cases that {words}", passed, target=target)


NAME = "upstream"


def run_benchmark(
    scope: UpstreamScope,
    profiles: Sequence[Profile],
    results: Path,
    say: Say,
    *,
    name: str = NAME,
    scopes: Sequence[UpstreamScope] = SCOPES,
    judged: Sequence[Profile] = PROFILES,
) -> str:
    """Measure, write ``<results>/<name>.json`` with the ``judged`` profiles' figures, return the table.

    What was measured is kept below ``<results>/<name>`` with perf-dash's files, so
    that a run which was interrupted goes on where it stopped.
    """
    folder = results / name
    say("building upstream's harness from its module: minutes when nothing is cached")
    harness = Harness(UpstreamBuild(results / NAME / "build"))
    # What was measured with another build, or at other sizes, is not mixed in.
    sizes = hashlib.sha256(repr(scopes).encode()).hexdigest()[:6]
    mark = f"{harness.digest}-{sizes}-{build_of()}"
    cases = list(read_cases(harness.folder))
    scope.check(cases)
    with ExitStack() as open_until_end:

        @cache
        def socket() -> Path:
            return open_until_end.enter_context(running_service()).socket

        rounds = Rounds(folder / mark / "paces.jsonl", Pace)
        session = _Session(scope, harness, folder / mark, rounds, socket, say)
        session.measure([sized for case in cases for sized in scope.paced(case)], profiles)
        if scope.small:
            session.try_all(cases, profiles)
    left_out = [
        {"case": case.name, "profile": profile.name, "reason": reason}
        for case in cases
        for profile in profiles
        if (reason := case.left_out(profile, scope.switched_on))
    ]
    return write_figures(
        results / f"{name}.json",
        list(upstream_figures(rounds.rows(), judged)),
        {"scope": scope.name},
        paces=[asdict(one) for one in rounds.rows()],
        left_out=left_out,
    )


@dataclass(frozen=True, slots=True)
class _Session:
    """Pieces that are run once each: a process of the harness a piece."""

    scope: UpstreamScope
    harness: Harness
    folder: Path
    rounds: Rounds[Pace]
    socket: Callable[[], Path]
    say: Say

    def measure(self, measured: Sequence[Sized], profiles: Sequence[Profile]) -> None:
        """Measure every profile once a round, in another order each round."""
        for number in range(self.scope.rounds):
            for one in measured:
                for profile in turned(profiles, number):
                    self._run(self.scope.size, one.name, [one], profile, number)

    def try_all(self, cases: Sequence[Case], profiles: Sequence[Profile]) -> None:
        """Run all cases at their smallest, those of a topic in one process."""
        for topic, of_topic in groupby(cases, lambda one: one.topic):
            together = [Sized(one.name, one, one.smallest(), {}) for one in of_topic]
            for profile in profiles:
                self._run(SMALL, topic, together, profile, 0)

    def _run(self, size: str, of: str, asked: Sequence[Sized], profile: Profile, number: int) -> None:
        chosen = [one for one in asked if not one.case.left_out(profile, self.scope.switched_on)]
        if chosen:
            task = f"{size}/{of}/{profile.name}/{number}"
            self.rounds.measured(task, lambda: self._paces(task, size, chosen, profile, number))

    def _paces(self, task: str, size: str, chosen: Sequence[Sized], profile: Profile, number: int) -> Iterator[Pace]:
        self.folder.mkdir(parents=True, exist_ok=True)
        configuration = profile.configuration(self.folder, self.socket)
        documents = [one.case.document(one.workload, one.parameters, profile.gates, configuration) for one in chosen]
        kept = self.folder / task.replace("/", "_").replace(" ", "-")
        found = self.harness.run(chosen[0].case.topic, documents, profile, kept, self.scope.limit_s)
        for one in chosen:
            passed = one.case.name in found.passed
            pods_s = found.pods_s(one.case.name) if passed else None
            pace = f"{pods_s:.0f} pods/s" if pods_s is not None else "passes"
            self.say(f"{task}: {one.name}: {pace if passed else 'FAILS'}")
            yield Pace(one.name, size, profile.name, number, pods_s, passed, "" if passed else found.end)
