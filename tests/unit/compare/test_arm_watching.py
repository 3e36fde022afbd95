"""A turn ends with its arm, and a comparison with its cluster."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from stowage_testbed.base.ending import Ending, ended_early, report
from stowage_testbed.base.errors import StowageError
from stowage_testbed.compare.arms.program import (
    READY,
    ArmEndedError,
    ArmProcess,
    Program,
)
from stowage_testbed.compare.arms.serving import ServingArm, ended_with

FOREVER_S = 60.0


@pytest.fixture
def arm(tmp_path: Path) -> Iterator[ServingArm]:
    """Yield an arm of two programs that sleep."""
    processes = {}
    for name in ("optimizer", "scheduler"):
        program = Program(
            name, ["sh", "-c", f"echo {name} says this; exec sleep 600"], {}, _at_once
        )
        processes[name] = ArmProcess("mine", program, tmp_path)
        processes[name].start(tmp_path)
    yield ServingArm(processes, "")
    for process in processes.values():
        process.end()


def _at_once(_: object) -> str:
    return READY


def wait_with(arm: ServingArm) -> None:
    """Wait for ever for what only the arm can bring about."""
    with ended_with(arm):
        threading.Event().wait(FOREVER_S)


@pytest.mark.parametrize("number", [0, 1])
def test_a_program_that_is_killed_ends_the_block_by_its_arm(
    arm: ServingArm, number: int
) -> None:
    """A turn waited minutes for pods that nobody was there to place."""
    threading.Timer(0.2, os.kill, [arm.pids[number], signal.SIGKILL]).start()

    with pytest.raises(ArmEndedError, match=r"arm mine ended by itself with -9"):
        wait_with(arm)


def test_an_arm_that_has_ended_before_is_not_waited_for(arm: ServingArm) -> None:
    """It may end between its start and the first look."""
    os.kill(arm.pids[0], signal.SIGKILL)

    with pytest.raises(ArmEndedError):
        wait_with(arm)


def test_nothing_is_left_of_a_watch_over_an_arm_that_goes_on(arm: ServingArm) -> None:
    """A comparison has hundreds of turns."""
    descriptors, threads = os.listdir("/proc/self/fd"), threading.active_count()

    with ended_with(arm):
        pass

    assert os.listdir("/proc/self/fd") == descriptors
    assert threading.active_count() == threads


def test_the_end_of_the_cluster_comes_before_that_of_its_arm(arm: ServingArm) -> None:
    """Arms die with their cluster; the next turn would begin on what is gone."""

    def whole() -> None:
        with ended_early() as comparison:
            try:
                wait_and_clean_up(arm, comparison)
            except ArmEndedError:
                pytest.fail("the comparison would go on")

    with pytest.raises(StowageError, match="etcd has ended"):
        whole()


def wait_and_clean_up(arm: ServingArm, comparison: Ending) -> None:
    with ended_with(arm):
        threading.Timer(0.2, comparison.now, [StowageError("etcd has ended")]).start()
        try:
            threading.Event().wait(FOREVER_S)
        finally:
            # What runs on the way out takes its time, and the supervisor kills all
            # that belongs to the cluster.
            os.kill(arm.pids[0], signal.SIGKILL)
            threading.Event().wait(0.5)


def test_a_thread_s_failure_reaches_those_who_watch_over_the_cluster(
    arm: ServingArm,
) -> None:
    """The arm's own watch knows nothing of observers."""
    with ended_early() as comparison:
        with ended_with(arm):
            report(StowageError("the watch of Pod broke off"))

        assert [str(one) for one in comparison.reports] == [
            "the watch of Pod broke off"
        ]
