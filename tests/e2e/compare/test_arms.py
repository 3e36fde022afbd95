"""Every arm on a real cluster: it starts, places pods, and leaves nothing behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from arm_environment import ArmEnvironment, secrets_in
from kubernetes.client import CustomObjectsApi
from release_environment import listening

from stowage_testbed.base.wait import HANG_S, wait_until
from stowage_testbed.compare.arms.program import ArmEndedError
from stowage_testbed.compare.arms.registry import ARMS, choose_arms
from stowage_testbed.compare.arms.stowage import stowage_arm
from stowage_testbed.run.arm import ClientLimits, RunningArm

pytestmark = pytest.mark.e2e

LIMITS = ClientLimits(qps=200.0, burst=300)
OTHERS = {"koordinator", "yunikorn"}
"""Schedulers of other projects, which only `make test-all` builds."""


@pytest.fixture
def left_as_it_was(environment: ArmEnvironment) -> Iterator[None]:
    """Check that a test leaves no process and no object on the cluster."""
    before = environment.processes()
    yield
    assert environment.processes() == before
    assert environment.arm_objects() == []
    assert environment.custom_objects() == []


@pytest.mark.usefixtures("left_as_it_was")
@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.nightly] * (name in OTHERS)) for name in ARMS])
def test_an_arm_places_pods_and_is_reported_when_killed(name: str, environment: ArmEnvironment, tmp_path: Path) -> None:
    """With the limits that it was given, and only on the loopback.

    Limits that do not arrive, or a scheduler that is gone, would falsify a run.
    """
    (arm,) = choose_arms([name])
    with arm.running(environment.cluster, tmp_path, LIMITS) as running:
        pids = running.pids
        with environment.pods(arm.pod_overrides) as names:
            environment.wait_bound(names)
        running.check()
        programs = [psutil.Process(pid) for pid in pids]
        started = [child for program in programs for child in program.children()]
        assert set(listening([*programs, *started])) == {"127.0.0.1"}
        assert environment.arm_objects()
        assert all(file.stat().st_size for file in running.log_files.values())
        configuration = running.configuration
        psutil.Process(pids[-1]).kill()

        message = wait_until("the report", lambda: _report(running), bool, timeout_s=HANG_S)

    assert (arm.settings(LIMITS).qps, arm.settings(LIMITS).burst) == (200, 300)
    assert "200" in configuration
    assert "300" in configuration
    assert f"arm {arm.name} ended by itself with -9" in message
    assert not any(psutil.pid_exists(pid) for pid in pids)
    assert secrets_in(tmp_path) == []


@pytest.mark.usefixtures("left_as_it_was")
def test_plans_of_an_arm_go_with_it(environment: ArmEnvironment, tmp_path: Path) -> None:
    """A later arm would carry them out."""
    plan = {
        "apiVersion": "stowage.dev/v1alpha1",
        "kind": "PackingPlan",
        "metadata": {"name": "mine"},
        "spec": {"executionMode": "DryRun"},
    }
    with stowage_arm().running(environment.cluster, tmp_path, None):
        objects: Any = CustomObjectsApi(environment.api)
        objects.create_cluster_custom_object("stowage.dev", "v1alpha1", "packingplans", plan)

        assert environment.custom_objects() == ["packingplans/mine"]

    assert secrets_in(tmp_path) == []


def _report(running: RunningArm) -> str:
    try:
        running.check()
    except ArmEndedError as error:
        return str(error)
    return ""
