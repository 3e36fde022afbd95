"""When things happened, by receipts and by the server's stamps."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from stowage_testbed.observe.receipt import NS_PER_S, Receipt
from stowage_testbed.trace.dating import Dating

BEGAN_S = datetime(2026, 11, 26, 15, tzinfo=UTC).timestamp()


def at(seconds: float) -> Receipt:
    return Receipt(int(seconds * NS_PER_S), int((BEGAN_S + seconds) * NS_PER_S))


def stamp(seconds: float) -> str:
    """Return the stamp of a server, of which the end is cut off."""
    return datetime.fromtimestamp(int(BEGAN_S + seconds), UTC).isoformat()


@pytest.mark.parametrize("ahead_s", [-3600, 0, 7.25])
@pytest.mark.parametrize(
    ("told_s", "happened_s", "dated_s"),
    [
        # A receipt is finer than a stamp, also where the stamp is a second older.
        (9.75, 9.75, 9.75),
        (10.2, 9.1, 10.2),
        # What is told late has its stamp, within half a second, which is all it gives.
        (20, 8.3, pytest.approx(8.3, abs=0.65)),
    ],
)
def test_a_receipt_counts_unless_it_is_late(
    ahead_s: float, told_s: float, happened_s: float, dated_s: float
) -> None:
    """Whatever the server's clock shows."""
    dating = Dating(at(0))
    for eighth in range(40):
        told = eighth / 8
        assert dating.date(at(told), stamp(told + ahead_s)) == told

    assert dating.date(at(told_s), stamp(happened_s + ahead_s)) == dated_s
    assert dating.date(at(told_s), None) == told_s


def test_nothing_is_before_the_beginning() -> None:
    """What was told while everything was being listed counts as there."""
    made = Dating(at(10))

    assert (made.at(at(9)), made.at_stamp(stamp(4))) == (0, -6)
