"""A scheduler of the user's own: the stock one, described by a file."""

from __future__ import annotations

from pathlib import Path

import pytest
from arm_environment import OWN_ARM, ArmEnvironment

from stowage_testbed.compare.arms.registry import choose_arms
from stowage_testbed.run.arm import ClientLimits
from stowage_testbed.toolchain import tool_path

pytestmark = pytest.mark.e2e


def test_a_scheduler_from_a_file_places_pods(
    environment: ArmEnvironment, tmp_path: Path
) -> None:
    """Nothing of the testbed is written for it."""
    file = tmp_path / "mine.yaml"
    file.write_text(OWN_ARM.format(binary=tool_path("kube-scheduler")))
    (arm,) = choose_arms([], [file])
    before = environment.processes()

    with (
        arm.running(environment.cluster, tmp_path, ClientLimits(70, 80)) as running,
        environment.pods(arm.pod_overrides) as names,
    ):
        environment.wait_bound(names)
        running.check()
        configuration = running.configuration

    assert "qps: 70, burst: 80" in configuration
    assert environment.processes() == before
    assert environment.arm_objects() == []
