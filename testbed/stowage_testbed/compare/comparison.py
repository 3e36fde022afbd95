"""What was compared, where, and with what: all of a comparison but its runs."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from stowage_testbed.compare.calibration import Speed
from stowage_testbed.compare.verdicts.judging import Question
from stowage_testbed.run.arm import ArmSettings
from stowage_testbed.scenario.headlines import GENERAL, OF_RECOVERY

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
    """A scheduler under comparison: what it was built from, and how it ran.

    Settings, and the hash of the configuration that it read, are by kind of client
    limits.
    """

    name: str
    settings: Mapping[str, ArmSettings]
    configuration_sha256: Mapping[str, str] = field(default_factory=dict)
    build: str = ""


@dataclass(frozen=True, slots=True)
class PreflightRow:
    """One setting of all arms under one kind of client limits.

    It is fair if no arm has an advantage from it. The note says what the difference
    does, or why it is no unfairness.
    """

    limits: str
    setting: str
    values: Mapping[str, str]
    fair: bool
    note: str = ""

    @property
    def differs(self) -> bool:
        """Whether the arms do not all have one value."""
        return len(set(self.values.values())) > 1


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison as it was asked for and prepared.

    Attributes
    ----------
    started
        RFC 3339.
    limits
        Kinds of client limits under which every arm runs: ``own``, ``equal``.
    rounds
        How many were asked for; there may be fewer records.
    question
        Which metrics get a verdict, and whether each round is looked at.
    warm_up
        Pods that every scheduler placed before its window opened.
    environment
        As `stowage_testbed.toolchain.environment.environment` gives it.
    speed
        Of the machine, for `stowage baseline`.
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


def sha256_of(text: str) -> str:
    """Return the SHA-256 of a text in UTF-8, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()
