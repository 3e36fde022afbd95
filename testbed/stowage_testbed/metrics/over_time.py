"""When pods waited and held room, and the quantities that change with it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np

from stowage_testbed.metrics.record import RunRecord, Span, find_waiting_span


@dataclass(frozen=True, slots=True)
class StepLine:
    """``values[i]`` holds from ``times_s[i]`` until ``times_s[i + 1]``; 0 before."""

    times_s: tuple[float, ...]
    values: tuple[int, ...]

    @property
    def peak(self) -> int:
        """The largest value, 0 where there is none."""
        return max(self.values, default=0)

    def mean(self, window_s: float) -> float:
        """Return the average over time from 0 to ``window_s``, which is above 0."""
        ends_s = (*self.times_s, max(window_s, *self.times_s, 0.0))
        areas = (
            value * (end_s - begin_s) for value, (begin_s, end_s) in zip(self.values, pairwise(ends_s), strict=True)
        )
        return math.fsum(areas) / window_s

    def means(self, edges_s: Sequence[float]) -> list[float]:
        """Return the averages between each two edges, which ascend."""
        if not self.times_s:
            return [0.0] * (len(edges_s) - 1)
        times_s, values = np.array(self.times_s), np.array(self.values, dtype=float)
        # The area up to each time, and from the last one before it to each edge.
        areas = np.concatenate(([0.0], np.cumsum(values[:-1] * np.diff(times_s))))
        last = np.searchsorted(times_s, edges_s, "right") - 1
        begun = areas[last] + values[last] * (np.array(edges_s) - times_s[last])
        until = np.where(last < 0, 0.0, begun)
        means: list[float] = (np.diff(until) / np.diff(edges_s)).tolist()
        return means


def add_up(parts: Iterable[tuple[Span, int]]) -> StepLine:
    """Return the sum of amounts that are each there for one span of time."""
    changes: dict[float, int] = {}
    for (begin_s, end_s), amount in parts:
        changes[begin_s] = changes.get(begin_s, 0) + amount
        changes[end_s] = changes.get(end_s, 0) - amount
    times_s = sorted(changes)
    return StepLine(times_s=tuple(times_s), values=tuple(accumulate(changes[time_s] for time_s in times_s)))


def count_waiting(record: RunRecord) -> StepLine:
    """Return how many pods had no node, from the window's start to its end."""
    spans = (find_waiting_span(pod, record.window_s) for pod in record.pods)
    return add_up((span, 1) for span in spans if span is not None)
