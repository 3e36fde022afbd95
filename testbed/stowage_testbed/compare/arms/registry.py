"""The arms that there are, by name: the one place where an arm is registered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from stowage_testbed.errors import InputError
from stowage_testbed.run.arm import Arm
from stowage_testbed.simulate import profile_file
from stowage_testbed.simulate.errors import ProfileMissingError
from stowage_testbed.toolchain import tool_path
from stowage_testbed.toolchain.errors import ToolMissingError


@dataclass(frozen=True, slots=True)
class Entry:
    """An arm, and what must be there for it to run.

    Attributes
    ----------
    made_by
        File beside this one and function in it, as ``file:function``. It is imported
        when the arm is chosen: the names alone are wanted by every command's help.
    tools
        Of the toolchain.
    profile
        Of the chart; empty for an arm without one.
    """

    made_by: str
    tools: tuple[str, ...]
    profile: str = ""

    def make(self) -> Arm:
        """Return the arm."""
        file, _, function = self.made_by.partition(":")
        arm: Arm = getattr(import_module(f"{__package__}.{file}"), function)()
        return arm


ARMS: Mapping[str, Entry] = {
    "default": Entry("kube_scheduler:default_arm", ("kube-scheduler",)),
    "stowage": Entry("stowage:stowage_arm", ("stowage-scheduler", "helm"), "optimizer"),
    "stowage-score-cache": Entry(
        "stowage:score_cache_arm", ("stowage-scheduler", "helm"), "score-cache"
    ),
    "koordinator": Entry("koordinator:koordinator_arm", ("koord-scheduler",)),
    "yunikorn": Entry("yunikorn:YunikornArm", ("yunikorn-scheduler",)),
}


def choose_arms(names: Sequence[str], files: Sequence[Path] = ()) -> list[Arm]:
    """Return the arms of some names, then those of some arm files.

    Raises
    ------
    InputError
        None is asked for, no arm has one of the names, two have one name, or an arm
        file cannot be used.
    """
    from stowage_testbed.compare.arm_file.load import load_arm_file  # noqa: PLC0415
    from stowage_testbed.compare.arms.file_arm import FileArm  # noqa: PLC0415

    if not names and not files:
        raise InputError(
            "nothing to compare: name arms with --arms, as in "
            f"{','.join(list(ARMS)[:2])}, or describe a scheduler of your own with "
            "--arm-file"
        )
    for name in names:
        if name not in ARMS:
            raise InputError(
                f"there is no arm {name!r}; the arms are {', '.join(ARMS)}; "
                "describe a scheduler of your own with --arm-file"
            )
    arms: list[Arm] = [ARMS[name].make() for name in names]
    arms += [FileArm(load_arm_file(file)) for file in files]
    # A registered name always means the registered arm, asked for or not.
    taken = set(ARMS) - set(names)
    for arm in arms:
        if arm.name in taken:
            raise InputError(
                f"two arms are called {arm.name!r}; name each once, and give an arm "
                "file's scheduler another `name`"
            )
        taken.add(arm.name)
    return arms


def unavailable_reason(name: str) -> str:
    """Return why a registered arm cannot run here; empty if it can."""
    entry = ARMS[name]
    try:
        for tool in entry.tools:
            tool_path(tool)
        if entry.profile:
            profile_file(entry.profile)
    except (ToolMissingError, ProfileMissingError) as error:
        return str(error)
    return ""
