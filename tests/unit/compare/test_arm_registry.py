"""The arms by name, and what they know of files that others write."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stowage_testbed.base.errors import InputError
from stowage_testbed.compare.arms.registry import ARMS, choose_arms
from stowage_testbed.compare.arms.stowage import SIGNING
from stowage_testbed.toolchain.location import ToolMissingError

PLUGINS = Path(__file__).parents[3] / "scheduler" / "plugins"
OWN = """\
name: {name}
binary: /bin/sh
arguments: ["{{port}}"]
schedulerName: mine
ready: http://127.0.0.1:{{port}}/
"""


def test_the_arms_are_those_of_the_comparison() -> None:
    """Their names stand in results that are read years later."""
    assert list(ARMS) == [
        "default",
        "stowage",
        "stowage-score-cache",
        "koordinator",
        "yunikorn",
    ]
    assert [arm.name for arm in choose_arms(list(ARMS))] == list(ARMS)


def test_no_two_arms_share_a_scheduler_name() -> None:
    """Two schedulers would fight for one pod."""
    names = [arm.pod_overrides.scheduler_name for arm in choose_arms(list(ARMS))]

    assert len(set(names)) == len(names)


def test_an_unknown_arm_is_answered_with_the_known_ones() -> None:
    """A typing error should not need the documentation."""
    with pytest.raises(InputError, match=r"'yunicorn'.* koordinator, yunikorn"):
        choose_arms(["default", "yunicorn"])


@pytest.mark.parametrize("names", [["default"], []])
def test_an_own_scheduler_cannot_take_a_known_name(
    tmp_path: Path, names: list[str]
) -> None:
    """A result must not say `default` of something else; another name comes last."""
    file = tmp_path / "mine.yaml"
    file.write_text(OWN.format(name="mine"))
    known = ["yunikorn", *names]
    assert [arm.name for arm in choose_arms(known, [file])] == [*known, "mine"]
    file.write_text(OWN.format(name="default"))

    with pytest.raises(InputError, match="'default'"):
        choose_arms(names, [file])


@pytest.mark.parametrize("name", ARMS)
def test_an_arm_whose_program_is_missing_names_the_way_out(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A comparison may go on without it, but must say why."""
    monkeypatch.setenv("STOWAGE_CACHE", str(tmp_path))
    (arm,) = choose_arms([name])

    with pytest.raises(ToolMissingError, match="stowage tools install"):
        arm.build()


def test_the_plugins_that_sign_pods_are_those_of_the_source() -> None:
    """One that does not sign switches batching off, without a word (trap T2)."""
    signing = set()
    for file in PLUGINS.rglob("*.go"):
        if "fwk.SignPlugin" in file.read_text() and not file.stem.endswith("_test"):
            sources = "".join(other.read_text() for other in file.parent.glob("*.go"))
            signing |= set(re.findall(r"\bName\s*=\s*\"(\w+)\"", sources))

    assert signing == SIGNING
