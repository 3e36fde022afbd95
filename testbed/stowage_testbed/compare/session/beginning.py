"""Before a comparison runs: is it fair, does it measure, is it that in the folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime

from stowage_testbed.compare.bundle import (
    ArmEntry,
    BundleFolder,
    Comparison,
    PreflightRow,
    ScenarioText,
)
from stowage_testbed.compare.bundle.errors import BundleMissingError
from stowage_testbed.compare.calibration.measuring import measure_speed
from stowage_testbed.compare.preflight import Preflight, preflight
from stowage_testbed.compare.session.errors import (
    NothingMeasuredError,
    OtherComparisonError,
    UnfairArmsError,
)
from stowage_testbed.compare.session.request import CompareRequest, LimitsKind
from stowage_testbed.environment import environment
from stowage_testbed.scenario.model import Scenario
from stowage_testbed.scenario.steps.measuring import Measure, Overload


def begun(request: CompareRequest) -> BundleFolder:
    """Return the folder of this comparison, which is new or is resumed.

    Raises
    ------
    NothingMeasuredError
        The scenario has no measured window.
    UnfairArmsError
        The arms differ in what decides, and that was not allowed.
    OtherComparisonError
        The folder holds another comparison.
    """
    if not measures(request.scenario):
        raise NothingMeasuredError(request.scenario.scenario_id)
    asked = _comparison(request, checked(request))
    try:
        found = BundleFolder.resume(request.folder)
    except BundleMissingError:
        # It takes a second, and one that is resumed has it.
        asked = replace(asked, speed=measure_speed())
        return BundleFolder.create(request.folder, asked)
    differs = [word for word, of in _SAME.items() if of(found.comparison) != of(asked)]
    if differs:
        raise OtherComparisonError(request.folder, " and ".join(differs))
    found.extend(asked.rounds)
    return found


_SAME: Mapping[str, Callable[[Comparison], object]] = {
    "scenarios": lambda one: one.scenario.sha256,
    "parameters": lambda one: one.scenario.parameters,
    "arms": lambda one: [arm.name for arm in one.arms],
    "settings of the arms": lambda one: [arm.settings for arm in one.arms],
    "builds of the arms": lambda one: [arm.build for arm in one.arms],
    "limits": lambda one: one.limits,
    "seeds": lambda one: one.seed,
    "pods for warming up": lambda one: one.warm_up,
}
"""What runs must have in common to be rounds of one comparison."""


def measures(scenario: Scenario) -> bool:
    """Return whether a scenario opens and closes a measured window."""
    actions = [step.action for step in scenario.steps]
    edges = {action.edge for action in actions if isinstance(action, Measure)}
    overloads = any(isinstance(action, Overload) for action in actions)
    return overloads or edges == {"start", "stop"}


def checked(request: CompareRequest) -> dict[LimitsKind, Preflight]:
    """Return what the arms differ in, by kind of client limits.

    Raises
    ------
    UnfairArmsError
        They differ in what decides, and that was not allowed.
    """
    checks = {
        kind: preflight({arm.name: arm.settings(limits) for arm in request.arms})
        for kind, limits in request.limits.items()
    }
    for one in checks.values():
        if one.refusal is not None and not request.allow_unfair:
            raise UnfairArmsError(str(one.refusal))
    return checks


def _comparison(
    request: CompareRequest, checks: Mapping[LimitsKind, Preflight]
) -> Comparison:
    scenario = request.scenario
    text = scenario.path.read_text("utf-8") if scenario.path else ""
    return Comparison(
        scenario=ScenarioText.of(scenario.scenario_id, text, scenario.parameters),
        started=datetime.now(tz=UTC).isoformat(timespec="seconds"),
        baseline=request.arms[0].name,
        arms=tuple(
            ArmEntry(
                arm.name,
                {kind: arm.settings(given) for kind, given in request.limits.items()},
                build=arm.build(),
            )
            for arm in request.arms
        ),
        limits=tuple(request.limits),
        rounds=request.rounds,
        seed=request.seed,
        environment=environment(),
        preflight=tuple(
            PreflightRow(
                kind, row.name, row.values, fair=not (row.differs and row.decides)
            )
            for kind, one in checks.items()
            for row in one.rows
        ),
        warm_up=request.warm_up,
    )
