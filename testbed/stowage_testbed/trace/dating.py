"""When things happened: by the receipt, unless the watch was behind.

The server's own stamps have whole seconds, and its clock may be another. A receipt is
finer, but late where a connection or the server stood still.
"""

from __future__ import annotations

from collections import deque
from datetime import datetime

from stowage_testbed.observe.receipt import NS_PER_S, Receipt

REMEMBERED = 200
"""Stamps from which the difference of the clocks is learned."""

STAMP_S = 1.0
"""A stamp's resolution: it is cut off."""

SLACK_S = 0.5
"""How much later than usual a receipt may be before it counts as late."""


def read_stamp_s(stamp: str) -> float:
    """Return the seconds since 1970 of a stamp of the server."""
    return datetime.fromisoformat(stamp).timestamp()


class Dating:
    """Turns receipts and stamps into times of a trace.

    Parameters
    ----------
    began
        The time 0.
    """

    def __init__(self, began: Receipt) -> None:
        self._began = began
        self._ages: deque[float] = deque(maxlen=REMEMBERED)

    def at(self, receipt: Receipt) -> float:
        """Return the time of a receipt; none is before the beginning."""
        return max(0.0, receipt.seconds_since(self._began))

    def at_stamp(self, stamp: str) -> float:
        """Return the time of a stamp, below 0 if it was before the beginning."""
        return read_stamp_s(stamp) - self._began.wall_ns / NS_PER_S

    def date(self, receipt: Receipt, stamp: str | None) -> float:
        """Return when something happened that is told as soon as it is stamped."""
        if stamp is None:
            return self.at(receipt)
        stamped = self.at_stamp(stamp)
        age = receipt.seconds_since(self._began) - stamped
        # The least age is the difference of the clocks and the way of the news.
        least = min(self._ages, default=age)
        if age <= least + STAMP_S + SLACK_S:
            self._ages.append(age)
            return self.at(receipt)
        middle = stamped + least + STAMP_S / 2
        return max(0.0, middle)
