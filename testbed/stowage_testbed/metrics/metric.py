"""One number of one run, with what is needed to compare it."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

Better = Literal["lower", "higher", "neither"]
"""Which direction is an improvement; `neither` is shown and not judged."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric's value in one run; ``None`` where ``note`` says why there is none.

    ``n`` is the number of samples; values that differ by less than ``resolution``, in the metric's unit, are equal.
    """

    name: str
    value: float | None
    unit: str
    better: Better
    n: int
    resolution: float = 0.0
    note: str = ""


def make_metric(  # noqa: PLR0917 - as in `Metric`
    name: str,
    value: float | Fraction | None,
    unit: str,
    better: Better,
    n: int,
    resolution: float = 0.0,
    note: str = "",
    missing: str = "",
) -> Metric:
    """Return a metric; where it has no value, its note is ``missing``."""
    if value is None:
        return Metric(name, None, unit, better, n, resolution, missing)
    return Metric(name, float(value) if isinstance(value, Fraction) else value, unit, better, n, resolution, note)
