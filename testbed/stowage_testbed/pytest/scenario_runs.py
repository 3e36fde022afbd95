"""`stowage run` is a session of pytest: a scenario is an item, and workers are those of pytest-xdist."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import pytest

from stowage_testbed.base.errors import StowageError
from stowage_testbed.cluster.interruption import ending_cleanly
from stowage_testbed.pytest.scenario_items import RunPlugin, ScenarioRunner, name_item
from stowage_testbed.pytest.workers import WorkerPool
from stowage_testbed.report.bundle import Bundle
from stowage_testbed.report.showing import take_first_lines
from stowage_testbed.run.outcome import RunOutcome, RunResult, find_divergences
from stowage_testbed.run.request import RunRequest

INTERRUPTED = 130

_UNUSED = (
    *("assertion", "cacheprovider", "capture", "doctest", "faulthandler", "logging", "terminal"),
    *("threadexception", "unittest", "unraisableexception", "warnings"),
)
"""Plugins of pytest that would print, write files, or take the place of handlers of this process."""

_OPTIONS = (
    *(f"-pno:{name}" for name in _UNUSED),
    # Neither the project in whose folder it runs nor what else is installed has a say.
    *(f"--config-file={os.devnull}", "--rootdir=.", "--noconftest", "--disable-plugin-autoload"),
)


def run_scenarios(request: RunRequest, bundle: Bundle, junit: Path | None = None) -> RunOutcome:
    """Run every scenario of a request in every round, and write the bundle.

    An error or a signal that ends the run early is part of the outcome, with the results so far; the cluster is down
    then. The bundle's listeners are told of everything in the order of the report.
    """
    started = datetime.now(tz=UTC).isoformat(timespec="seconds")
    options = [*_OPTIONS, "-o", "junit_suite_name=stowage", *([f"--junitxml={junit}"] if junit else [])]
    if request.jobs > 1:
        runner: RunPlugin = WorkerPool(request, bundle)
        options += ["-pxdist.plugin", "-pstowage_testbed.pytest.workers", f"--numprocesses={request.jobs}"]
    else:
        runner = ScenarioRunner(request, bundle)

    def make_outcome() -> RunOutcome:
        outcomes = tuple(runner.outcomes[place] for place in sorted(runner.outcomes))
        error, code = _explain(runner.problem)
        return RunOutcome(
            run=bundle.run_id,
            started=started,
            cluster=runner.cluster,
            scenarios=outcomes,
            divergences=find_divergences(outcomes),
            durations_s=dict(runner.durations_s),
            error=error,
            error_code=code,
        )

    bundle.run_started(bundle.run_id, request.total)
    try:
        with ending_cleanly(), _without_settings():
            pytest.main(options, plugins=[runner, Reports(make_outcome)])
        outcome = make_outcome()
        bundle.run_finished(outcome)
    except OSError as error:
        if runner.problem in {None, error}:
            raise
        # Files that cannot be written must not hide why: a disk may be full.
        raise runner.problem from error
    return outcome


def _explain(problem: BaseException | None) -> tuple[str, int]:
    """Return why a run ended early, and the exit code; a fault of the testbed itself is raised."""
    match problem:
        case None:
            return "", 1
        case StowageError():
            return str(problem), problem.exit_code
        case KeyboardInterrupt():
            return "it was interrupted", INTERRUPTED
        case SystemExit(code=int(code)):
            return "it was interrupted", code
    raise problem


@contextmanager
def _without_settings() -> Iterator[None]:
    """Let no variable of the environment change what pytest does, here or in a worker."""
    settings = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith("PYTEST_")}
    try:
        yield
    finally:
        os.environ.update(settings)


class Reports:
    """A plugin that has pytest report, in the order of the files, what came of scenarios, rounds and the run."""

    def __init__(self, make_outcome: Callable[[], RunResult]) -> None:
        self._make_outcome = make_outcome

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Report before JUnit is written."""
        for report in list_reports(self._make_outcome()):
            session.config.hook.pytest_runtest_logreport(report=report)


def list_reports(run: RunResult) -> Iterator[pytest.TestReport]:
    """Yield a report for each scenario and round, for rounds that differ, and for an early end."""
    for one in run.scenarios:
        name, duration_s = name_item(one.scenario, one.variant, one.repeat), sum(one.durations_s.values())
        if one.skipped:
            yield _report(name, "skipped", "call", [one.skipped], duration_s)
        elif one.error:
            yield _report(name, "failed", "setup", [one.error], duration_s)
        else:
            yield _report(name, "passed" if one.passed else "failed", "call", one.failures, duration_s)
    for differing in run.divergences:
        name = f"stowage/determinism::{differing.scenario} round {differing.repeat}"
        yield _report(name, "failed", "call", [differing.in_words()])
    if run.error:
        yield _report(f"stowage/run::{run.run}", "failed", "setup", [run.error])


def _report(
    name: str,
    outcome: Literal["passed", "failed", "skipped"],
    when: Literal["setup", "call"],
    lines: list[str],
    duration_s: float = 0.0,
) -> pytest.TestReport:
    """Return a report; what fails in its set-up JUnit has as an error, not as a failure."""
    path, _, _ = name.partition("::")
    text = "\n".join(take_first_lines(lines))
    said = (path, 0, text) if outcome == "skipped" else text or None
    return pytest.TestReport(name, (path, None, name), {}, outcome, said, when, duration=duration_s)
