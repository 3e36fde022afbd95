"""The lines of the page's plots: each run's own, and all rounds of an arm together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from stowage_testbed.compare.curves.latency import LATENCIES, distribution
from stowage_testbed.compare.curves.line import Line
from stowage_testbed.compare.curves.load import LOADS
from stowage_testbed.compare.result import Result

ALL_ROUNDS = 0
"""Stands for the rounds together where the number of one would stand."""

DIGITS = 5


def latency_lines(result: Result) -> dict[str, list[dict[str, Any]]]:
    """Return, for each latency, a line a run and one for all runs of an arm."""
    return {name: list(_latency(result, name)) for name in LATENCIES}


def load_lines(result: Result) -> dict[str, list[dict[str, Any]]]:
    """Return, for each load, a line a run."""
    return {
        name: [
            _line(result, record.limits, record.arm, record.round_number, load(record))
            for record in result.records
            if not record.error
        ]
        for name, load in LOADS.items()
    }


def _latency(result: Result, name: str) -> Iterator[dict[str, Any]]:
    for limits in result.comparison.limits:
        for arm in result.arms:
            records = result.records_of(limits, arm)
            if records:
                line = distribution(records, name)
                yield _line(result, limits, arm, ALL_ROUNDS, line)
            for record in records:
                line = distribution([record], name)
                yield _line(result, limits, arm, record.round_number, line)


def _line(
    result: Result, limits: str, arm: str, round_number: int, line: Line
) -> dict[str, Any]:
    return {
        "arm": result.arms.index(arm),
        "limits": result.comparison.limits.index(limits),
        "round": round_number,
        "x": [round(x, DIGITS) for x in line.x],
        "y": [round(y, DIGITS) for y in line.y],
    }
