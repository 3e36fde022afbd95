"""The scenarios of `stowage run` as items of a session of pytest, on a cluster that is up for them."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Literal

import pytest

from stowage_testbed.base.errors import StowageError
from stowage_testbed.cluster.feature_gates import DEFAULTS, FeatureGates
from stowage_testbed.report.bundle import Bundle
from stowage_testbed.report.showing import take_first_lines
from stowage_testbed.run.cluster import open_context
from stowage_testbed.run.context import RunContext, Stopwatch
from stowage_testbed.run.outcome import RunOutcome, RunResult, ScenarioOutcome
from stowage_testbed.run.request import RunRequest, Task, choose_features, list_tasks, narrow_to
from stowage_testbed.run.scenario_run import run_scenario

INTERRUPTED = 130


def name_item(scenario: str, variant: str | None, repeat: int) -> str:
    """Return the node id of a scenario in a round; JUnit's class is its folder."""
    topic, _, behaviour = f"scenarios/{scenario}".rpartition("/")
    return f"{topic}::{behaviour}{f'@{variant}' if variant else ''} round {repeat}"


class ScenarioItem(pytest.Item):
    """A scenario in one round."""

    def __init__(self, *, runner: ScenarioRunner, task: Task, **more: Any) -> None:
        super().__init__(**more)
        self.runner, self.task = runner, task

    def runtest(self) -> None:
        """Run it; what ends the run is raised."""
        self.runner.run(self.task)


class RunPlugin:
    """Has a session of pytest run scenarios, report what came of them, and keep it for whoever started the session.

    `outcomes` are by place in the report, `problem` is what ended the run early.
    """

    def __init__(self, request: RunRequest, bundle: Bundle) -> None:
        self.request, self.bundle = request, bundle
        self.durations_s: dict[str, float] = {}
        self.outcomes: dict[int, ScenarioOutcome] = {}
        self.problem: BaseException | None = None
        self.cluster = ""

    def fail(self, problem: BaseException) -> None:
        """Take note of what ends the run."""
        self.problem = self.problem or problem

    @contextmanager
    def running(self) -> Iterator[None]:
        """Have what the items need for as long as they run."""
        yield

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        """Run the items; pytest need not know what ended them early."""
        try:
            with self.running():
                return (yield)
        except BaseException as problem:
            self.fail(problem)
            pytest.exit("the run has ended early")

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Take note of an interrupt outside the loop."""
        self.fail(excinfo.value)

    def pytest_internalerror(self, excinfo: pytest.ExceptionInfo[BaseException]) -> bool:
        """Take note of an error outside the loop; it is not for pytest to print."""
        self.fail(excinfo.value)
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Report, in the order of the files, before JUnit is written."""
        for report in list_reports(self.outcome()):
            session.config.hook.pytest_runtest_logreport(report=report)

    def outcome(self) -> RunOutcome:
        """Return what came of the run; a fault of the testbed itself is raised."""
        outcomes = (self.outcomes[place] for place in sorted(self.outcomes))
        error, code = _explain(self.problem)
        durations_s = dict(self.durations_s)
        return self.bundle.sum_up(self.cluster, outcomes, durations_s=durations_s, error=error, error_code=code)


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


class ScenarioRunner(RunPlugin):
    """Collects the scenarios of a request, and runs them on a cluster of its own for each set of feature gates."""

    def __init__(self, request: RunRequest, bundle: Bundle) -> None:
        super().__init__(request, bundle)
        self._stopwatch = Stopwatch()
        self._context: RunContext | None = None
        self._open, self._features = ExitStack(), DEFAULTS
        self.durations_s = self._stopwatch.durations_s

    def begin(self, cluster: str) -> None:
        """Take note of the cluster that is up."""
        self.cluster = ", ".join(filter(None, (self.cluster, cluster)))

    def run(self, task: Task) -> None:
        """Run a scenario, and keep its outcome."""
        context = self._context_of(choose_features(self.request, task.scenario))
        self.outcomes[task.place] = run_scenario(context, task.scenario, task.repeat, self.bundle)

    def _context_of(self, features: FeatureGates) -> RunContext:
        """Return the cluster with some features; another one that is up goes down."""
        if self._context is None or self._features != features:
            self._context = None
            self._open.close()
            request = narrow_to(self.request, features)
            self._context = self._open.enter_context(
                open_context(request, self.bundle.run_id, self.bundle, self._stopwatch)
            )
            self._features = features
            self.begin(self._context.cluster.name)
        return self._context

    def pytest_collection(self, session: pytest.Session) -> bool:
        """Collect what was chosen, whatever lies in the current folder."""
        session.items = [
            ScenarioItem.from_parent(
                session,
                name=task.scenario.scenario_id,
                nodeid=name_item(task.scenario.name, task.scenario.variant, task.repeat),
                runner=self,
                task=task,
            )
            for task in list_tasks(self.request)
        ]
        session.testscollected = len(session.items)
        session.config.hook.pytest_collection_finish(session=session)
        return True

    @contextmanager
    def running(self) -> Iterator[None]:
        """Have a cluster up before the first scenario, and take down, at the end, the one that is up then."""
        with self._open:
            for first in list_tasks(self.request)[:1]:
                self._context_of(choose_features(self.request, first.scenario))
            yield

    def pytest_runtest_protocol(self, item: ScenarioItem) -> bool:
        """Run an item; without fixtures there is nothing to set up or to tear down."""
        item.runtest()
        return True
