"""The steps between which metrics are measured."""

from __future__ import annotations

from stowage_testbed.run.steps.course import Course
from stowage_testbed.scenario.steps.model import Measure


def measure(course: Course, step: Measure) -> None:
    """Note the moment, and tell of it."""
    clock = course.bench.observer.clock
    if step.edge == "start":
        # What is prepared for measuring is no part of what is measured.
        course.gauge.open()
        course.started = clock.now()
    else:
        course.stopped = clock.now()
        course.gauge.close()
