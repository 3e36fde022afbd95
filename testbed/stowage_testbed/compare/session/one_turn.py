"""One arm's turn: prepare, start, warm up, carry the steps out, record, clear."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path

from stowage_testbed.api.client import ApiRefusedError
from stowage_testbed.cluster.supervision import PATIENCE_S, needing_host_pods
from stowage_testbed.compare.arms.serving import ended_with
from stowage_testbed.compare.session.request import CompareListener, Turn
from stowage_testbed.compare.session.warming import warm_namespace, warm_up
from stowage_testbed.ending import EndingInterrupt, await_end
from stowage_testbed.helm.release import FileLog
from stowage_testbed.metrics.record import RunRecord
from stowage_testbed.observe.source import PACKING_PLANS
from stowage_testbed.recording.footprint import UNKNOWN, Footprint, FootprintMeter
from stowage_testbed.recording.run_record import RunLabel
from stowage_testbed.run.arm import Arm, ClientLimits, RunningArm
from stowage_testbed.run.catching_up import counted
from stowage_testbed.run.context import RunContext
from stowage_testbed.run.environment import ScenarioEnvironment, clear, prepare
from stowage_testbed.run.listener import WindowListener
from stowage_testbed.run.problem import PROBLEMS, in_words
from stowage_testbed.run.recorder import RunRecorder
from stowage_testbed.run.steps.execution import run_steps
from stowage_testbed.run.steps.measuring import OUTCOME
from stowage_testbed.run.window_record import window_record
from stowage_testbed.scenario.model import Scenario


class WindowMeter(WindowListener):
    """Reads a scheduler's memory and CPU time, and keeps its own process still.

    Parameters
    ----------
    pids
        The scheduler's processes.

    Attributes
    ----------
    footprint
        Of the scheduler, once the window is closed.
    """

    def __init__(self, pids: Iterable[int]) -> None:
        self._pids = tuple(pids)
        self._meter: FootprintMeter | None = None
        self.footprint: Footprint = UNKNOWN

    def open(self) -> None:
        """Forget former peaks, and clear up before it matters."""
        # A full collection stops every thread for a tenth of a second, and all receipts
        # with it: what is there already need not be looked through while it lasts.
        gc.collect()
        gc.freeze()
        self._meter = FootprintMeter(self._pids)

    def close(self) -> None:
        """Read the footprint; nothing happens unless the window is open."""
        if self._meter is None:
            return
        self.footprint, self._meter = self._meter.read(), None
        gc.unfreeze()


NOT_FOUND = HTTPStatus.NOT_FOUND
NO_WINDOW = (
    "no window was measured: `measure: start` or `measure: stop` was not reached"
)


class OneTurn:
    """Runs the turns of one comparison.

    Parameters
    ----------
    context
        The cluster.
    scenario
        One with steps.
    warm_up_pods
        Placed before the window opens; 0 for none.
    folder
        Takes the arms' configurations and logs.
    listener
        Receives each phase.
    """

    def __init__(
        self,
        context: RunContext,
        scenario: Scenario,
        warm_up_pods: int,
        folder: Path,
        listener: CompareListener,
    ) -> None:
        self._context = context
        self._scenario = scenario
        self._warm_up_pods = warm_up_pods
        self._folder = folder
        self._listener = listener
        self._begun = 0

    def run(
        self,
        turn: Turn,
        arm: Arm,
        limits: ClientLimits | None,
        keep: Callable[[RunRecord, str], None],
    ) -> None:
        """Run it, and give its record and the scheduler's configuration to ``keep``.

        What goes wrong with the arm or the scenario is the record's ``error``; the
        cluster is clean afterwards. What was measured is kept before anything is
        cleared, so that no error there can take it away.

        Raises
        ------
        StowageError
            It cannot be cleared: the next arm would not find a fresh cluster.
        """
        # Namespaces outlive a run by seconds, so that each has a number of its own.
        self._begun += 1
        number = self._begun
        try:
            keep(*self._outcome(turn, arm, limits, number))
            self._clear(number)
        except EndingInterrupt:
            # The process is being ended; there is no time to clear anything.
            raise
        except (KeyboardInterrupt, SystemExit):
            # The cluster's own end takes everything along, and is quicker.
            if self._context.lasting:
                self._clear(number)
            raise

    def _clear(self, number: int) -> None:
        self._listener.phase("clean up")
        clear(self._context, self._scenario, number)

    def _outcome(
        self, turn: Turn, arm: Arm, limits: ClientLimits | None, number: int
    ) -> tuple[RunRecord, str]:
        """Return the record, also that of a run whose arm failed after measuring."""
        record, configuration = None, ""
        try:
            with (
                needing_host_pods(self._context.cluster),
                self._started(turn, arm, limits, number) as (running, environment),
            ):
                record = self._measured(turn, arm, running, environment)
                configuration = running.configuration
                running.check()
        except PROBLEMS as problem:
            error = in_words(problem)
        else:
            return record, configuration
        await_end(PATIENCE_S)
        if record is None:
            return self._failed(turn, error), ""
        return replace(record, error=_joined(record.error, error)), configuration

    @contextmanager
    def _started(
        self, turn: Turn, arm: Arm, limits: ClientLimits | None, number: int
    ) -> Iterator[tuple[RunningArm, ScenarioEnvironment]]:
        """Start the arm for the block, and warm it up."""
        context = self._context
        self._listener.phase("prepare")
        environment = prepare(context, self._scenario, number)
        folder = (
            self._folder / turn.limits / f"round-{turn.round_number:03d}-{arm.name}"
        )
        self._listener.phase(f"start {arm.name}")
        with (
            arm.running(context.cluster, folder, limits) as running,
            ended_with(running),
        ):
            if self._warm_up_pods:
                self._listener.phase("warm up")
                warm_up(
                    context,
                    arm.pod_overrides,
                    self._warm_up_pods,
                    warm_namespace(environment.namespace),
                )
            _watch_plans(context)
            yield running, environment

    def _measured(
        self,
        turn: Turn,
        arm: Arm,
        running: RunningArm,
        environment: ScenarioEnvironment,
    ) -> RunRecord:
        context = self._context
        recorder = RunRecorder(context, self._listener)
        recorder.follow_logs(
            {name: FileLog(file) for name, file in running.log_files.items()}
        )
        meter = WindowMeter(running.pids)
        try:
            stepped = run_steps(
                context,
                self._scenario,
                environment,
                arm.pod_overrides,
                recorder,
                window_listener=meter,
            )
        finally:
            # Also when the arm has ended: other turns follow in this process.
            meter.close()
        label = RunLabel(
            scenario_id=self._scenario.scenario_id,
            arm=arm.name,
            limits=turn.limits,
            round_number=turn.round_number,
            warm=self._warm_up_pods > 0,
        )
        # What became of an overloaded service is what is compared, and no failure.
        failed = [
            check.message for check in stepped.failed_checks if check.name != OUTCOME
        ]
        error = _joined(stepped.error, *failed)
        record = window_record(
            context,
            self._scenario,
            environment,
            stepped,
            recorder,
            label=label,
            footprint=meter.footprint,
            count=counted(context, environment.namespace),
        )
        if record is None:
            return self._failed(turn, error or NO_WINDOW)
        return replace(record, error=_joined(error, record.error))

    def _failed(self, turn: Turn, error: str) -> RunRecord:
        return RunRecord(
            scenario_id=self._scenario.scenario_id,
            arm=turn.arm,
            limits=turn.limits,
            round_number=turn.round_number,
            nodes=(),
            pods=(),
            window_s=0.0,
            warm=self._warm_up_pods > 0,
            error=error,
        )


def _watch_plans(context: RunContext) -> None:
    """Watch the plans of the optimiser, where there is one: they move and evict."""
    try:
        context.observer.watch(PACKING_PLANS)
    except ApiRefusedError as error:
        if error.status != NOT_FOUND:
            raise


def _joined(*errors: str) -> str:
    return "; ".join(filter(None, errors))
