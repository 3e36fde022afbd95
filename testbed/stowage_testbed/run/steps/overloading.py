"""The step that overloads a web service and watches it recover."""

from __future__ import annotations

from stowage_testbed.compare.arms.arm import Dress
from stowage_testbed.hpa.live.run import run_recovery
from stowage_testbed.run.steps.course import Course
from stowage_testbed.run.steps.gauge import Gauge
from stowage_testbed.run.steps.measuring import measure
from stowage_testbed.scenario.check import CheckResult
from stowage_testbed.scenario.steps.model import Measure, Overload

OUTCOME = "outcome"
"""Name of the check on what became of the service."""

OWN_SCHEDULER = Dress("default-scheduler")


class HoldGauge(Gauge):
    """Makes HOLD the measured window of the steps."""

    def __init__(self, course: Course) -> None:
        self._course = course

    def open(self) -> None:
        """Begin the window."""
        measure(self._course, Measure("start"))

    def close(self) -> None:
        """End the window."""
        measure(self._course, Measure("stop"))


def overload(course: Course, step: Overload) -> None:
    """Run FIND and HOLD; what is measured is HOLD, and its outcome one of the checks.

    Raises
    ------
    MetricsMissingError
        The cluster measures no usage.
    AutoscalerBlindError
        The autoscaler never read any.
    """
    record = run_recovery(
        course.bench,
        course.site,
        step.settings,
        dress=course.dress or OWN_SCHEDULER,
        gauge=HoldGauge(course),
    )
    found = record.recovery
    course.recovery = record
    course.facts |= {"clients": record.clients, "ttr_s": found.ttr_s}
    course.tell(f"{record.clients} clients: {found.outcome}, TTR {found.ttr_s:g} s")
    if step.outcome is not None:
        message = ""
        if found.outcome != step.outcome:
            message = f"expected {step.outcome}, found {found.outcome}"
        course.checks.append(
            CheckResult(OUTCOME, not message, step.outcome, found.outcome, message)
        )
