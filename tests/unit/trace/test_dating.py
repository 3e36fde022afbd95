"""When things happened, by receipts and by the server's stamps."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from stowage_testbed.observe.receipt import NS_PER_S, Receipt
from stowage_testbed.trace.dating import Dating

BEGAN_S = datetime(2026, 11, 26, 15, tzinfo=UTC).timestamp()


def at(seconds: float) -> Receipt:
    """Return a receipt so many seconds after the beginning."""
    return Receipt(int(seconds * NS_PER_S), int((BEGAN_S + seconds) * NS_PER_S))


def stamp(seconds: float, *, ahead_s: float = 0.0) -> str:
    """Return the stamp of a server whose clock may be ahead; its end is cut off."""
    moment = datetime.fromtimestamp(int(BEGAN_S + seconds + ahead_s), UTC)
    return moment.isoformat().replace("+00:00", "Z")


def dating(*prompt: float, ahead_s: float = 0.0) -> Dating:
    """Return one that has seen some things at once."""
    made = Dating(at(0))
    for seconds in prompt:
        assert made.date(at(seconds), stamp(seconds, ahead_s=ahead_s)) == seconds
    return made


@pytest.mark.parametrize("ahead_s", [-3600, 0, 7.3])
def test_a_receipt_is_finer_than_a_stamp(ahead_s: float) -> None:
    """Whatever the server's clock shows."""
    made = dating(0.5, 1.25, 1.999, 2.0, ahead_s=ahead_s)

    assert made.date(at(3.75), stamp(3.75, ahead_s=ahead_s)) == 3.75


@pytest.mark.parametrize("ahead_s", [-3600, 0, 7.25])
def test_what_was_told_late_is_dated_by_its_stamp(ahead_s: float) -> None:
    """Within half a second, which is all that a stamp can give."""
    made = dating(*(number / 8 for number in range(40)), ahead_s=ahead_s)
    late = made.date(at(20), stamp(8.3, ahead_s=ahead_s))

    assert late == pytest.approx(8.3, abs=0.65)


def test_a_delay_below_the_resolution_cannot_be_seen() -> None:
    """The receipt is as good then."""
    made = dating(0.1, 0.2, 0.9)

    assert made.date(at(5.2), stamp(4.1)) == 5.2


def test_what_has_no_stamp_is_dated_by_its_receipt() -> None:
    """As when a node changes."""
    assert dating(0.5).date(at(9), None) == 9


def test_nothing_is_before_the_beginning() -> None:
    """What was told while everything was being listed counts as there."""
    made = Dating(at(10))

    assert made.at(at(9)) == 0
    assert made.at_stamp(stamp(4)) == -6
