"""What surrounds the steps of a run: what places the pods, and what else happens."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from stowage_testbed.base.errors import StowageError
from stowage_testbed.helm import Release as ReleaseOnCluster
from stowage_testbed.helm.values import merge_values
from stowage_testbed.run.arm import PodOverrides
from stowage_testbed.run.context import RunContext
from stowage_testbed.run.environment import ScenarioEnvironment
from stowage_testbed.run.invariant_checks import WATCHED
from stowage_testbed.run.listener import WindowListener
from stowage_testbed.run.recorder import RunRecorder
from stowage_testbed.run.release import make_optimizer_values, switch_release
from stowage_testbed.scenario.model import Scenario
from stowage_testbed.scenario.steps.action import Step
from stowage_testbed.scenario.steps.applying import Release

if TYPE_CHECKING:
    from stowage_testbed.run.steps.context import StepContext


class Harness:
    """Has the chart's release serve as the steps say; others override what differs.

    Attributes
    ----------
    pod_overrides
        What is changed in every pod that the steps create; ``None`` for nothing.
    window_listener
        Called when the measured window opens and closes.
    is_supervised
        Whether a container of the release that ends is an error that ends the run.
    is_released
        Whether the steps choose the release that serves. Otherwise something serves
        already, `release` changes nothing, and `pack` waits until the pods are at rest.
    serving_release
        The release that serves, once a step has brought it.
    is_judged
        Whether the invariants, and what a scenario expects of its metrics, are checked
        at the end.
    """

    pod_overrides: PodOverrides | None = None
    window_listener = WindowListener()
    is_supervised = True
    is_released = True
    is_judged = True
    serving_release: ReleaseOnCluster | None = None

    def before(self, context: StepContext, step: Step) -> None:
        """Do what comes before a step; what goes wrong is the step's error."""

    def after(self, context: StepContext, step: Step) -> None:
        """Do what comes after a step that was carried out, likewise."""

    @contextmanager
    def serving(self, environment: ScenarioEnvironment, recorder: RunRecorder) -> Iterator[None]:
        """Serve for the block; the environment has been prepared.

        What goes wrong with the scheduler is raised, at the latest at the block's end.
        """
        del environment, recorder
        yield

    def find_scheduler_pids(self) -> tuple[int, ...]:
        """Return the processes of what places the pods.

        Raises
        ------
        StowageError
            Nothing of this machine does, as far as is known.
        """
        serving = self.serving_release
        pid = serving.process_ids().get("scheduler") if serving else None
        if pid is None:
            raise StowageError("no scheduler of a release runs here; have a step `release` before")
        return (pid,)

    def release(self, context: RunContext, scenario: Scenario, release: Release, recorder: RunRecorder) -> None:
        """Install a release, or bring it to its settings, and watch what it brings."""
        of_optimizer = make_optimizer_values(scenario.optimizer) if release.optimizer else {}
        # What is measured is of a scheduler that has done nothing else, and steps that
        # change the release have it start anew.
        may_keep = release.can_be_kept and not (scenario.is_measured or recorder.has_release)
        # The logs of the release before go with its pod.
        recorder.read_logs()
        serving = switch_release(
            context,
            release.profile,
            optimizer_enabled=release.optimizer,
            values=merge_values(of_optimizer, release.values),
            may_keep=may_keep,
        )
        self.serving_release = serving.release
        recorder.note_release(serving)
        for source in WATCHED:
            context.observer.watch(source)
