"""What the shipped scenarios expect, against the real scheduler without a cluster."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from stowage_testbed.metrics.state import hash_placement
from stowage_testbed.scenario.check import Moment, check_moment
from stowage_testbed.scenario.load import load_folder
from stowage_testbed.scenario.model import BEFORE, Scenario
from stowage_testbed.scenario.simulation import simulate
from stowage_testbed.scenario.steps.checking import Check, Checkpoint
from stowage_testbed.simulate.process import Simulator, find_profile

FOLDER = Path(__file__).parents[3] / "scenarios"


def find_expected(scenario: Scenario) -> Check | None:
    """Return what is expected just before the checkpoint `before`: what a scheduler alone can show."""
    actions = [step.action for step in scenario.steps]
    at = actions.index(Checkpoint(BEFORE)) if Checkpoint(BEFORE) in actions else 0
    found = actions[at - 1] if at else None
    return found if isinstance(found, Check) else None


SCENARIOS = [scenario for scenario in load_folder(FOLDER) if find_expected(scenario)]


@pytest.fixture(scope="module")
def simulator() -> Iterator[Simulator]:
    with Simulator(find_profile("deterministic")) as running:
        yield running


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda found: found.scenario_id)
def test_the_deterministic_scheduler_does_what_the_scenario_expects(scenario: Scenario, simulator: Simulator) -> None:
    """In milliseconds it is known whether a cluster run can pass at all.

    Determinism is what every comparison with the checkpoint `before` rests on.
    """
    found, expected = simulate(scenario, simulator), find_expected(scenario)

    assert expected
    checks = check_moment(expected, Moment(found), scenario.expect.tolerance)
    assert [check.message for check in checks if not check.passed] == []
    assert hash_placement(simulate(scenario, simulator)) == hash_placement(found)
