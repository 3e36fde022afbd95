"""What arms read, and how they say they will run; ours by the chart's profiles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stowage_testbed.compare.arms.default import default_arm, plain_config
from stowage_testbed.compare.arms.kube_scheduler import (
    BATCHING,
    installed_config,
    settings_of,
)
from stowage_testbed.compare.arms.stowage import StowageArm, stowage_arm
from stowage_testbed.run.arm import Arm, ClientLimits
from stowage_testbed.simulate.process import ProfileMissingError

KUBECONFIG = Path("/arm/kubeconfig.yaml")


def test_a_scheduler_reads_its_own_configuration_with_given_limits() -> None:
    """A default that was written out would outlive its source.

    Its flags for limits are ignored under --config (trap T1).
    """
    plain = installed_config(plain_config("mine"), KUBECONFIG, None)
    shipped: dict[str, Any] = {
        "clientConnection": {"qps": 7, "contentType": "json"},
        "parallelism": 1,
    }
    kept = installed_config(shipped, KUBECONFIG, None)
    given = installed_config(shipped, KUBECONFIG, ClientLimits(500, 700))

    assert plain["clientConnection"] == {"kubeconfig": str(KUBECONFIG)}
    assert plain["leaderElection"] == {"leaderElect": False}
    assert plain["profiles"] == [{"schedulerName": "mine"}]
    assert kept["clientConnection"] == {
        **shipped["clientConnection"],
        "kubeconfig": str(KUBECONFIG),
    }
    assert kept["parallelism"] == 1
    assert given["clientConnection"] == {
        "qps": 500,
        "burst": 700,
        "contentType": "json",
        "kubeconfig": str(KUBECONFIG),
    }


STATED = {
    "clientConnection": {"qps": 9, "burst": 10},
    "parallelism": 1,
    "percentageOfNodesToScore": 100,
}


@pytest.mark.parametrize(
    ("config", "limits", "expected"),
    [
        (plain_config("mine"), None, (50, 100, 16, None)),
        (STATED, None, (9, 10, 1, 100)),
        (STATED, ClientLimits(500, 700), (500, 700, 1, 100)),
    ],
)
def test_settings_are_given_stated_or_the_defaults(
    config: dict[str, Any],
    limits: ClientLimits | None,
    expected: tuple[float, int, int, int | None],
) -> None:
    """The check compares what runs, not what is written; given limits come first."""
    found = settings_of(config, "v1", limits, {}, ())

    assert expected == (
        found.qps,
        found.burst,
        found.parallelism,
        found.sampled_percent,
    )


@pytest.mark.parametrize("arm", [default_arm(), StowageArm("mine", "default")])
def test_among_equals_no_scheduler_has_batching(arm: Arm) -> None:
    """Not all can have it, so that it would be an advantage of one (trap T2)."""
    equal = arm.settings(ClientLimits(500, 700))

    assert arm.settings(None).feature_gates == {BATCHING: True}
    assert equal.feature_gates == {BATCHING: False}
    assert (equal.qps, equal.burst) == (500, 700)


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


def test_a_profiles_own_settings_are_reported() -> None:
    """The deterministic one is no fair match for any other."""
    settings = StowageArm("mine", "deterministic").settings(None)

    assert (settings.parallelism, settings.sampled_percent) == (1, 100)
    assert settings.qps == 10_000


def test_a_missing_profile_is_answered_with_those_there_are() -> None:
    """A profile may come with a later change."""
    with pytest.raises(ProfileMissingError, match="optimizer-deterministic"):
        StowageArm("mine", "nowhere").settings(None)
