"""The arms that there are, one file a scheduler; see `serving.Arm`. Here is the one place where one is registered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from stowage_testbed.base.errors import InputError
from stowage_testbed.cluster.feature_gates import DEFAULTS, FeatureGates, parse_gates
from stowage_testbed.toolchain import choose_minor

if TYPE_CHECKING:
    from stowage_testbed.compare.arms.serving import Arm

ARMS: Mapping[str, str] = {
    "default": "kube_scheduler:default_arm",
    "stowage": "stowage:StowageArm",
    "stowage-score-cache": "stowage:score_cache_arm",
    "stowage-devices": "stowage:devices_arm",
    "koordinator": "kube_scheduler:koordinator_arm",
    "yunikorn": "yunikorn:YunikornArm",
}
"""By name, the file beside this one and what in it makes the arm. It is imported when
the arm is chosen: the names alone are wanted by every command's help."""


def choose_arms(
    names: Sequence[str], files: Sequence[Path] = (), minor: str | None = None, features: FeatureGates = DEFAULTS
) -> list[Arm]:
    """Return the arms of some names, then those of some arm files; an `InputError` if one cannot be used.

    A name may say which feature gates its arm has besides and of which minor of Kubernetes it is, as in
    ``default+GenericWorkload@1.37``; the others are of ``minor``. Each has the feature gates of ``features`` that its
    program knows.
    """
    from stowage_testbed.compare.arms.file_arm import load_arm_file  # noqa: PLC0415

    way_out = "describe a scheduler of your own with --arm-file"
    if not names and not files:
        first = ",".join(list(ARMS)[:2])
        raise InputError(f"nothing to compare: name arms with --arms, as in {first}, or {way_out}")
    arms: list[Arm] = []
    for name in names:
        settings, _, own = name.partition("@")
        registered, *gates = settings.split("+")
        if registered not in ARMS:
            raise InputError(f"there is no arm {name!r}; the arms are {', '.join(ARMS)}; {way_out}")
        file, _, maker = ARMS[registered].partition(":")
        made = getattr(import_module(f"{__name__}.{file}"), maker)()
        arms.append(replace(made, name=name, minor=choose_minor(own or minor), features=features | parse_gates(gates)))
    minor = choose_minor(minor)
    arms += [replace(load_arm_file(one), minor=minor, features=features) for one in files]
    # A registered name always means the registered arm, asked for or not.
    taken = set(ARMS) - set(names)
    for arm in arms:
        if arm.name in taken:
            raise InputError(
                f"two arms are called {arm.name!r}; name each once, and give an arm file's scheduler another `name`"
            )
        taken.add(arm.name)
    return arms
