"""The arms of a day: what acts in the windows, and how pods are placed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from stowage_testbed.base.errors import InputError

SCORING = "NodeResourcesFit"
MOST_ALLOCATED = {
    "name": SCORING,
    "args": {
        "scoringStrategy": {
            "type": "MostAllocated",
            "resources": [
                {"name": "cpu", "weight": 1},
                {"name": "memory", "weight": 1},
            ],
        }
    },
}
"""As the descheduler's documents ask for beside HighNodeUtilization."""


@dataclass(frozen=True, slots=True)
class Arm:
    """One way to go through the day.

    Attributes
    ----------
    deschedules
        Whether the descheduler's plugin acts in the windows.
    most_allocated
        Whether the scheduler puts pods where least is free; else as its profile says.
    """

    name: str
    deschedules: bool = False
    most_allocated: bool = False


ARMS = {
    arm.name: arm
    for arm in (
        Arm("none"),
        Arm("none-most-allocated", most_allocated=True),
        Arm("high-node-utilization", deschedules=True),
        Arm("high-node-utilization-most-allocated", True, most_allocated=True),
    )
}


def find_arm(name: str) -> Arm:
    """Return the arm of a name.

    Raises
    ------
    InputError
        There is none.
    """
    if name not in ARMS:
        raise InputError(f"no arm {name!r}; there are: {', '.join(ARMS)}")
    return ARMS[name]


@contextmanager
def configured(arm: Arm, profile: Path) -> Iterator[Path]:
    """Yield the KubeSchedulerConfiguration of an arm, made from a profile.

    Raises
    ------
    InputError
        The profile is not YAML of that kind.
    """
    if not arm.most_allocated:
        yield profile
        return
    try:
        configuration = yaml.safe_load(profile.read_text(encoding="utf-8"))
        for one in configuration["profiles"]:
            one["pluginConfig"] = [*_others(one), MOST_ALLOCATED]
    except (OSError, yaml.YAMLError, TypeError, KeyError) as error:
        raise InputError(
            f"{profile}: is no KubeSchedulerConfiguration with profiles ({error})"
        ) from error
    with TemporaryDirectory() as folder:
        file = Path(folder) / profile.name
        file.write_text(yaml.safe_dump(configuration), encoding="utf-8")
        yield file


def _others(profile: dict[str, Any]) -> list[Any]:
    return [one for one in profile.get("pluginConfig", []) if one["name"] != SCORING]
