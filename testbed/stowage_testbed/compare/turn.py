"""One arm's turn: it serves, places pods that are not measured, and then those of the scenario."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path

from stowage_testbed.amounts.resources import Resources
from stowage_testbed.api.client import ApiRefusedError
from stowage_testbed.compare.arms.serving import ended_with
from stowage_testbed.compare.bundle import Bundle
from stowage_testbed.compare.request import CompareListener, Turn
from stowage_testbed.helm.release import FileLog
from stowage_testbed.metrics.record import RunRecord
from stowage_testbed.observe.condition import pods_gone, pods_placed
from stowage_testbed.observe.source import PACKING_PLANS
from stowage_testbed.recording.footprint import UNKNOWN, Footprint, FootprintMeter
from stowage_testbed.run.arm import Arm, ClientLimits, PodOverrides, apply_overrides
from stowage_testbed.run.context import RunContext
from stowage_testbed.run.environment import ScenarioEnvironment, await_account, make_namespace
from stowage_testbed.run.harness import Harness
from stowage_testbed.run.listener import Listener, Material, WindowListener
from stowage_testbed.run.outcome import ScenarioOutcome
from stowage_testbed.run.recorder import RunRecorder
from stowage_testbed.run.steps.measuring import OUTCOME
from stowage_testbed.scenario.manifests import make_controller
from stowage_testbed.scenario.model import Workload

LONGEST = 58
"""Characters of a namespace beside the prefix, of the 63 that a name may have."""


class WindowMeter(WindowListener):
    """Reads the memory and CPU time of a scheduler's processes, and keeps its own process still."""

    def __init__(self, pids: tuple[int, ...]) -> None:
        self._pids = pids
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
        if self._meter is not None:
            self.footprint, self._meter = self._meter.read(), None
            gc.unfreeze()


class ArmHarness(Harness):
    """Has an arm serve, warmed up and measured; its configuration and logs go to the folder."""

    is_released = False
    is_judged = False
    # The end of the arm is the error of its turn alone.
    is_supervised = False

    def __init__(
        self, context: RunContext, arm: Arm, limits: ClientLimits | None, folder: Path, warm_up_pods: int
    ) -> None:
        self._context, self._arm, self._limits = context, arm, limits
        self._folder, self.warm_up_pods = folder, warm_up_pods
        self.pod_overrides = arm.pod_overrides
        self.configuration = ""
        self.meter = WindowMeter(())
        self._pids: tuple[int, ...] = ()

    def find_scheduler_pids(self) -> tuple[int, ...]:
        """Return the arm's processes."""
        return self._pids

    @contextmanager
    def serving(self, environment: ScenarioEnvironment, recorder: RunRecorder) -> Iterator[None]:
        """Start the arm for the block, and warm it up."""
        recorder.report(f"start {self._arm.name}")
        with self._arm.running(self._context.cluster, self._folder, self._limits) as running, ended_with(running):
            recorder.follow_logs({name: FileLog(file) for name, file in running.log_files.items()})
            if self.warm_up_pods:
                recorder.report("warm up")
                # The end of the name is what no other run has.
                namespace = f"warm-{environment.namespace[-LONGEST:]}".replace("--", "-")
                warm_up(self._context, self._arm.pod_overrides, self.warm_up_pods, namespace)
            try:
                # The plans of the optimiser, where there is one, move and evict.
                self._context.observer.watch(PACKING_PLANS)
            except ApiRefusedError as error:
                if error.status != HTTPStatus.NOT_FOUND:
                    raise
            self.configuration = running.configuration
            self._pids = running.pids
            self.meter = self.window_listener = WindowMeter(running.pids)
            try:
                yield
            finally:
                # Also when the arm has ended: other turns follow in this process.
                self.meter.close()
            running.check()


class TurnListener(Listener):
    """Adds the record of a turn to the bundle, before anything is cleared."""

    def __init__(self, listener: CompareListener, turn: Turn, harness: ArmHarness, bundle: Bundle) -> None:
        self._listener, self._turn, self._harness, self._bundle = listener, turn, harness, bundle

    def scenario_progress(self, text: str) -> None:
        """Pass it on."""
        self._listener.scenario_progress(text)

    def scenario_finished(self, outcome: ScenarioOutcome, material: Material) -> None:
        """Add the record."""
        self.add(outcome)

    def add(self, outcome: ScenarioOutcome) -> None:
        """Add the record; what went wrong with arm or scenario is its error."""
        (limits, number, arm), harness = self._turn, self._harness
        # What became of an overloaded service is what is compared, and no failure.
        failed = [check.message for check in outcome.failed_checks if check.name != OUTCOME]
        errors = [outcome.skipped, outcome.error, *failed]
        record = outcome.record
        if record is None:
            record = RunRecord(outcome.scenario_id, arm, limits, number, nodes=(), pods=(), window_s=0.0)
            if not any(errors):
                errors.append("no window was measured: `measure: start` or `measure: stop` was not reached")
        record = replace(
            record,
            arm=arm,
            limits=limits,
            round_number=number,
            warm=harness.warm_up_pods > 0,
            peak_memory_bytes=harness.meter.footprint.peak_memory_bytes,
            cpu_s=harness.meter.footprint.cpu_s,
            error="; ".join(filter(None, (*errors, record.error))),
        )
        self._bundle.add(record)
        if harness.configuration:
            self._bundle.add_configuration(limits, arm, harness.configuration)
        self._listener.turn_finished(self._turn, record)


def warm_up(context: RunContext, pod_overrides: PodOverrides, pods: int, namespace: str) -> None:
    """Place small pods in a namespace of their own and delete them: some schedulers' first burst is slow."""
    objects, timeouts = context.objects, context.timeouts
    workload = Workload("warm-up", pods, Resources(cpu=1, memory=1_000_000))
    make_namespace(context, namespace)
    try:
        await_account(context, namespace)
        objects.create(apply_overrides(make_controller(workload, namespace), pod_overrides))
        context.observer.wait_for(
            f"{pods} pods to be placed before anything is measured",
            pods_placed(namespace, pods),
            timeout_s=timeouts.settle_base_s + timeouts.settle_per_pod_s * pods,
        )
    finally:
        # Left alone, its controller would go on making pods amid what is measured.
        for kind in ("ReplicaSet", "Pod"):
            objects.delete_all(kind, namespace)
        objects.delete("Namespace", namespace)
    context.observer.wait_for(f"the pods of {namespace} to go", pods_gone(namespace), timeout_s=timeouts.cleanup_s)
