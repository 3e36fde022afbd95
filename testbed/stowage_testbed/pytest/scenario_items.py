"""The scenarios of `stowage run` as items of a session of pytest, on a cluster that is up for them."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from stowage_testbed.report.bundle import Bundle
from stowage_testbed.run.context import RunContext, Stopwatch
from stowage_testbed.run.outcome import ScenarioOutcome
from stowage_testbed.run.request import RunRequest
from stowage_testbed.run.scenario_run import run_scenario
from stowage_testbed.run.session import open_context
from stowage_testbed.run.tasks import Task, list_tasks


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
    """What a plugin that runs scenarios has at its end, for whoever started the session.

    `outcomes` are by place in the report, `problem` is what ended the run early.
    """

    def __init__(self) -> None:
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


class ScenarioRunner(RunPlugin):
    """Collects the scenarios of a request, and runs them on a cluster of its own."""

    def __init__(self, request: RunRequest, bundle: Bundle) -> None:
        super().__init__()
        self._request, self._bundle = request, bundle
        self._stopwatch = Stopwatch()
        self._context: RunContext | None = None
        self.durations_s = self._stopwatch.durations_s

    def begin(self, cluster: str) -> None:
        """Take note of the cluster that is up."""
        self.cluster = cluster

    def run(self, task: Task) -> None:
        """Run a scenario, and keep its outcome."""
        assert self._context is not None  # noqa: S101 - the cluster is up
        self.outcomes[task.place] = run_scenario(self._context, task.scenario, task.repeat, self._bundle)

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
            for task in list_tasks(self._request)
        ]
        session.testscollected = len(session.items)
        session.config.hook.pytest_collection_finish(session=session)
        return True

    @contextmanager
    def running(self) -> Iterator[None]:
        """Have a cluster up."""
        with open_context(self._request, self._bundle.run_id, self._bundle, self._stopwatch) as self._context:
            self.begin(self._context.cluster.name)
            yield

    def pytest_runtest_protocol(self, item: ScenarioItem) -> bool:
        """Run an item; without fixtures there is nothing to set up or to tear down."""
        item.runtest()
        return True
