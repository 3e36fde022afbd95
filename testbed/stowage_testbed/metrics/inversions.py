"""Priority inversions: a pod was placed where one that mattered more would have fitted.

A pair (low, high) is an inversion if ``high`` has the higher priority, was waiting when ``low`` was bound, and would
have fitted on the node of ``low`` just before. Two moments closer than the run's resolution have no order. Affinity,
taints and ports are not considered, and a pod counts that arrived between the decision and the binding.
"""

import math
from collections.abc import Iterator, Sequence
from enum import IntEnum

import numpy as np

from stowage_testbed.amounts.resources import NOTHING, PODS, Resources, names_of
from stowage_testbed.metrics.record import Metric, PodRecord, RunRecord, bound_from_s


class _Step(IntEnum):
    """What happens at a moment, in the order in which it counts."""

    RELEASED = 0
    WAITS_NO_MORE = 1
    BOUND = 2
    TAKEN = 3
    WAITS = 4


def measure_inversions(record: RunRecord) -> Iterator[Metric]:
    """Yield the number of inversions, and of bindings that overtook; pods times distinct pods is what it costs."""
    free, waiting, found = {node.name: node.resources for node in record.nodes}, _WaitingPods(record.pods), list[int]()
    for pod in record.pods:
        if pod.bound_s is None and pod.node in free:
            free[pod.node] -= pod.requests
    for _, step, pod in _list_history(record):
        match step:
            case _Step.WAITS:
                waiting.change(pod, 1)
            case _Step.WAITS_NO_MORE:
                waiting.change(pod, -1)
            case _Step.BOUND:
                # Nothing is free on a node that is not the workload's.
                found.append(waiting.count_overtaken(pod, free.get(pod.node, NOTHING)))
            case _Step.RELEASED if pod.node in free:
                free[pod.node] += pod.requests
            case _Step.TAKEN if pod.node in free:
                free[pod.node] -= pod.requests
    one = len({pod.priority for pod in record.pods}) <= 1
    note = "all pods have one priority" if one else ""
    for unit, value in (("pairs", sum(found)), ("pods", sum(1 for pairs in found if pairs))):
        yield Metric(f"priority_inversions_{unit}", value, unit, "lower", len(found), 1.0, note)


def _list_history(record: RunRecord) -> list[tuple[float, _Step, PodRecord]]:
    steps: list[tuple[float, _Step, PodRecord]] = []
    for pod in record.pods:
        if pod.bound_s is not None:
            steps += [(pod.bound_s, _Step.BOUND, pod), (pod.bound_s, _Step.TAKEN, pod)]
        if pod.gone_s is not None and bound_from_s(pod) is not None:
            steps.append((pod.gone_s, _Step.RELEASED, pod))
        # The open interval in which it waited beyond doubt: not at all, if it had its node before the window.
        begin_s = -math.inf if pod.created_s is None else pod.created_s + record.resolution_s
        ends_s = [moment for moment in (pod.bound_s, pod.gone_s) if moment is not None]
        end_s = min(ends_s, default=math.inf) - record.resolution_s
        if begin_s < end_s and (not pod.node or pod.bound_s is not None):
            steps += [(begin_s, _Step.WAITS, pod), (end_s, _Step.WAITS_NO_MORE, pod)]
    return sorted(steps, key=lambda step: step[:2])


class _WaitingPods:
    """How many pods of each shape wait; a shape is a priority and what is asked for."""

    def __init__(self, pods: Sequence[PodRecord]) -> None:
        shapes = sorted({_shape_of(pod) for pod in pods}, key=lambda shape: shape[0])
        self._place = {shape: place for place, shape in enumerate(shapes)}
        self._names = (*names_of(pod.requests for pod in pods), PODS)
        self._priority = np.array([priority for priority, _ in shapes], np.int64)
        table = [[asked[name] for name in self._names] for _, asked in shapes]
        self._asked = np.array(table, np.int64).reshape(-1, len(self._names))
        self._waiting = np.zeros(len(shapes), dtype=np.int64)

    def change(self, pod: PodRecord, by: int) -> None:
        self._waiting[self._place[_shape_of(pod)]] += by

    def count_overtaken(self, low: PodRecord, free: Resources) -> int:
        """Return how many waiting pods ``low`` is placed before, and should not be, where so much is free."""
        # Where there is too little, what is not asked for does not matter.
        there = np.array([max(free[name], 0) for name in self._names], np.int64)
        # Shapes are sorted by priority: only those above need be looked at.
        above = slice(int(np.searchsorted(self._priority, low.priority, "right")), None)
        fits = (self._asked[above] <= there).all(axis=1)
        return int(self._waiting[above][fits].sum())


def _shape_of(pod: PodRecord) -> tuple[int, Resources]:
    return pod.priority, pod.requests
