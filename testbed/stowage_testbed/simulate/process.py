"""One process that answers a line with a line, one instance after the other."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from stowage_testbed.simulate.errors import SimulatorEndedError, SimulatorTimeoutError
from stowage_testbed.toolchain import tool_path

INSTANCE_TIMEOUT_S = 120.0


class SimulatorProcess:
    """``stowage-simulate``, for as long as the ``with`` block lasts.

    Parameters
    ----------
    config
        A KubeSchedulerConfiguration, such as `profile_file` returns.
    timeout_s
        How long one instance may take.
    options
        What else the command is given.
    feature_gates
        As kube-scheduler takes them.
    environment
        Variables that are set in the process's environment, besides those of this one.
    """

    def __init__(
        self,
        config: Path,
        *,
        timeout_s: float = INSTANCE_TIMEOUT_S,
        options: tuple[str, ...] = (),
        feature_gates: str = "",
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._config = config
        self._timeout_s = timeout_s
        self._options = options
        if feature_gates:
            self._options = (*options, "--feature-gates", feature_gates)
        self._environment = environment or {}
        self._process: subprocess.Popen[str] | None = None
        self._messages: IO[str] | None = None

    def __enter__(self) -> Self:
        """Start the process.

        Raises
        ------
        ToolMissingError
            ``stowage-simulate`` is not installed.
        """
        binary = tool_path("stowage-simulate")
        # A file, not a pipe: it need not be emptied while the process runs.
        self._messages = tempfile.TemporaryFile("w+", encoding="utf-8")
        self._process = subprocess.Popen(
            [str(binary), "--config", str(self._config), *self._options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._messages,
            text=True,
            env={**os.environ, **self._environment},
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the process."""
        process, messages = self._running()
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, messages):
            if stream is not None:
                _close(stream)
        self._process = self._messages = None

    def ask(self, instance_id: str, content: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer to ``content``, which may be an error.

        Raises
        ------
        SimulatorEndedError
            The configuration is broken, or the process died.
        SimulatorTimeoutError
            It took too long; the process has been stopped.
        """
        process, _ = self._running()
        assert process.stdin  # noqa: S101 - both are pipes
        assert process.stdout  # noqa: S101
        late = threading.Event()
        watchdog = threading.Timer(self._timeout_s, _stop, (process, late))
        watchdog.start()
        try:
            process.stdin.write(json.dumps(content) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            watchdog.cancel()
            watchdog.join()
        if line:
            answer: dict[str, Any] = json.loads(line)
            return answer
        if late.is_set():
            raise SimulatorTimeoutError(instance_id, self._timeout_s)
        raise self._end()

    def _end(self) -> SimulatorEndedError:
        process, messages = self._running()
        exit_code = process.wait()
        messages.seek(0)
        return SimulatorEndedError(exit_code, self._config, messages.read().strip())

    def _running(self) -> tuple[subprocess.Popen[str], IO[str]]:
        if self._process is None or self._messages is None:
            raise RuntimeError("a simulator works inside its with block only")
        return self._process, self._messages


def _stop(process: subprocess.Popen[str], late: threading.Event) -> None:
    late.set()
    process.kill()


def _close(stream: IO[str]) -> None:
    try:
        stream.close()
    except BrokenPipeError:
        # What was still to be written has no reader any more; the file is closed.
        return
