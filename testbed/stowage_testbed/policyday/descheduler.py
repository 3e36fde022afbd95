"""The descheduler's HighNodeUtilization, as a process that acts pass by pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from stowage_testbed.simulate.line_process import LineProcess
from stowage_testbed.toolchain import tool_path

TOOL = "descheduler-pass"

THRESHOLDS = {"cpu": 20, "memory": 20, "pods": 20}
"""In percent; those of upstream's own example. Nodes below all of them are emptied."""

LIMIT_S = 600.0
"""For one answer."""


class _Done(msgspec.Struct):
    kept: dict[str, int]


class _Answer(msgspec.Struct):
    evict: str = ""
    done: _Done | None = None


class Descheduler(LineProcess):
    """The descheduler's plugin with thresholds in percent by resource, for as long as the ``with`` block lasts."""

    def __init__(self, thresholds: Mapping[str, float]) -> None:
        arguments = msgspec.json.encode({"thresholds": dict(thresholds)}).decode()
        super().__init__((tool_path(TOOL), "--arguments", arguments))

    def run_pass(self, state: Mapping[str, Any], evict: Callable[[str], str]) -> dict[str, int]:
        """Have it look at a state and evict what it wants to.

        Parameters
        ----------
        state
            ``nodes``, ``pods`` and ``disruptionBudgets``, as Kubernetes' objects.
        evict
            Evicts a pod, ``namespace/name``, or returns why that is refused.

        Returns
        -------
        dict
            How many pods it wanted to evict, or looked at, and did not: by reason.

        Raises
        ------
        StowageError
            The process ended, or gave no answer in time.
        """
        line: Mapping[str, Any] = state
        while True:
            said = self.ask(msgspec.json.encode(line), "the descheduler", LIMIT_S, "try a smaller trace")
            answer = msgspec.json.decode(said, type=_Answer)
            if answer.done:
                return answer.done.kept
            line = {"refused": evict(answer.evict)}
