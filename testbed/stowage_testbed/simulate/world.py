"""A cluster in virtual time that somebody acts on: events in, answers between them."""

from __future__ import annotations

import subprocess
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from types import TracebackType
from typing import IO, Any, Self

import msgspec

from stowage_testbed.base.errors import StowageError
from stowage_testbed.simulate.virtual_time import Event, PassedTime, read_passed
from stowage_testbed.toolchain import choose_minor, tool_path

_ANSWERS = (b'{"eviction":', b'{"state":')
"""How the lines begin that somebody waits for."""

_REMARKS = (b'{"plan":', b'{"window":', b'{"policy":', b'{"nodeGone":')
"""How those begin that are of policies; the others tell of lives."""


class World:
    """``stowage-simulate --virtual-time``, for as long as the ``with`` block lasts.

    Parameters
    ----------
    config
        A KubeSchedulerConfiguration, such as `find_profile` returns.
    minor
        Of Kubernetes, that the scheduler is of; the default one without.
    """

    def __init__(self, config: Path, *, minor: str | None = None) -> None:
        self._config = config
        self._minor = choose_minor(minor)
        self._encoder = msgspec.json.Encoder()
        self._answers: SimpleQueue[bytes] = SimpleQueue()
        self._lines: list[bytes] = []
        self._remarks: list[bytes] = []
        self._process: subprocess.Popen[bytes] | None = None
        self._messages: IO[str] | None = None
        self._reading: threading.Thread | None = None

    def __enter__(self) -> Self:
        """Start the process.

        Raises
        ------
        ToolMissingError
            ``stowage-simulate`` is not installed.
        """
        binary = tool_path("stowage-simulate", self._minor)
        self._messages = tempfile.TemporaryFile("w+", encoding="utf-8")
        self._process = subprocess.Popen(
            [str(binary), "--config", str(self._config), "--virtual-time"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._messages,
        )
        # Else neither side would read when both have much to write.
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            # What was still to be written has no reader any more.
            with suppress(BrokenPipeError):
                if self._process.stdin:
                    self._process.stdin.close()
        if self._reading is not None:
            self._reading.join()
        if self._messages is not None:
            self._messages.close()

    def happen(self, event: Event) -> None:
        """Have an event happen; times never go back.

        Raises
        ------
        StowageError
            The process died.
        """
        process = self._running()
        assert process.stdin  # noqa: S101 - it is a pipe
        try:
            process.stdin.write(self._encoder.encode(event) + b"\n")
        except BrokenPipeError:
            raise self._end() from None

    def tell_state(self, at_s: float) -> dict[str, Any]:
        """Return ``nodes``, ``pods`` and ``disruptionBudgets`` as they are then.

        Raises
        ------
        StowageError
            The process died.
        """
        state: dict[str, Any] = self._ask({"at": at_s, "state": True})["state"]
        return state

    def evict(self, at_s: float, pod: str) -> str:
        """Evict a pod, ``namespace/name``, or return why that is refused.

        Raises
        ------
        StowageError
            The process died.
        """
        answer = self._ask({"at": at_s, "evict": pod})["eviction"]
        return str(answer.get("refused", ""))

    def end(self) -> PassedTime:
        """Return what became of all pods; nothing can happen any more.

        Raises
        ------
        StowageError
            An event was broken, or the process died.
        """
        process = self._running()
        assert process.stdin  # noqa: S101 - it is a pipe
        assert self._reading  # noqa: S101 - as the process
        try:
            process.stdin.close()
        except BrokenPipeError:
            raise self._end() from None
        self._reading.join()
        process.wait()
        return read_passed(self._lines, self._config, self._said())

    def remarks(self, of: str) -> list[dict[str, Any]]:
        """Return what was said of each ``plan``, ``window`` or ``policy`` until now."""
        said = map(msgspec.json.decode, self._remarks)
        return [one[of] for one in said if of in one]

    def _ask(self, event: Event) -> dict[str, Any]:
        process = self._running()
        assert process.stdin  # noqa: S101 - it is a pipe
        self.happen(event)
        try:
            process.stdin.flush()
        except BrokenPipeError:
            raise self._end() from None
        line = self._answers.get()
        if not line:
            raise self._end()
        answer: dict[str, Any] = msgspec.json.decode(line)
        return answer

    def _read(self) -> None:
        process = self._running()
        assert process.stdout  # noqa: S101 - it is a pipe
        with process.stdout:
            for line in process.stdout:
                if line.startswith(_ANSWERS):
                    self._answers.put(line)
                elif line.startswith(_REMARKS):
                    self._remarks.append(line)
                else:
                    self._lines.append(line)
        self._answers.put(b"")

    def _end(self) -> StowageError:
        assert self._reading  # noqa: S101 - as the process
        self._reading.join()
        try:
            read_passed(self._lines, self._config, self._said())
        except StowageError as error:
            return error
        return StowageError(f"stowage-simulate ended before its events: {self._said()}")

    def _said(self) -> str:
        if self._messages is None:
            return ""
        self._messages.seek(0)
        code = self._running().wait()
        return self._messages.read().strip() or f"exit code {code}"

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise RuntimeError("a world is there inside its with block only")
        return self._process
