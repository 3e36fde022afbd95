"""The steps between which metrics are measured."""

from __future__ import annotations

from stowage_testbed.run.steps.context import StepContext
from stowage_testbed.scenario.steps.model import Measure


def measure(context: StepContext, step: Measure) -> None:
    """Record the time, and notify the window listener."""
    clock = context.run.observer.clock
    if step.edge == "start":
        # What is prepared for measuring is no part of what is measured.
        context.window_listener.open()
        context.started = clock.now()
    else:
        context.stopped = clock.now()
        context.window_listener.close()
