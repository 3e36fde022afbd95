"""A comparison: what was asked for, its runs so far, and what they say."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

from stowage_testbed.amounts.resources import names_of
from stowage_testbed.compare.speed import Speed
from stowage_testbed.compare.verdicts import ArmVerdicts, MeasuredRun, Question, Verdict, judge
from stowage_testbed.metrics.catalogue import metrics_of
from stowage_testbed.metrics.metric import Metric
from stowage_testbed.metrics.record import RunRecord
from stowage_testbed.run.arm import ArmSettings
from stowage_testbed.scenario.model import GENERAL, OF_RECOVERY

ALL_HEADLINES = Question((*GENERAL, *OF_RECOVERY))
"""What is asked of a comparison that was made before scenarios had headlines."""


@dataclass(frozen=True, slots=True)
class ScenarioText:
    """The scenario as it was run: its file, whole, and the SHA-256 of that in UTF-8."""

    scenario_id: str
    text: str
    sha256: str
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, scenario_id: str, text: str, parameters: Mapping[str, Any] | None = None) -> Self:
        """Return the scenario with the hash of its text."""
        return cls(scenario_id, text, sha256_of(text), dict(parameters or {}))


@dataclass(frozen=True, slots=True)
class ArmEntry:
    """An arm, what it was built from, and by kind of client limits how it ran and the hash of its configuration."""

    name: str
    settings: Mapping[str, ArmSettings]
    configuration_sha256: Mapping[str, str] = field(default_factory=dict)
    build: str = ""


@dataclass(frozen=True, slots=True)
class PreflightRow:
    """One setting of all arms under one kind of client limits; fair if no arm has an advantage from it."""

    limits: str
    setting: str
    values: Mapping[str, str]
    fair: bool
    note: str = ""

    @property
    def differs(self) -> bool:
        """Whether the arms do not all have one value."""
        return len(set(self.values.values())) > 1


@dataclass(frozen=True)
class Comparison:
    """A comparison with its runs so far, in the order of limits, rounds and arms, of which the first is the baseline.

    Every arm runs under each kind of client ``limits``, and places ``warm_up`` pods before its window opens. ``rounds``
    were asked for; it is ``complete`` once its verdicts are written.
    """

    scenario: ScenarioText
    started: str
    baseline: str
    arms: tuple[ArmEntry, ...]
    limits: tuple[str, ...]
    rounds: int
    seed: int
    environment: Mapping[str, Any]
    preflight: tuple[PreflightRow, ...] = ()
    speed: Speed | None = None
    warm_up: int = 0
    question: Question = ALL_HEADLINES
    records: tuple[RunRecord, ...] = ()
    complete: bool = False

    @cached_property
    def runs(self) -> tuple[MeasuredRun, ...]:
        """The metrics of every run."""
        return tuple(measured(record) for record in self.records)

    @cached_property
    def verdicts(self) -> tuple[ArmVerdicts, ...]:
        """What the runs say of every arm that is compared with the baseline."""
        return judge(self.runs, self.baseline, self.question)

    @property
    def arm_names(self) -> tuple[str, ...]:
        """The names of the arms, the baseline first."""
        return tuple(entry.name for entry in self.arms)

    @property
    def others(self) -> tuple[str, ...]:
        """The arms that are compared with the baseline."""
        return tuple(arm for arm in self.arm_names if arm != self.baseline)

    @property
    def resources(self) -> tuple[str, ...]:
        """The resources that nodes of any run have, without pods."""
        return names_of(node.resources for record in self.records for node in record.nodes)

    def records_of(self, limits: str, arm: str | None = None) -> tuple[RunRecord, ...]:
        """Return the records of the runs that count, of one arm or of all."""
        return tuple(one for one in self.records if one.limits == limits and arm in {None, one.arm} and not one.error)

    def metrics(self, limits: str, arm: str, name: str) -> tuple[Metric, ...]:
        """Return one metric of every run of an arm that counts and has a value."""
        return tuple(
            metric
            for run in self.runs
            if run.limits == limits and run.arm == arm and not run.error
            for metric in run.metrics
            if metric.name == name and metric.value is not None
        )

    def values(self, limits: str, arm: str, name: str) -> tuple[float, ...]:
        """Return the values of one metric, one a run."""
        return tuple(one.value for one in self.metrics(limits, arm, name) if one.value is not None)

    def verdicts_on(self, limits: str, arm: str) -> ArmVerdicts | None:
        """Return the verdicts on an arm; `None` for the baseline, or without runs."""
        return next((one for one in self.verdicts if one.limits == limits and one.arm == arm), None)

    def verdict(self, limits: str, arm: str, name: str) -> Verdict | None:
        """Return the verdict on one metric of one arm."""
        found = self.verdicts_on(limits, arm)
        return next((one for one in found.verdicts if one.name == name), None) if found else None


def measured(record: RunRecord) -> MeasuredRun:
    """Return the metrics of a run."""
    return MeasuredRun(record.arm, record.limits, record.round_number, metrics_of(record), record.error, record.clock)


def sha256_of(text: str) -> str:
    """Return the SHA-256 of a text in UTF-8, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()
