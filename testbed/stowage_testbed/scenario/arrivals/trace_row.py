"""One row of a trace file, from what stands there to values."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from stowage_testbed.amounts.quantity import parse_cpu, parse_memory
from stowage_testbed.amounts.resources import Resources
from stowage_testbed.scenario.arrivals.trace import Template, TraceRow
from stowage_testbed.scenario.words import is_label

LARGEST_PRIORITY = 1_000_000_000
MOST_REPLICAS = 100_000


def read_row(values: Mapping[str, object]) -> tuple[TraceRow | None, list[str]]:
    """Return the row and its issues; ``None`` for a row with issues.

    Parameters
    ----------
    values
        What stands in each field, as text or as JSON; fields that are empty are left
        out.
    """
    issues = [f"unknown field {name!r}; known are {', '.join(FIELDS)}" for name in values if name not in FIELDS]
    issues += [f"field {name!r} is missing; it is {FIELDS[name][1]}" for name in REQUIRED if name not in values]
    if "pod" in values and "replicas" in values:
        issues.append("`pod` names a single pod; leave `replicas` out, or the name")
    read: dict[str, Any] = {}
    for name, (parse, what) in FIELDS.items():
        if name not in values:
            continue
        try:
            read[name] = parse(values[name])
        except ValueError:
            issues.append(f"{name} must be {what}, not {values[name]!r}")
    return (None, issues) if issues else (_make_row(read), [])


def _make_row(read: Mapping[str, Any]) -> TraceRow:
    return TraceRow(
        at_s=read["arrival_s"],
        owner=read["owner"],
        template=Template(Resources(cpu=read["cpu"], memory=read["memory"]), read.get("priority", 0)),
        replicas=read.get("replicas", 1),
        pod=read.get("pod", ""),
        lifetime_s=read.get("lifetime_s"),
    )


def _parse_seconds(value: object) -> float:
    seconds = float(_parse_number(value))
    if not (math.isfinite(seconds) and seconds >= 0):
        raise ValueError
    return seconds


def _parse_positive_seconds(value: object) -> float:
    seconds = _parse_seconds(value)
    if not seconds:
        raise ValueError
    return seconds


def _parse_whole(low: int, high: int) -> Callable[[object], int]:
    def parse(value: object) -> int:
        text = str(_parse_number(value))
        number = int(text)
        if not low <= number <= high:
            raise ValueError
        return number

    return parse


def _parse_label(value: object) -> str:
    if not isinstance(value, str) or not is_label(value):
        raise ValueError
    return value


def _parse_number(value: object) -> str | int | float:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError
    return value


_NAME = "a name of lower-case letters, digits and '-', as in web-1"

FIELDS: Mapping[str, tuple[Callable[[Any], Any], str]] = {
    "arrival_s": (_parse_seconds, "seconds from the trace's start, 0 or more"),
    "owner": (_parse_label, _NAME),
    "cpu": (lambda value: parse_cpu(_parse_number(value)), "an amount, as in 100m"),
    "memory": (lambda value: parse_memory(_parse_number(value)), "an amount, as in 512Mi"),
    "priority": (_parse_whole(-LARGEST_PRIORITY, LARGEST_PRIORITY), "a whole number, as in 10"),
    "replicas": (_parse_whole(1, MOST_REPLICAS), "a whole number, 1 or more"),
    "pod": (_parse_label, _NAME),
    "lifetime_s": (_parse_positive_seconds, "seconds, more than 0"),
}
"""How each field is read, and what it holds in words."""

REQUIRED = ("arrival_s", "owner", "cpu", "memory")
