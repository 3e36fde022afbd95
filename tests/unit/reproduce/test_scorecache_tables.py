"""The second paper's Table 4 beside recoveries of our own."""

from __future__ import annotations

from dataclasses import replace

import pytest
from comparisons import a_result
from hpa_records import hpa_record
from run_records import a_record

from stowage_testbed.hpa.settings import FULL, Find
from stowage_testbed.reproduce.scorecache.rebuilding import BURST, RECOVERY, planned
from stowage_testbed.reproduce.scorecache.recovery_table import TABLE_4, recovery_table

LATE = replace(FULL, find=Find(level_s=5.0))
"""FIND is over before the autoscaler has moved, so that there is something to recover.
"""


def test_each_line_of_the_paper_stands_below_ours() -> None:
    """The same columns, and the same ratio to the stock scheduler."""
    records = [
        replace(a_record(recovery=hpa_record(LATE)), arm=arm)
        for arm in ("default", "stowage-score-cache", "stowage")
    ]

    table = recovery_table(a_result(records))

    names = [row[0] for row in table.rows]
    assert names == [
        "default (own limits)", "  paper: Default",
        "stowage-score-cache (own limits)", "  paper: Cache-scheduler",
        "stowage (own limits)",
    ]  # fmt: skip
    ours, theirs = table.rows[2], table.rows[3]
    assert theirs[2:] == ("115", "x0.33", "1.872", "1.178", "0.430", "105")
    assert ours[1:4] == ("1", "60", "x1.00")


@pytest.mark.parametrize(
    ("arm", "speed_up"),
    [("koordinator", 1.81), ("yunikorn", 2.28), ("stowage-score-cache", 3.01)],
)
def test_the_published_speed_ups_follow_from_the_published_times(
    arm: str, speed_up: float
) -> None:
    """A slip in copying would show."""
    ratio = TABLE_4["default"].values["ttr_s"] / TABLE_4[arm].values["ttr_s"]

    assert ratio == pytest.approx(speed_up, abs=0.005)


def test_the_comparisons_are_those_of_the_benchmark() -> None:
    """So that what one has measured the other need not measure again."""
    burst, recovery = planned(full=False, rounds=None)

    assert (burst.name, recovery.name) == (BURST, RECOVERY)
    assert [one.rounds for one in planned(full=True, rounds=1)] == [1, 1]
