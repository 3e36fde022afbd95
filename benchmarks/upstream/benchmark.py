"""The whole benchmark: run upstream's harness, write its file, return its table."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

from benchmarks.command import Say, Scope, ScopeName, write_figures
from benchmarks.score_cache.benchmark import turned
from benchmarks.upstream.building import UpstreamBuild
from benchmarks.upstream.figures import SMALL, Pace, upstream_figures
from benchmarks.upstream.harness import Harness
from benchmarks.upstream.profiles import Case, Profile, read_cases
from stowage_testbed.base.journal import TaskJournal
from stowage_testbed.optimizer_service.service import running_service
from stowage_testbed.toolchain.environment import fingerprint


@dataclass(frozen=True, slots=True)
class UpstreamScope(Scope):
    """What a run covers, and the longest time of one process.

    ``sizes`` are the cases whose pace is measured, with the parameters that give them
    their size; None for all at the size of upstream's performance tests. With ``small``
    all cases are run once at their smallest, to see that they pass.
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


NAME = "upstream"


def run_benchmark(scope: UpstreamScope, profiles: Sequence[Profile], results: Path, say: Say) -> str:
    """Measure, write ``<results>/upstream.json``, return the table.

    What was measured is kept below ``<results>/upstream`` with perf-dash's files, so
    that a run which was interrupted goes on where it stopped.
    """
    folder = results / NAME
    say("building upstream's harness from its module: minutes when nothing is cached")
    harness = Harness(UpstreamBuild(folder / "build"))
    # What was measured with another build, or at other sizes, is not mixed in.
    sizes = hashlib.sha256(repr(SCOPES).encode()).hexdigest()[:6]
    mark = f"{harness.digest}-{sizes}-{fingerprint()}"
    cases = list(read_cases(harness.folder))
    with ExitStack() as open_until_end:

        @cache
        def socket() -> Path:
            return open_until_end.enter_context(running_service()).socket

        session = _Session(scope, harness, folder / mark, socket, say)
        session.measure([one for one in cases if scope.paced(one)], profiles)
        if scope.small:
            session.try_all(cases, profiles)
        paces = list(session.paces())
    left_out = [
        {"case": case.name, "profile": profile.name, "reason": reason}
        for case in cases
        for profile in profiles
        if (reason := case.left_out(profile))
    ]
    return write_figures(
        results / f"{NAME}.json",
        list(upstream_figures(paces)),
        {"scope": scope.name},
        paces=[asdict(one) for one in paces],
        left_out=left_out,
    )


@dataclass(slots=True)
class _Session:
    """Pieces that are run once each: a process of the harness a piece."""

    _scope: UpstreamScope
    _harness: Harness
    _folder: Path
    _socket: Callable[[], Path]
    _say: Say
    _journal: TaskJournal[Pace] = field(init=False)

    def __post_init__(self) -> None:
        self._journal = TaskJournal(self._folder / "paces.jsonl", Pace)

    def measure(self, cases: Sequence[Case], profiles: Sequence[Profile]) -> None:
        """Measure every profile once a round, in another order each round."""
        for number in range(self._scope.rounds):
            for case in cases:
                for profile in turned(profiles, number):
                    if not case.left_out(profile):
                        self._pace(case, profile, number)

    def _pace(self, case: Case, profile: Profile, number: int) -> None:
        size = self._scope.size_name()
        task = _task(size, case.name, profile, number)
        if task in self._journal:
            return
        sizes = self._scope.sizes
        parameters = {} if sizes is None else sizes[case.name]
        workload = case.smallest() if parameters == {} and sizes else case.largest()
        self._run(task, size, [(case, self._document(case, workload, parameters, profile))], profile, number)

    def try_all(self, cases: Sequence[Case], profiles: Sequence[Profile]) -> None:
        """Run all cases at their smallest, those of a topic in one process."""
        for topic, of_topic in groupby(cases, lambda one: one.topic):
            together = list(of_topic)
            for profile in profiles:
                task = _task(SMALL, topic, profile, 0)
                chosen = [
                    (one, self._document(one, one.smallest(), {}, profile))
                    for one in together
                    if not one.left_out(profile)
                ]
                if chosen and task not in self._journal:
                    self._run(task, SMALL, chosen, profile, 0)

    def _document(
        self, case: Case, workload: Mapping[str, Any], size: Mapping[str, int], profile: Profile
    ) -> Mapping[str, Any]:
        self._folder.mkdir(parents=True, exist_ok=True)
        configuration = profile.configuration(self._folder, self._socket)
        return case.document(workload, size, profile.gates, configuration)

    def _run(
        self, task: str, size: str, chosen: Sequence[tuple[Case, Mapping[str, Any]]], profile: Profile, number: int
    ) -> None:
        (topic,) = {case.topic for case, _ in chosen}
        found = self._harness.run(
            topic,
            [document for _, document in chosen],
            profile,
            self._folder / task.replace("/", "_").replace(" ", "-"),
            self._scope.limit_s,
        )
        rows = []
        for case, _ in chosen:
            passed = case.name in found.passed
            pods_s = found.pods_s(case.name) if passed else None
            rows.append(
                Pace(
                    case.name, size, profile.name, number, pods_s, passed,
                    "" if passed else found.end,
                )
            )  # fmt: skip
            pace = f"{pods_s:.0f} pods/s" if pods_s is not None else "passes"
            self._say(f"{task}: {case.name}: {pace if passed else 'FAILS'}")
        self._journal.add(task, tuple(rows))

    def paces(self) -> Iterator[Pace]:
        """Yield everything that was measured with this build, of every scope."""
        for task in self._journal:
            yield from self._journal.get(task)


def _task(size: str, of: str, profile: Profile, number: int) -> str:
    return f"{size}/{of}/{profile.name}/{number}"
