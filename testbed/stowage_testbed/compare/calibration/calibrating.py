"""Measures this machine with every piece of work that it can do."""

from __future__ import annotations

from stowage_testbed.compare.calibration.measuring import measure_speed
from stowage_testbed.compare.calibration.scheduling import scheduling_work
from stowage_testbed.compare.calibration.speed import Speed
from stowage_testbed.compare.calibration.works import WORKS
from stowage_testbed.toolchain import ToolMissingError


def calibrate() -> Speed:
    """Return the machine's speed, within a few seconds.

    Without ``stowage-simulate`` the rate of the stock scheduler is left out; machines
    are compared by what both of them did.
    """
    try:
        with scheduling_work() as schedule:
            return measure_speed({**WORKS, "schedule": schedule})
    except ToolMissingError:
        return measure_speed()
