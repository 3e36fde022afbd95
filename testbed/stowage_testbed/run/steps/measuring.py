"""Steps between which metrics are measured, or that measure a service themselves."""

from __future__ import annotations

from stowage_testbed.run.arm import PodOverrides
from stowage_testbed.run.listener import WindowListener
from stowage_testbed.run.recovery import run_recovery
from stowage_testbed.run.steps.context import StepContext
from stowage_testbed.scenario.check import CheckResult
from stowage_testbed.scenario.steps.waiting import Measure, Overload

OUTCOME = "outcome"
"""Name of the check on what became of an overloaded service."""

OWN_SCHEDULER = PodOverrides("default-scheduler")


def measure(context: StepContext, step: Measure) -> None:
    """Record the time, and notify the window listener."""
    clock = context.run.observer.clock
    if step.edge == "start":
        # What is prepared for measuring is no part of what is measured.
        context.harness.window_listener.open()
        context.started = clock.now()
    else:
        context.stopped = clock.now()
        context.harness.window_listener.close()


class HoldListener(WindowListener):
    """Makes HOLD the measured window of the steps."""

    def __init__(self, context: StepContext) -> None:
        self._context = context

    def open(self) -> None:
        """Begin the window."""
        measure(self._context, Measure("start"))

    def close(self) -> None:
        """End the window."""
        measure(self._context, Measure("stop"))


def overload(context: StepContext, step: Overload) -> None:
    """Run FIND and HOLD; what is measured is HOLD, and its outcome one of the checks."""
    record = run_recovery(
        context.run,
        context.environment,
        step.settings,
        pod_overrides=context.harness.pod_overrides or OWN_SCHEDULER,
        window_listener=HoldListener(context),
    )
    found = record.recovery
    context.recovery = record
    context.facts |= {"clients": record.clients, "ttr_s": found.ttr_s}
    context.recorder.report(f"{record.clients} clients: {found.outcome}, TTR {found.ttr_s:g} s")
    if step.outcome is not None:
        message = "" if found.outcome == step.outcome else f"expected {step.outcome}, found {found.outcome}"
        context.checks.append(CheckResult(OUTCOME, not message, step.outcome, found.outcome, message))
