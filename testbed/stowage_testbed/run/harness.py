"""What surrounds the steps of a run: what places the pods, and what else happens."""

from collections.abc import Iterator
from contextlib import contextmanager

from stowage_testbed.api.pod_templates import PodOverrides
from stowage_testbed.base.errors import StowageError
from stowage_testbed.helm import Release as ReleaseOnCluster
from stowage_testbed.helm.release import merge_values
from stowage_testbed.observe.source import BUDGETS, PACKING_PLANS, REPLICA_SETS, RESERVATIONS, STATEFUL_SETS
from stowage_testbed.run.context import RunContext
from stowage_testbed.run.listener import RunRecorder
from stowage_testbed.run.release import Wanted, make_optimizer_values, switch_release
from stowage_testbed.scenario.model import Scenario
from stowage_testbed.scenario.steps.action import Step
from stowage_testbed.scenario.steps.context import StepContext, WindowListener
from stowage_testbed.scenario.steps.releasing import Release

WATCHED = (PACKING_PLANS, RESERVATIONS, BUDGETS, REPLICA_SETS, STATEFUL_SETS)
"""What the invariants look at beside pods and nodes."""


class Harness:
    """Has the chart's release serve as the steps say; others override what differs.

    Every pod that the steps create gets the ``pod_overrides``; the ``window_listener`` is called when the measured
    window opens and closes. If ``is_supervised``, a container of the release that ends is an error that ends the run.
    If ``is_released``, the steps choose the release that serves; otherwise something serves already, `release` changes
    nothing, and `pack` waits until the pods are at rest. If ``is_judged``, the invariants, and what a scenario expects
    of its metrics, are checked at the end.
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
    def serving(self, namespace: str, recorder: RunRecorder) -> Iterator[None]:
        """Serve for the block; the namespace and the nodes are there.

        What goes wrong with the scheduler is raised, at the latest at the block's end.
        """
        del namespace, recorder
        yield

    def find_scheduler_pids(self) -> tuple[int, ...]:
        """Return the processes of what places the pods; a StowageError if none is known on this machine."""
        pid = self.serving_release.process_ids().get("scheduler") if self.serving_release else None
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
        wanted = Wanted(release.profile, release.optimizer, merge_values(of_optimizer, release.values))
        serving = switch_release(context, wanted, may_keep=may_keep)
        self.serving_release = serving.release
        recorder.note_release(serving)
        for source in WATCHED:
            context.observer.watch(source)
