"""`stowage compare` when an arm is killed: its turn ends at once, and no other."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from arm_environment import OWN_ARM, ArmEnvironment

from stowage_testbed.base.wait import HANG_S, wait_until
from stowage_testbed.cluster.processes import processes_of
from stowage_testbed.compare.bundle import read_bundle
from stowage_testbed.toolchain import choose_minor, tool_path

TURN_TIMEOUT_S = HANG_S
"""Half of what the step would wait."""

MEASURING_FAILED = 1

VAIN = """\
version: 1
name: test/vain
description: Waits for what cannot come.
nodes:
  - {count: 1, prefix: vain, cpu: "1", memory: 1G}
workload:
  - {name: small, replicas: 1, cpu: 100m, memory: 100M}
  - {name: huge, replicas: 1, cpu: 500, memory: 1G}
steps:
  - apply: small
  - wait: {for: bound, of: small}
  - measure: start
  - apply: huge
  - wait: {for: bound, of: huge, timeout_s: 250}
  - measure: stop
expect: {allow_unplaceable: true, end: {placed: 2}}
"""

pytestmark = pytest.mark.e2e


@pytest.fixture
def comparing(
    environment: ArmEnvironment, tmp_path: Path
) -> Iterator[subprocess.Popen[bytes]]:
    """Compare the stock scheduler with itself, described by a file."""
    scenario, own = tmp_path / "test" / "vain.yaml", tmp_path / "mine.yaml"
    scenario.parent.mkdir()
    scenario.write_text(VAIN)
    own.write_text(OWN_ARM.format(binary=tool_path("kube-scheduler", choose_minor())))
    code = "from stowage_testbed.cli import main; main()"
    command = [sys.executable, "-c", code, "compare", str(scenario), "--warm-up", "0"]
    command += ["--arms", "default", "--arm-file", str(own), "--allow-unfair"]
    command += ["--repeat", "1", "--cluster", environment.cluster.name]
    command += ["--results", str(tmp_path / "bundle")]
    with (tmp_path / "said").open("wb") as said:
        process = subprocess.Popen(command, stdout=said, stderr=said)
    yield process
    if process.poll() is None:
        process.terminate()
        process.wait(TURN_TIMEOUT_S)


def test_a_turn_ends_with_its_arm_and_the_comparison_goes_on(
    environment: ArmEnvironment, comparing: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    """It waited until the step's time was up, for pods that nobody could place."""
    said = tmp_path / "said"
    for turn in (1, 2):
        scheduler = wait_for_pods(environment, said)
        scheduler.kill()

        wait_until(
            f"turn {turn} to end",
            lambda: said.read_text().count("ended by itself with -9"),
            turn.__eq__,
            timeout_s=TURN_TIMEOUT_S,
        )

    assert comparing.wait(TURN_TIMEOUT_S) == MEASURING_FAILED, said.read_text()
    errors = {one.arm: one.error for one in read_bundle(tmp_path / "bundle").records}
    assert errors.keys() == {"default", "mine"}
    for arm, error in errors.items():
        assert error.startswith(f"arm {arm} ended by itself with -9; its log ends with")
    assert environment.arm_objects() == []


def wait_for_pods(environment: ArmEnvironment, said: Path) -> psutil.Process:
    """Return the scheduler of the turn, once its last step waits."""

    def look() -> tuple[list[psutil.Process], int]:
        schedulers = [
            process
            for process in processes_of(environment.cluster.workdir)
            if "kube-scheduler" in process.name()
        ]
        pods = environment.core.list_pod_for_all_namespaces().items
        waiting = [one for one in pods if not one.spec.node_name]
        return schedulers, len(waiting)

    schedulers, _ = wait_until(
        f"a scheduler's pod to wait ({said})",
        look,
        lambda found: len(found[0]) == 1 and found[1] == 1,
        timeout_s=TURN_TIMEOUT_S,
    )
    return schedulers[0]
