"""The stock scheduler as a measure of the machine."""

from __future__ import annotations

import pytest

from stowage_testbed.compare.calibration.calibrating import calibrate

pytestmark = pytest.mark.e2e


def test_the_stock_scheduler_is_part_of_the_calibration() -> None:
    """It is what times of a cluster depend on most."""
    speed = calibrate()

    assert speed.per_s["schedule"] > 0
    assert speed.per_s.keys() > {"encode", "score"}
