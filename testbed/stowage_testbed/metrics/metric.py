"""One number of one run, with what is needed to compare it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Better = Literal["lower", "higher", "neither"]
"""Which direction is an improvement; `neither` is shown and not judged."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric's value in one run.

    ``name`` is as it is printed: the field's word and the unit, as in ``t_sched_p99_s``. ``value`` is ``None`` where
    ``note`` says why there is none. ``n`` is the number of samples. ``resolution`` is what two values must differ by to
    differ at all, in the metric's unit.
    """

    name: str
    value: float | None
    unit: str
    better: Better
    n: int
    resolution: float = 0.0
    note: str = ""
