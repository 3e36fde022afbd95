"""Starts that fail say why, with the end of the log, and leave nothing behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from arm_environment import ArmEnvironment

from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.wait import HANG_S, wait_until
from stowage_testbed.compare.arms.default import default_arm
from stowage_testbed.compare.arms.kube_scheduler import KubeSchedulerArm

pytestmark = pytest.mark.e2e


@pytest.fixture(autouse=True)
def nothing_left(environment: ArmEnvironment) -> Iterator[None]:
    """Check that a failed start leaves no process and no object on the cluster."""
    before = environment.processes()
    yield
    assert environment.processes() == before
    assert environment.arm_objects() == []


def start(arm: KubeSchedulerArm, environment: ArmEnvironment, folder: Path) -> str:
    """Return how the start of an arm fails."""
    with (
        pytest.raises(StowageError) as caught,
        arm.running(environment.cluster, folder, None),
    ):
        pytest.fail("it started")
    return str(caught.value)


def test_a_configuration_that_the_scheduler_refuses(
    environment: ArmEnvironment, tmp_path: Path
) -> None:
    """A misspelt plugin is the most common of all."""
    config = {
        **default_arm().config(),
        "profiles": [{"plugins": {"score": {"enabled": [{"name": "Nowhere"}]}}}],
    }

    message = start(
        replace(default_arm(), config=lambda: config), environment, tmp_path
    )

    assert "arm default did not start: scheduler ended with 1" in message
    assert "Nowhere" in message


def test_a_port_that_is_taken_meanwhile(
    environment: ArmEnvironment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process may be quicker between a port's choice and its use."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        monkeypatch.setattr(
            "stowage_testbed.compare.arms.kube_scheduler.port_beside", lambda _: port
        )

        message = start(default_arm(), environment, tmp_path)

    assert "scheduler ended with 1" in message
    assert f"127.0.0.1:{port}: bind: address already in use" in message


def test_a_binary_that_is_none(
    environment: ArmEnvironment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a disk that filled up."""
    binary = tmp_path / "kube-scheduler"
    binary.write_text("half of it")
    binary.chmod(0o755)
    monkeypatch.setattr(
        "stowage_testbed.compare.arms.kube_scheduler.tool_path", lambda *_: binary
    )

    message = start(default_arm(), environment, tmp_path)

    assert f"{binary} cannot be run: Exec format error" in message
    assert "(it wrote nothing)" in message


CALLER = """
import sys
from pathlib import Path
from types import SimpleNamespace
from stowage_testbed.api.client import new_api_client
from stowage_testbed.cluster.interruption import ending_cleanly
from stowage_testbed.compare.arms.default import default_arm
from stowage_testbed.base.clock import SystemClock

workdir, folder = map(Path, sys.argv[1:])
kubeconfig = workdir / "kubeconfig.yaml"
cluster = SimpleNamespace(
    name=workdir.name, workdir=workdir, kubeconfig=kubeconfig,
    api_client=lambda: new_api_client(kubeconfig),
)
with ending_cleanly(), default_arm().running(cluster, folder, None) as running:
    print(*running.pids, flush=True)
    SystemClock().pause(600)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_caller_that_is_interrupted(
    environment: ArmEnvironment, tmp_path: Path, number: signal.Signals
) -> None:
    """Ctrl-C in the middle of a comparison is how most of them end."""
    folders = (str(environment.cluster.workdir), str(tmp_path))
    arguments = [sys.executable, "-c", CALLER, *folders]
    with subprocess.Popen(
        arguments, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as caller:
        assert caller.stdout
        pid = int(caller.stdout.readline())
        os.kill(caller.pid, number)
        caller.wait(timeout=HANG_S)

    wait_until(
        "the scheduler's end",
        lambda: Path(f"/proc/{pid}").exists(),
        lambda there: not there,
        timeout_s=HANG_S,
    )
    assert yaml.safe_load((tmp_path / "scheduler.yaml").read_text())
    assert not (tmp_path / "kubeconfig.yaml").exists()
    assert list(environment.cluster.workdir.glob("*.token")) == []
