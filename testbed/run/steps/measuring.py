"""The steps between which metrics are measured."""

from __future__ import annotations

from testbed.run.steps.course import Course
from testbed.scenario.steps.model import Measure


def measure(course: Course, step: Measure) -> None:
    """Note the moment."""
    now = course.bench.observer.clock.now()
    if step.edge == "start":
        course.started = now
    else:
        course.stopped = now
