"""How our own arms say they will run, read from the chart's profiles."""

from __future__ import annotations

import pytest

from stowage_testbed.compare.arms.kube_scheduler import BATCHING
from stowage_testbed.compare.arms.stowage import StowageArm, stowage_arm
from stowage_testbed.run.arm import ClientLimits
from stowage_testbed.simulate.process import ProfileMissingError


def test_our_arm_is_what_the_chart_installs_by_default() -> None:
    """The optimiser is part of what an installation changes."""
    arm = stowage_arm()

    settings = arm.settings(None)

    assert arm.pod_overrides.scheduler_name == "stowage"
    assert settings.version.endswith("+optimizer")
    assert (settings.qps, settings.burst) == (50, 100)
    assert settings.notes == ("the optimiser runs beside it",)


@pytest.mark.parametrize(
    ("profile", "batching"),
    [
        ("default", True),
        ("optimizer", True),
        ("score-cache", False),
        ("deterministic", False),
    ],
)
def test_a_plugin_that_does_not_sign_switches_batching_off(
    profile: str, batching: bool
) -> None:
    """Silently: an arm that did not say so would seem equal to the stock one."""
    settings = StowageArm("mine", profile).settings(None)

    assert settings.feature_gates == {BATCHING: batching}


def test_among_equals_batching_is_off_whatever_the_profile() -> None:
    """So that it explains no difference."""
    settings = StowageArm("mine", "default").settings(ClientLimits(500, 700))

    assert settings.feature_gates == {BATCHING: False}
    assert (settings.qps, settings.burst) == (500, 700)


def test_a_profiles_own_settings_are_reported() -> None:
    """The deterministic one is no fair match for any other."""
    settings = StowageArm("mine", "deterministic").settings(None)

    assert (settings.parallelism, settings.sampled_percent) == (1, 100)
    assert settings.qps == 10_000


def test_a_missing_profile_is_answered_with_those_there_are() -> None:
    """A profile may come with a later change."""
    with pytest.raises(ProfileMissingError, match="optimizer-deterministic"):
        StowageArm("mine", "nowhere").settings(None)
