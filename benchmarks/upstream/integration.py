"""Upstream's integration tests of the scheduler, with Stowage's plugins and without."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.command import Say, write_figures
from benchmarks.upstream.building import UpstreamBuild
from benchmarks.upstream.figures import failing_figure
from benchmarks.upstream.process import fast_folder, run_ending, with_etcd
from benchmarks.upstream.profiles import STOCK, Profile
from stowage_testbed.base.journal import TaskJournal
from stowage_testbed.text.figure import Figure
from stowage_testbed.toolchain.environment import fingerprint
from stowage_testbed.toolchain.location import tool_key
from stowage_testbed.toolchain.manifest import load_manifest
from stowage_testbed.toolchain.minors import built_minors

NAME = "upstream-tests"
TESTS = Path("test/integration/scheduler")
USUAL = ("registered", "score-cache")
"""Profiles that preempt, as many of the tests expect."""

LIMIT_S = 1800.0
ENDED_EARLY = "(the process ended early)"
"""Stands for what did not run because of it."""

_RESULT = re.compile(r"^--- (PASS|FAIL|SKIP): (\S+)", re.M)


@dataclass(frozen=True, slots=True)
class TestResult:
    """How a test ended.

    Attributes
    ----------
    package
        Its folder below ``test/integration/scheduler``.
    test
        Its name.
    profile
        The scheduler that it was run with.
    result
        ``PASS``, ``FAIL`` or ``SKIP``.
    """

    package: str
    test: str
    profile: str
    result: str

    # It is a record, whatever pytest makes of its name.
    __test__ = False


def run_tests(profiles: Sequence[Profile], only: str, results: Path, say: Say) -> str:
    """Run the tests, write ``<results>/upstream-tests.json``, return the table.

    What fails is run again with the stock scheduler: only what passes there counts.
    What was run is kept, package by package.

    Parameters
    ----------
    profiles
        The schedulers that the tests are run with.
    only
        Run the packages only whose folders have these words.
    results
        Folder of all results.
    say
        Receives a line for each step.

    Raises
    ------
    StowageError
        Go or etcd is missing, or the tests do not build.
    """
    folder = results / NAME
    build = UpstreamBuild(folder / "build")
    # The plugins are built from these sources, whatever is installed.
    plugins = tool_key(load_manifest().tool("stowage-scheduler", built_minors()[0]))
    journal = TaskJournal(
        folder / f"results-{plugins}-{fingerprint()}.jsonl", TestResult
    )
    root = build.kubernetes / TESTS
    packages = sorted(
        {file.parent.relative_to(root).as_posix() for file in root.rglob("*_test.go")}
    )
    for package in packages:
        if only in package:
            _run_package(build, package, profiles, journal, say)
    found = [one for task in journal for one in journal.get(task)]
    return write_figures(
        results / f"{NAME}.json",
        [_figure(profile, found) for profile in profiles],
        tests=[asdict(one) for one in found],
    )


def _run_package(
    build: UpstreamBuild,
    package: str,
    profiles: Sequence[Profile],
    journal: TaskJournal[TestResult],
    say: Say,
) -> None:
    missing = [one for one in profiles if f"{package}/{one.name}" not in journal]
    if not missing:
        return
    say(f"{package}: building")
    binary = build.compile_test(f"k8s.io/kubernetes/{TESTS}/{package}", "tests.test")
    for profile in missing:
        found = _run(build, binary, package, profile, "")
        failed = [one.test for one in found if one.result == "FAIL"]
        if failed and profile is not STOCK:
            say(f"{package}, {profile.name}: {', '.join(failed)} with stock")
            found += _run(build, binary, package, STOCK, _pattern(failed))
        journal.add(f"{package}/{profile.name}", tuple(found))
        passed = sum(one.result == "PASS" for one in found)
        say(f"{package}, {profile.name}: {passed} pass, {len(failed)} fail")
    binary.unlink()


def _pattern(tests: Sequence[str]) -> str:
    names = [one for one in tests if one != ENDED_EARLY]
    return f"^({'|'.join(names)})$" if len(names) == len(tests) else ""


def _run(
    build: UpstreamBuild, binary: Path, package: str, profile: Profile, pattern: str
) -> list[TestResult]:
    with tempfile.TemporaryDirectory(prefix="sto-tests-", dir=fast_folder()) as scratch:
        output = Path(scratch) / "output"
        configuration = profile.configuration(Path(scratch), lambda: Path("/none"))
        ended = run_ending(
            [str(binary), "-test.v", f"-test.run={pattern}", "-test.timeout=30m"],
            build.kubernetes / TESTS / package,
            {
                **with_etcd(),
                **build.environment(),
                "TMPDIR": scratch,
                "STOWAGE_PLUGINS": profile.plugins,
                "STOWAGE_PROFILE": str(configuration or ""),
                "STOWAGE_CRDS": "",
            },
            output,
            LIMIT_S,
        )
        said = output.read_text(encoding="utf-8", errors="replace")
        kept = build.folder.parent / f"{package.replace('/', '_')}-{profile.name}.log"
        kept.write_text(said, encoding="utf-8")
    found = [
        TestResult(package, test, profile.name, result)
        for result, test in _RESULT.findall(said)
    ]
    if ended not in {0, 1} or not found:
        found.append(TestResult(package, ENDED_EARLY, profile.name, "FAIL"))
    return found


def _figure(profile: Profile, found: Sequence[TestResult]) -> Figure:
    """Return how many tests fail with the profile that pass with stock."""
    broken = {
        (one.package, one.test)
        for one in found
        if one.profile == STOCK.name and one.result == "FAIL"
    }
    return failing_figure(
        f"{profile.name}: upstream's tests that fail, and pass with stock",
        {
            f"{one.package}: {one.test}": one.result != "FAIL"
            for one in found
            if one.profile == profile.name
            and (profile is STOCK or (one.package, one.test) not in broken)
        },
    )
