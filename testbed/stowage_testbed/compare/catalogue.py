"""The arms that there are, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from stowage_testbed.compare.arm_file import load_arm_file
from stowage_testbed.compare.arms import (
    default,
    file_arm,
    koordinator,
    stowage,
    yunikorn,
)
from stowage_testbed.compare.errors import (
    ArmNameTakenError,
    NoArmError,
    UnknownArmError,
)
from stowage_testbed.run.arm import Arm
from stowage_testbed.simulate import profile_file
from stowage_testbed.simulate.process import ProfileMissingError
from stowage_testbed.toolchain import ToolMissingError, tool_path


@dataclass(frozen=True, slots=True)
class Entry:
    """An arm, and what must be there for it to run.

    Attributes
    ----------
    tools
        Of the toolchain.
    profile
        Of the chart; empty for an arm without one.
    """

    make: Callable[[], Arm]
    tools: tuple[str, ...]
    profile: str = ""


_OURS = (stowage.SCHEDULER, "helm")

ARMS: Mapping[str, Entry] = {
    default.NAME: Entry(default.default_arm, ("kube-scheduler",)),
    stowage.NAME: Entry(stowage.stowage_arm, _OURS, stowage.PROFILE),
    stowage.SCORE_CACHE_NAME: Entry(
        stowage.score_cache_arm, _OURS, stowage.SCORE_CACHE_PROFILE
    ),
    koordinator.NAME: Entry(koordinator.koordinator_arm, (koordinator.TOOL,)),
    yunikorn.NAME: Entry(yunikorn.YunikornArm, (yunikorn.TOOL,)),
}


def choose_arms(names: Sequence[str], files: Sequence[Path] = ()) -> list[Arm]:
    """Return the arms of some names, then those of some arm files.

    Raises
    ------
    NoArmError
        None is asked for.
    UnknownArmError
        No arm has one of the names.
    ArmNameTakenError
        Two have one name.
    ArmFileFaultsError, ArmFileUnreadableError
        An arm file cannot be used.
    """
    if not names and not files:
        raise NoArmError(list(ARMS))
    for name in names:
        if name not in ARMS:
            raise UnknownArmError(name, list(ARMS))
    arms: list[Arm] = [ARMS[name].make() for name in names]
    arms += [file_arm.FileArm(load_arm_file(file)) for file in files]
    # A name of the catalogue always means the catalogue's arm, asked for or not.
    taken = set(ARMS) - set(names)
    for arm in arms:
        if arm.name in taken:
            raise ArmNameTakenError(arm.name)
        taken.add(arm.name)
    return arms


def unavailable_reason(name: str) -> str:
    """Return why an arm of the catalogue cannot run here; empty if it can."""
    entry = ARMS[name]
    try:
        for tool in entry.tools:
            tool_path(tool)
        if entry.profile:
            profile_file(entry.profile)
    except (ToolMissingError, ProfileMissingError) as error:
        return str(error)
    return ""
