"""A whole comparison: one cluster, every arm, every round; resumable."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime

from testbed.compare.bundle import (
    ArmEntry,
    BundleFolder,
    Comparison,
    PreflightRow,
    ScenarioText,
)
from testbed.compare.bundle.errors import BundleMissingError
from testbed.compare.calibration.measuring import measure_speed
from testbed.compare.preflight import Preflight, preflight
from testbed.compare.reports import read_result
from testbed.compare.result import Result
from testbed.compare.session.errors import (
    NothingMeasuredError,
    OtherComparisonError,
    UnfairArmsError,
)
from testbed.compare.session.listener import CompareListener
from testbed.compare.session.one_turn import OneTurn
from testbed.compare.session.order import Turn, turns
from testbed.compare.session.request import CompareRequest, LimitsKind
from testbed.compare.webhooks import live_webhooks
from testbed.observe.observer import Observer
from testbed.report.environment import environment
from testbed.run.bench import Bench
from testbed.run.request import RunRequest
from testbed.run.session import cluster_session
from testbed.run.stopwatch import Stopwatch
from testbed.scenario.model import Scenario
from testbed.scenario.steps.model import Measure


def compare(request: CompareRequest, listener: CompareListener) -> Result:
    """Carry a comparison out, or go on with one, and return what came of it.

    Runs whose records are in the folder are not made again.

    Raises
    ------
    NothingMeasuredError, UnfairArmsError, OtherComparisonError
        It is not begun.
    StowageError
        It ended early; what was had is in the folder.
    """
    if not measures(request.scenario):
        raise NothingMeasuredError(request.scenario.scenario_id)
    checks = checked(request)
    bundle = _bundle(request, checks)
    todo = [turn for turn in _turns(request) if turn.key not in bundle.done]
    if todo:
        with _bench(request, listener) as bench:
            _run_all(request, bench, bundle, todo, listener)
    result = read_result(request.folder)
    bundle.finish(result.verdicts)
    return read_result(request.folder)


def measures(scenario: Scenario) -> bool:
    """Tell whether a scenario opens and closes a measured window."""
    edges = {
        step.action.edge for step in scenario.steps if isinstance(step.action, Measure)
    }
    return edges == {"start", "stop"}


def checked(request: CompareRequest) -> dict[LimitsKind, Preflight]:
    """Return what the arms differ in, by kind of client limits.

    Raises
    ------
    UnfairArmsError
        They differ in what decides, and nobody said that they may.
    """
    checks = {
        kind: preflight({arm.name: arm.settings(limits) for arm in request.arms})
        for kind, limits in request.limits.items()
    }
    for one in checks.values():
        if one.refusal is not None and not request.allow_unfair:
            raise UnfairArmsError(str(one.refusal))
    return checks


def _turns(request: CompareRequest) -> Iterator[Turn]:
    names = [arm.name for arm in request.arms]
    return turns(list(request.limits), names, request.rounds, request.seed)


def _bundle(
    request: CompareRequest, checks: Mapping[LimitsKind, Preflight]
) -> BundleFolder:
    """Return the folder of this very comparison, begun or gone on with."""
    asked = _comparison(request, checks)
    try:
        found = BundleFolder.resume(request.folder)
    except BundleMissingError:
        return BundleFolder.create(request.folder, asked)
    there = found.comparison
    differs = [
        name
        for name, one, other in (
            ("scenarios", there.scenario.sha256, asked.scenario.sha256),
            ("parameters", there.scenario.parameters, asked.scenario.parameters),
            ("arms", [a.name for a in there.arms], [a.name for a in asked.arms]),
            ("limits", list(there.limits), list(asked.limits)),
            ("seeds", there.seed, asked.seed),
        )
        if one != other
    ]
    if differs:
        raise OtherComparisonError(request.folder, " and ".join(differs))
    return found


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
        speed=measure_speed(),
    )


@contextmanager
def _bench(request: CompareRequest, listener: CompareListener) -> Iterator[Bench]:
    asked = RunRequest((request.scenario,), cluster=request.cluster)
    with (
        cluster_session(asked, listener, Stopwatch()) as cluster,
        cluster.api_client() as api,
        Observer(api) as observer,
    ):
        for name in live_webhooks(api):
            listener.stage(f"every arm's pods pass through the webhook {name}")
        yield Bench(
            cluster,
            api,
            observer,
            tag=secrets.token_hex(2),
            lasting=request.cluster is not None,
        )


def _run_all(
    request: CompareRequest,
    bench: Bench,
    bundle: BundleFolder,
    todo: list[Turn],
    listener: CompareListener,
) -> None:
    logs = request.folder / "logs"
    one = OneTurn(bench, request.scenario, request.warm_up, logs, listener)
    arms = request.arms_by_name
    kept: set[tuple[str, str]] = set()
    for number, turn in enumerate(todo, 1):
        listener.turn_started(turn, number, len(todo))
        limits = request.limits[turn.limits]  # type: ignore[index]
        record, configuration = one.run(turn, arms[turn.arm], limits)
        bundle.add(record)
        if configuration and (turn.limits, turn.arm) not in kept:
            bundle.add_configuration(turn.limits, turn.arm, configuration)
            kept.add((turn.limits, turn.arm))
        listener.turn_finished(turn, record)
