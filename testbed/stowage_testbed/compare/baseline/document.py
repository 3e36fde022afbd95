"""The baseline file: a comparison's headline metrics, and the machine's speed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from stowage_testbed.base.errors import InputError
from stowage_testbed.base.whole_file import write_whole
from stowage_testbed.compare.calibration import Speed
from stowage_testbed.compare.result import Result
from stowage_testbed.metrics.metric import Better

FORMAT = "stowage.dev/baseline/v1"


@dataclass(frozen=True, slots=True)
class Series:
    """One metric of one arm in all rounds."""

    limits: str
    arm: str
    name: str
    unit: str
    better: Better
    resolution: float
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Baseline:
    """What is kept of a comparison.

    Attributes
    ----------
    scenario_sha256, parameters
        What the later comparison must have run too.
    source
        Commit of the checkout.
    warm_up
        Pods that every scheduler placed before its window opened.
    client_limits
        Requests a second and burst, by kind of limits and arm.
    failed
        Runs that do not count, with the reason.
    """

    format: str
    scenario_id: str
    scenario_sha256: str
    parameters: Mapping[str, Any]
    started: str
    source: Mapping[str, Any]
    speed: Speed | None
    series: tuple[Series, ...]
    warm_up: int = 0
    client_limits: Mapping[str, Mapping[str, tuple[float | None, int | None]]] = field(default_factory=dict)
    failed: tuple[str, ...] = ()


def baseline_of(result: Result) -> Baseline:
    """Return what is kept of a comparison."""
    comparison = result.comparison
    source = comparison.environment.get("source")
    return Baseline(
        format=FORMAT,
        scenario_id=comparison.scenario.scenario_id,
        scenario_sha256=comparison.scenario.sha256,
        parameters=comparison.scenario.parameters,
        started=comparison.started,
        source=source if isinstance(source, Mapping) else {},
        speed=comparison.speed,
        series=tuple(_series(result)),
        warm_up=comparison.warm_up,
        client_limits={
            kind: {arm.name: (arm.settings[kind].qps, arm.settings[kind].burst) for arm in comparison.arms}
            for kind in comparison.limits
        },
        failed=tuple(
            f"{run.arm}, {run.limits} limits: round {run.round_number} failed" for run in result.runs if run.error
        ),
    )


def save_baseline(baseline: Baseline, path: Path) -> None:
    """Write a baseline as JSON that a review can read."""
    write_whole(path, msgspec.json.format(msgspec.json.encode(baseline), indent=2))


def load_baseline(path: Path) -> Baseline:
    """Read a baseline.

    Raises
    ------
    InputError
        The file is missing, or is none.
    """
    try:
        baseline = msgspec.json.decode(path.read_bytes(), type=Baseline)
    except (OSError, msgspec.MsgspecError) as error:
        raise _broken(path, str(error)) from error
    if baseline.format != FORMAT:
        why = f"format {baseline.format!r}, this reads {FORMAT!r}"
        raise _broken(path, why)
    return baseline


def _broken(path: Path, why: str) -> InputError:
    return InputError(f"{path} is no baseline: {why}; make one with `stowage baseline save BUNDLE FILE`")


def _series(result: Result) -> Iterator[Series]:
    for limits in result.comparison.limits:
        for arm in result.arms:
            for name in result.comparison.question.headlines:
                metrics = result.metrics(limits, arm, name)
                if metrics:
                    yield Series(
                        limits=limits,
                        arm=arm,
                        name=name,
                        unit=metrics[0].unit,
                        better=metrics[0].better,
                        resolution=max(metric.resolution for metric in metrics),
                        values=result.values(limits, arm, name),
                    )
