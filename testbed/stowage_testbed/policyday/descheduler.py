"""The descheduler's HighNodeUtilization, as a process that is asked pass by pass."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import IO, Any, Self

from stowage_testbed.base.errors import StowageError
from stowage_testbed.toolchain import tool_path

TOOL = "descheduler-pass"

THRESHOLDS = {"cpu": 20, "memory": 20, "pods": 20}
"""In percent; those of upstream's own example. Nodes below all of them are emptied."""


class Descheduler:
    """The descheduler's plugin, for as long as the ``with`` block lasts.

    Parameters
    ----------
    thresholds
        In percent, by resource.
    kept_namespaces
        Pods of these are not evicted.
    """

    def __init__(self, thresholds: Mapping[str, float], kept_namespaces: tuple[str, ...] = ()) -> None:
        arguments: dict[str, Any] = {"thresholds": dict(thresholds)}
        if kept_namespaces:
            arguments["evictableNamespaces"] = {"exclude": list(kept_namespaces)}
        self._arguments = json.dumps(arguments)
        self._process: subprocess.Popen[str] | None = None
        self._messages: IO[str] | None = None

    def __enter__(self) -> Self:
        """Start the process.

        Raises
        ------
        ToolMissingError
            It is not installed.
        """
        self._messages = tempfile.TemporaryFile("w+", encoding="utf-8")
        self._process = subprocess.Popen(
            [str(tool_path(TOOL)), "--arguments", self._arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._messages,
            text=True,
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
        if self._messages is not None:
            self._messages.close()

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
            The process died.
        """
        answer = self._ask(state)
        while "evict" in answer:
            answer = self._ask({"refused": evict(answer["evict"])})
        kept: dict[str, int] = answer["done"]["kept"]
        return kept

    def _ask(self, line: Mapping[str, Any]) -> dict[str, Any]:
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            raise RuntimeError("a descheduler works inside its with block only")
        try:
            process.stdin.write(json.dumps(line) + "\n")
            process.stdin.flush()
            text = process.stdout.readline()
        except BrokenPipeError:
            text = ""
        if not text:
            raise StowageError(f"{TOOL} {self._arguments} ended: {self._last_words()}")
        answer: dict[str, Any] = json.loads(text)
        return answer

    def _last_words(self) -> str:
        if self._messages is None:
            return ""
        self._messages.seek(0)
        return self._messages.read().strip() or "it wrote no message; was it killed?"
