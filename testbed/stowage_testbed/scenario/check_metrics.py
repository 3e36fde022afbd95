"""Bounds on metrics against the values of one measured window."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from stowage_testbed.scenario.check import CheckResult
from stowage_testbed.scenario.expectations import MetricBound

Values = Mapping[str, float | None]
"""By the names of `stowage_testbed.metrics`; None where there is no value."""


NO_NOTES: Mapping[str, str] = {}


def check_metrics(
    bounds: Mapping[str, MetricBound],
    values: Values,
    notes: Mapping[str, str] = NO_NOTES,
) -> Iterator[CheckResult]:
    """Yield a result for each bound; a metric without a value does not keep it.

    The message says where the bound comes from: if it does not hold, the bound itself
    may be wrong.

    Parameters
    ----------
    bounds, values
        By the metric's name.
    notes
        Why a metric has no value.
    """
    for name, bound in bounds.items():
        value = values.get(name)
        expected, message = str(bound), ""
        if value is None:
            actual = "no value"
            note = notes.get(name) or "there is no value in this window"
            message = f"{name}: {note}"
            if name not in values:
                known = ", ".join(values) or "none"
                message = f"no metric is called {name!r}; known are: {known}"
        else:
            actual = f"{value:g}"
            if not bound.holds(value):
                low, high = bound.spread
                message = (
                    f"{name}: expected {expected}, found {actual}; the bound comes "
                    f"from {bound.runs} runs with {low:g} to {high:g} and a margin of "
                    f"{bound.margin:g} ({bound.origin})"
                )
        yield CheckResult(name, not message, expected, actual, message)
