"""The step that overloads a web service and watches it recover."""

from __future__ import annotations

from testbed.compare.arms.arm import Dress
from testbed.compare.recording import RunLabel
from testbed.hpa.live.run import run_recovery
from testbed.run.steps.course import Course
from testbed.scenario.check import CheckResult
from testbed.scenario.steps.model import Overload

RELEASE = "release"
"""Stands for the chart's own scheduler, where no arm has been put in its place."""

OWN_SCHEDULER = Dress("default-scheduler")


def overload(course: Course, step: Overload) -> None:
    """Run FIND and HOLD; the record is the course's, the outcome one of its checks.

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
        label=RunLabel(course.scenario.scenario_id, RELEASE),
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
            CheckResult("outcome", not message, step.outcome, found.outcome, message)
        )
