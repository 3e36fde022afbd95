"""When the windows of a policy are open on a day."""

from __future__ import annotations

from datetime import datetime

import pytest

from stowage_testbed.base.errors import InputError
from stowage_testbed.policyday.windows import Opening, Window, list_windows

MONDAY = datetime.fromisoformat("2026-01-05T00:00:00Z")
HOUR_S, DAY_S = 3600.0, 86_400.0


def windows(
    *openings: Opening, began: datetime = MONDAY, length_s: float = DAY_S
) -> list[tuple[float, float]]:
    """Return when windows are open, in hours."""
    found = list_windows(openings, began, length_s)
    return [(one.start_s / HOUR_S, one.end_s / HOUR_S) for one in found]


def test_a_window_follows_the_clock_of_its_time_zone() -> None:
    """A night window is at night where the cluster's users are, in summer too."""
    nightly = Opening("0 2 * * *", "Europe/Berlin", 7200)

    assert windows(nightly) == [(1, 3)]
    assert windows(nightly, began=datetime.fromisoformat("2026-07-06T00:00:00Z")) == [
        (0, 2)
    ]


@pytest.mark.parametrize(
    ("schedule", "hours"),
    [
        ("0 */8 * * *", [0, 8, 16]),
        ("30 1-3 * * *", [1.5, 2.5, 3.5]),
        ("0 5,7 * * mon-fri", [5, 7]),
        ("0 5 * * 0,6", []),
        ("0 5 5 jan *", [5]),
        # Either day is enough where both are told.
        ("0 5 13 * 1", [5]),
        ("0 5 13 * *", []),
        ("0 22/1 * * *", [22, 23]),
    ],
)
def test_a_schedule_is_read_as_cron_reads_it(schedule: str, hours: list[float]) -> None:
    """The cluster's own controller opens windows by the same five fields."""
    found = windows(Opening(schedule, "", 60))

    assert [begin for begin, _ in found] == hours


def test_a_window_goes_on_although_others_begin() -> None:
    """As in the cluster, where one window follows another and none is in another."""
    often, long = Opening("0 * * * *", "", 1800), Opening("0 1 * * *", "", 9000)

    found = windows(often, long, length_s=5 * HOUR_S)

    assert found == [(0, 0.5), (1, 3.5), (4, 4.5)]


def test_a_window_ends_with_the_day() -> None:
    """Nothing happens behind its last event."""
    assert list_windows((Opening("0 23 * * *", "", 7200),), MONDAY, DAY_S) == (
        Window(23 * HOUR_S, DAY_S),
    )


@pytest.mark.parametrize(
    ("opening", "said"),
    [
        (Opening("0 2 * *", "", 60), "five fields"),
        (Opening("0 25 * * *", "", 60), "not between 0 and 23"),
        (Opening("0 x * * *", "", 60), "five fields"),
        (Opening("0 2 * * *", "Mars/Base", 60), "no time zone 'Mars/Base'"),
    ],
)
def test_what_is_no_schedule_is_told(opening: Opening, said: str) -> None:
    """The condition Accepted would say so in the cluster."""
    with pytest.raises(InputError, match=said):
        windows(opening)
