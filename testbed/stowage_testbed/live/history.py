"""What was seen, so that a slider can go back through it: a beginning, and changes.

Everything is a whole number in an array. A pod is four of them, a change of it six, so that an hour of a hundred
changes a second takes some megabytes. When the log is full, its oldest quarter becomes part of the beginning.
"""

from __future__ import annotations

import base64
from array import array
from collections.abc import Iterable, Mapping, Sequence

GONE = 0
"""The phase of a pod of which a row says nothing more."""

POD_COLUMNS = 4
"""Kind, node, phase and why, by their numbers; -1 is none."""

POD_ENTRY = 2 + POD_COLUMNS
"""Of the log: milliseconds, row, columns."""

NODE_ENTRY = 3
"""Of the log: milliseconds, row, kind, of which -1 is none."""

MOST_ENTRIES = 400_000
"""Changes of pods that are kept: more than an hour of a hundred a second."""

FOLDED = 4
"""One part in so many is given up when the log is full."""

NO_POD = array("i", (-1, -1, GONE, -1))
_PHASE = 2


def pack(numbers: array[int]) -> str:
    """Return an array as text that a browser reads back in one go."""
    return base64.b64encode(numbers.tobytes()).decode("ascii")


class History:
    """The beginning and the log of one watch, of at most so many changes of pods."""

    def __init__(self, most: int = MOST_ENTRIES) -> None:
        self._most = most
        self.since_ms = 0
        self._nodes = array("i")
        self._pods = array("i")
        self._node_log = array("i")
        self._pod_log = array("i")
        self._dropped = [0, 0]

    def begin(self, nodes: Sequence[int], pods: array[int]) -> None:
        """Take what is there at the beginning."""
        self._nodes = array("i", nodes)
        self._pods = array("i", pods)

    def append(self, at_ms: int, nodes: Mapping[int, int], pods: Mapping[int, Iterable[int]]) -> set[int]:
        """Take the changes of one moment by their rows; return the rows of pods that may be used again."""
        for row, kind in nodes.items():
            self._node_log.extend((at_ms, row, kind))
        for row, columns in pods.items():
            self._pod_log.extend((at_ms, row, *columns))
        if len(self._pod_log) <= self._most * POD_ENTRY:
            return set()
        return self._fold()

    def entries(self) -> tuple[int, int]:
        """Return how many changes of nodes and of pods have come in all."""
        return (
            self._dropped[0] + len(self._node_log) // NODE_ENTRY,
            self._dropped[1] + len(self._pod_log) // POD_ENTRY,
        )

    def past(self, until: tuple[int, int] | None = None) -> dict[str, object]:
        """Return the beginning and the log, packed; nothing that came after `entries` returned ``until``."""
        nodes, pods = self.entries() if until is None else until
        last_node = max(0, nodes - self._dropped[0]) * NODE_ENTRY
        last_pod = max(0, pods - self._dropped[1]) * POD_ENTRY
        return {
            "since": self.since_ms,
            "nodes": pack(self._nodes),
            "pods": pack(self._pods),
            "nodeLog": pack(self._node_log[:last_node]),
            "podLog": pack(self._pod_log[:last_pod]),
        }

    def _fold(self) -> set[int]:
        entries = len(self._pod_log) // POD_ENTRY
        # What was seen at one moment stays together.
        self.since_ms = self._pod_log[(entries // FOLDED) * POD_ENTRY]
        for first in range(0, len(self._pod_log), POD_ENTRY):
            if self._pod_log[first] > self.since_ms:
                break
            _, row, *columns = self._pod_log[first : first + POD_ENTRY]
            _put(self._pods, row, columns)
        else:
            first = len(self._pod_log)
        self._dropped[1] += first // POD_ENTRY
        del self._pod_log[:first]
        self._fold_nodes()
        mentioned = set(self._pod_log[1::POD_ENTRY])
        phases = self._pods[_PHASE::POD_COLUMNS]
        return {row for row, phase in enumerate(phases) if phase == GONE} - mentioned

    def _fold_nodes(self) -> None:
        log, last = self._node_log, 0
        while last < len(log) and log[last] <= self.since_ms:
            row, kind = log[last + 1], log[last + 2]
            self._nodes.extend([-1] * (row + 1 - len(self._nodes)))
            self._nodes[row] = kind
            last += NODE_ENTRY
        self._dropped[0] += last // NODE_ENTRY
        del log[:last]


def _put(pods: array[int], row: int, columns: Iterable[int]) -> None:
    """Write the columns of a row, which may be one that was not there before."""
    missing = row + 1 - len(pods) // POD_COLUMNS
    for _ in range(missing):
        pods.extend(NO_POD)
    at = row * POD_COLUMNS
    pods[at : at + POD_COLUMNS] = array("i", columns)
