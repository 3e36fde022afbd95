"""Whether the bounds on metrics are what their own origin says they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import isclose
from typing import Any

from stowage_testbed.scenario.document import Place
from stowage_testbed.scenario.draft import Draft
from stowage_testbed.scenario.issues import DocumentIssue
from stowage_testbed.scenario.steps.measuring import Measure, Overload

ROUNDING = 0.05
"""How far a bound may lie from the worst value times the margin."""


def metrics_are_measured(draft: Draft) -> Iterator[DocumentIssue]:
    """Bounds on metrics need a measured window."""
    measured = any(isinstance(step.action, Measure | Overload) for step in draft.steps)
    if draft.expect.metrics and draft.steps_whole and not measured:
        message = "no step measures; write `measure: start` and `measure: stop`"
        yield DocumentIssue(("expect", "metrics"), message, of_key=True)


def bounds_bound_something(draft: Draft) -> Iterator[DocumentIssue]:
    """A bound on a metric has an end."""
    for place, bound in _bounds(draft):
        if not {"min", "max"} & set(bound):
            yield DocumentIssue(place, "there is no bound; write `min` or `max`")


def bounds_follow_from_their_origin(draft: Draft) -> Iterator[DocumentIssue]:
    """A bound is the worst value that was seen, times its margin."""
    for place, bound in _bounds(draft):
        low, high = bound["spread"]
        if low > high:
            message = f"the lowest value {low} is above the highest {high}"
            yield DocumentIssue((*place, "spread"), f"{message}; exchange them")
            continue
        margin = bound["margin"]
        for key, worst, should in (
            ("min", low, low / margin),
            ("max", high, high * margin),
        ):
            if key in bound and not isclose(bound[key], should, rel_tol=ROUNDING):
                yield DocumentIssue(
                    (*place, key),
                    f"{key} {bound[key]} does not follow from its origin: the worst "
                    f"value {worst} with margin {margin} gives {should:.4g}; fix "
                    "the one that is wrong",
                )


METRIC_RULES: tuple[Callable[[Draft], Iterator[DocumentIssue]], ...] = (
    metrics_are_measured,
    bounds_bound_something,
    bounds_follow_from_their_origin,
)


def _bounds(draft: Draft) -> Iterator[tuple[Place, Mapping[str, Any]]]:
    for name, bound in draft.valid.get("expect", {}).get("metrics", {}).items():
        yield ("expect", "metrics", name), bound
