"""What the arms on kube-scheduler's framework read, and how they say they will run."""

from __future__ import annotations

from pathlib import Path

from stowage_testbed.compare.arms.kube_scheduler import (
    BATCHING,
    default_arm,
    installed_config,
    plain_config,
    settings_of,
)
from stowage_testbed.run.arm import ClientLimits

KUBECONFIG = Path("/arm/kubeconfig.yaml")


def test_without_limits_the_schedulers_own_are_left_alone() -> None:
    """A number written out here would outlive the default that it was copied from."""
    config = installed_config(plain_config("mine"), KUBECONFIG, None)

    assert config["clientConnection"] == {"kubeconfig": str(KUBECONFIG)}
    assert config["leaderElection"] == {"leaderElect": False}
    assert config["profiles"] == [{"schedulerName": "mine"}]


def test_limits_are_written_where_the_scheduler_looks() -> None:
    """Its flags for them are ignored under --config (trap T1)."""
    config = installed_config(plain_config("mine"), KUBECONFIG, ClientLimits(500, 700))

    assert config["clientConnection"]["qps"] == 500
    assert config["clientConnection"]["burst"] == 700


def test_what_a_profile_states_is_kept() -> None:
    """It is the profile that is compared."""
    shipped = {"clientConnection": {"qps": 7, "contentType": "json"}, "parallelism": 1}

    config = installed_config(shipped, KUBECONFIG, None)

    assert config["clientConnection"]["qps"] == 7
    assert config["clientConnection"]["contentType"] == "json"
    assert config["parallelism"] == 1


def test_settings_have_the_defaults_of_what_is_not_stated() -> None:
    """The check compares what runs, not what is written."""
    settings = settings_of(plain_config("mine"), "v1", None, {}, ())

    assert (settings.qps, settings.burst) == (50, 100)
    assert settings.parallelism == 16
    assert settings.sampled_percent is None


def test_settings_have_what_the_configuration_states() -> None:
    """A deterministic profile differs in all of these."""
    config = {
        "clientConnection": {"qps": 9, "burst": 10},
        "parallelism": 1,
        "percentageOfNodesToScore": 100,
    }

    settings = settings_of(config, "v1", None, {}, ())

    assert (settings.qps, settings.burst) == (9, 10)
    assert (settings.parallelism, settings.sampled_percent) == (1, 100)


def test_given_limits_come_before_stated_ones() -> None:
    """Equal limits are equal whatever a profile says."""
    config = {"clientConnection": {"qps": 9}}

    settings = settings_of(config, "v1", ClientLimits(500, 700), {}, ())

    assert (settings.qps, settings.burst) == (500, 700)


def test_among_equals_the_stock_scheduler_has_no_batching() -> None:
    """The others cannot have it, so that it would be an advantage of one (trap T2)."""
    arm = default_arm()

    assert arm.settings(None).feature_gates == {BATCHING: True}
    assert arm.settings(ClientLimits(50, 100)).feature_gates == {BATCHING: False}
