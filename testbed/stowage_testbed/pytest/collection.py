"""Scenario files as test files: one test for each variant.

A folder of scenarios opts in with a ``conftest.py`` that holds one line::

    from stowage_testbed.pytest.collection import pytest_collect_file
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from stowage_testbed.base.errors import StowageError
from stowage_testbed.run.request import DEFAULT_VARIANT
from stowage_testbed.scenario.load import load_file
from stowage_testbed.scenario.model import Scenario

if TYPE_CHECKING:
    from stowage_testbed.pytest.scenarios import ScenarioSession

FULL = "full"


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> ScenarioFile | None:
    """Collect YAML files as scenarios."""
    if file_path.suffix not in {".yaml", ".yml"}:
        return None
    made: ScenarioFile = ScenarioFile.from_parent(parent, path=file_path)
    return made


class ScenarioFile(pytest.File):
    """A scenario file; its issues are collection errors without a traceback."""

    def collect(self) -> Iterator[pytest.Item]:
        """Yield a test for the default run and for each variant."""
        try:
            scenarios = load_file(self.path)
        except StowageError as error:
            raise self.CollectError(str(error)) from error
        # Long scenarios run if `-m` speaks of them, or this very file is named.
        named = [self.config.invocation_params.dir / arg.split("::")[0] for arg in self.config.args]
        with_long = FULL in str(self.config.getoption("-m")) or self.path in named
        for scenario in scenarios:
            if FULL in scenario.labels and not with_long:
                continue
            name, test = scenario.variant or DEFAULT_VARIANT, _test_of(scenario)
            item: pytest.Function = pytest.Function.from_parent(self, name=name, callobj=test)
            item.add_marker("stowage")
            for label in scenario.labels:
                item.add_marker(pytest.mark.stowage(label=label))
            yield item


def _test_of(scenario: Scenario) -> Callable[[ScenarioSession], None]:
    def run(_stowage_scenarios: ScenarioSession) -> None:
        _, failures = _stowage_scenarios.run(scenario)
        if failures:
            pytest.fail(failures, pytrace=False)

    return run
