"""How values, ranges and changes are printed."""

from __future__ import annotations

from collections.abc import Sequence
from math import log10

from stowage_testbed.compare.verdicts.verdict import Verdict

MISSING = "-"
MEBI = 2**20
HUGE = 1000.0
"""A ratio beyond it, or below its inverse, says no more than that it is open."""


def shown(value: float | None, unit: str = "") -> str:
    """Return a value with four significant digits; bytes in MiB."""
    if value is None:
        return MISSING
    if unit == "bytes":
        return f"{value / MEBI:.1f} MiB"
    if value == int(value) and abs(value) < 1e9:  # noqa: PLR2004 - fits a column
        return str(int(value))
    digits = max(0, 3 - int(log10(abs(value)) // 1))
    return f"{value:.{digits}f}" if digits <= 7 else f"{value:.3g}"  # noqa: PLR2004


def spread_shown(values: Sequence[float], unit: str = "") -> str:
    """Return the extremes of the values; empty where they do not differ."""
    if not values or min(values) == max(values):
        return ""
    return f"({shown(min(values), unit)} to {shown(max(values), unit)})"


def change_shown(verdict: Verdict) -> str:
    """Return estimate and interval on the verdict's scale; empty without one."""
    if verdict.estimate is None or verdict.low is None or verdict.high is None:
        return ""
    ends = f"[{_end(verdict, verdict.low)}, {_end(verdict, verdict.high)}]"
    return f"{estimate_shown(verdict)} {ends}"


def estimate_shown(verdict: Verdict) -> str:
    """Return the change alone, as a factor or with its sign; empty without one."""
    if verdict.estimate is None:
        return ""
    return _end(verdict, verdict.estimate, sign=True)


def _end(verdict: Verdict, value: float, *, sign: bool = False) -> str:
    if verdict.scale == "ratio":
        return f"{'x' if sign else ''}{_ratio(value)}"
    text = shown(value, verdict.unit)
    return f"+{text}" if sign and value > 0 else text


def _ratio(value: float) -> str:
    if value > HUGE:
        return f">{HUGE:g}"
    if value < 1 / HUGE:
        return f"<{1 / HUGE:g}"
    return f"{value:.3f}" if value < 9.9995 else f"{value:.1f}"  # noqa: PLR2004
