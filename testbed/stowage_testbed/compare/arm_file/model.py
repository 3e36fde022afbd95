"""A scheduler of the user's own, as its file describes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from stowage_testbed.compare.arms.account import Rights
from stowage_testbed.run.arm import ArmSettings, PodOverrides


@dataclass(frozen=True, slots=True)
class ArmFile:
    """A scheduler and how it is started.

    Attributes
    ----------
    binary
        An executable file.
    arguments, environment, configuration, ready
        With placeholders: see `stowage_testbed.compare.arm_file.placeholders`.
    configuration
        ``None`` for a scheduler without a configuration file.
    settings
        As the user declares them.
    """

    path: Path
    name: str
    binary: Path
    arguments: tuple[str, ...]
    ready: str
    pod_overrides: PodOverrides
    rights: Rights
    settings: ArmSettings
    configuration: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
