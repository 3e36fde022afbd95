"""Upstream's end-to-end tests of scheduling, on fake nodes, with every profile."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.command import Say, write_figures
from benchmarks.upstream.building import UpstreamBuild
from benchmarks.upstream.figures import failing_figure
from benchmarks.upstream.profiles import STOCK, Profile
from benchmarks.upstream.serving import serving_cluster
from benchmarks.upstream.specs import Spec, SpecResult, Suite
from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.journal import TaskJournal
from stowage_testbed.text.figure import Figure
from stowage_testbed.toolchain import choose_minor, tool_build
from stowage_testbed.toolchain.environment import fingerprint

NAME = "upstream-e2e"
MOST_LETTERS = 120
"""Of a folder's name."""

NEEDS_A_KUBELET: Mapping[str, str] = {
    "verify pod overhead is accounted for": (
        "it adds to a node's capacity, which only a kubelet makes allocatable"
    ),
    "preempt expectedly with the async preemption": (
        "its pods stay for the 79 s of a preStop hook, which only a kubelet runs"
    ),
}
"""By words of their names, the tests that fake nodes cannot serve, and why."""

NEEDS_PREEMPTION = (
    "SchedulerPreemption PodTopologySpread",
    "SchedulerPreemption PreemptionExecutionPath",
    "SchedulerPreemption validates",
    "WorkloadAwarePreemption",
)
"""Words of the tests in which a pod waits for ever unless it preempts others."""


def run_specs(profiles: Sequence[Profile], only: str, results: Path, say: Say) -> str:
    """Run the tests, write ``<results>/upstream-e2e.json``, return the table.

    Each profile, and the stock scheduler beside them, has a cluster of its own, and a
    further one for the tests that ask for feature gates. What was run is kept.
    """
    # The tests run in folders of their own, from which a relative one is elsewhere.
    folder = (results / NAME).resolve()
    say("building upstream's tests from their module: minutes when nothing is cached")
    specs = Suite(UpstreamBuild(folder / "build"))
    known = specs.specs()
    excused = {one.name: left_out(known, one) for one in profiles}
    of = choose_minor()
    builds = f"{tool_build('stowage-scheduler', of)}-{tool_build('kube-scheduler', of)}"
    journal = TaskJournal(
        folder / f"results-{builds}-{fingerprint()}.jsonl", SpecResult
    )
    session = _Session(specs, folder, journal, say)
    asked = [one for one in known if only in one.name]
    for profile in profiles:
        chosen = [one for one in asked if one.name not in excused[profile.name]]
        for gated in (False, True):
            session.run(profile, [one for one in chosen if bool(one.gates) == gated])
    found = [one for task in journal for one in journal.get(task)]
    return write_figures(
        results / f"{NAME}.json",
        [spec_figure(profile, found) for profile in profiles],
        specs=[asdict(one) for one in found],
        left_out=[
            {"profile": profile.name, "spec": spec, "reason": reason}
            for profile in profiles
            for spec, reason in {
                **excused[profile.name],
                **_skipped(found, profile),
            }.items()
        ],
    )


def left_out(specs: Iterable[Spec], profile: Profile) -> Mapping[str, str]:
    """Return the tests that a profile is not asked on fake nodes, with the reason."""
    reasons = dict(NEEDS_A_KUBELET)
    if not profile.preempts:
        reasons |= dict.fromkeys(NEEDS_PREEMPTION, "the profile preempts nobody")
    names = [one.name for one in specs]
    found: dict[str, str] = {}
    for words, reason in reasons.items():
        of_words = [name for name in names if words in name]
        if not of_words:
            raise StowageError(
                f"upstream has no test with the words {words!r}, which is left out: "
                f"correct {Path(__file__).name}"
            )
        found |= dict.fromkeys(of_words, reason)
    return found


def _skipped(found: Iterable[SpecResult], profile: Profile) -> Mapping[str, str]:
    return {
        one.spec: f"upstream skips it: {one.message}"
        for one in found
        if one.result == "skipped" and one.profile == profile.name
    }


@dataclass(frozen=True, slots=True)
class _Session:
    """Tests that are run once each, one after the other."""

    suite: Suite
    folder: Path
    journal: TaskJournal[SpecResult]
    say: Say

    def run(self, profile: Profile, chosen: Sequence[Spec]) -> None:
        """Run those tests on one cluster that were not run with the profile."""
        due = [one for one in chosen if _task(one, profile) not in self.journal]
        if not due:
            return
        gates = frozenset[str]().union(*(one.gates for one in due))
        with serving_cluster(profile, gates) as cluster:
            for spec in due:
                words = re.sub(r"\W+", "-", spec.name)[:MOST_LETTERS].strip("-")
                kept = self.folder / profile.name / words
                ended = self.suite.run(spec, profile.name, cluster, kept)
                self.journal.add(_task(spec, profile), (ended,))
                seconds = f"{ended.seconds:.0f} s"
                self.say(f"{profile.name}: {ended.result}, {seconds}: {spec.name}")


def _task(spec: Spec, profile: Profile) -> str:
    return f"{profile.name}/{spec.name}"


def spec_figure(profile: Profile, found: Sequence[SpecResult]) -> Figure:
    """Return how many tests fail with the profile, of those that pass with stock.

    For stock it is how many fail of those that ran; it judges fake nodes.
    """
    counts = {
        one.spec
        for one in found
        if one.profile == STOCK.name
        and (one.result == "passed" or (profile is STOCK and one.result != "skipped"))
    }
    words = "fail" if profile is STOCK else "fail, of those that stock passes"
    return failing_figure(
        f"{profile.name}: upstream's end-to-end tests that {words}",
        {
            one.spec: one.result == "passed"
            for one in found
            if one.profile == profile.name and one.spec in counts
        },
    )
