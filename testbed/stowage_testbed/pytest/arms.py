"""One scheduler at a time on a session's cluster, as comparisons run them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from stowage_testbed.cluster.base import Cluster
from stowage_testbed.cluster.components import kill_one, processes_of
from stowage_testbed.compare.arms.program import ArmEndedError
from stowage_testbed.run.arm import Arm, PodOverrides, RunningArm

_OPTIMIZER = "PriorityOptimizer"


@dataclass(frozen=True, slots=True)
class SchedulerArm:
    """A scheduler that serves on the cluster.

    `apply` sees to it that its pods have its ``pod_overrides``.
    """

    name: str
    pod_overrides: PodOverrides
    running: RunningArm

    @property
    def scheduler_name(self) -> str:
        """What its pods have as `schedulerName`."""
        return self.pod_overrides.scheduler_name

    @property
    def configuration(self) -> str:
        """Its configuration as it reads it."""
        return self.running.configuration

    @property
    def log_files(self) -> Mapping[str, Path]:
        """Its logs by the name of what writes them."""
        return self.running.log_files

    @property
    def optimizes(self) -> bool:
        """Whether it makes plans for pods that it finds no room for."""
        return _OPTIMIZER in self.configuration


class SessionArms:
    """Keeps the scheduler that was asked for last, until another one is."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._folder = cluster.workdir / "pytest-arms"
        self._ending = ExitStack()
        self._arm: Arm | None = None
        self._serving: SchedulerArm | None = None
        self._started = 0

    def use(self, arm: Arm) -> SchedulerArm:
        """Start a scheduler in the place of the one before; on return it serves.

        Raises
        ------
        StowageError, ToolMissingError
            As `stowage_testbed.run.arm.Arm.running`.
        """
        if self._serving is not None and self._arm == arm and self._lives():
            return self._serving
        self.end()
        self._started += 1
        folder = self._folder / f"{self._started:03d}-{arm.name}"
        running = self._ending.enter_context(arm.running(self._cluster, folder, None))
        self._arm = arm
        self._serving = SchedulerArm(arm.name, arm.pod_overrides, running)
        return self._serving

    def end(self) -> None:
        """End the scheduler, if there is one."""
        self._arm = self._serving = None
        self._ending.close()

    def end_leftovers(self) -> None:
        """Kill what a session that was killed left running."""
        for process in processes_of(self._cluster.workdir):
            # One that ends just now has no folder any more.
            with suppress(psutil.Error):
                if Path(process.cwd()).is_relative_to(self._folder):
                    kill_one(process)

    def _lives(self) -> bool:
        try:
            if self._serving is not None:
                self._serving.running.check()
        except ArmEndedError:
            return False
        return True
