"""One process that places the pods of many instances, one after the other."""

from __future__ import annotations

import json
import subprocess
import tempfile
import threading
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from testbed.simulate.errors import (
    InstanceRefusedError,
    SimulatorEndedError,
    SimulatorTimeoutError,
)
from testbed.simulate.instance import Instance, Placements
from testbed.toolchain import tool_path

INSTANCE_TIMEOUT_S = 120.0


class Simulator:
    """The scheduler without an API server, for as long as the ``with`` block lasts.

    Parameters
    ----------
    config
        A KubeSchedulerConfiguration, such as `profile_file` returns.
    timeout_s
        How long one instance may take.

    Examples
    --------
    >>> with Simulator(profile_file("deterministic")) as simulator:
    ...     placements = simulator.place(instance)  # doctest: +SKIP
    """

    def __init__(self, config: Path, *, timeout_s: float = INSTANCE_TIMEOUT_S) -> None:
        self._config = config
        self._timeout_s = timeout_s
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
        # A file, not a pipe: nobody has to empty it while the process runs.
        self._messages = tempfile.TemporaryFile("w+", encoding="utf-8")
        self._process = subprocess.Popen(
            [str(binary), "--config", str(self._config)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._messages,
            text=True,
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

    def place(self, instance: Instance) -> Placements:
        """Return where the scheduler puts the instance's pods.

        Raises
        ------
        InstanceRefusedError
            The instance has faults, or a plugin failed on it. The simulator goes on.
        SimulatorEndedError
            The configuration is broken, or the process died.
        SimulatorTimeoutError
            It took too long; the process has been stopped.
        """
        answer = self._ask(instance)
        if answer.get("error"):
            raise InstanceRefusedError(instance.id, answer["error"])
        return Placements(
            id=answer["id"],
            nodes={pod: node or None for pod, node in answer["placements"].items()},
            evicted=tuple(answer.get("evicted", ())),
        )

    def _ask(self, instance: Instance) -> dict[str, Any]:
        process, _ = self._running()
        assert process.stdin  # noqa: S101 - both are pipes
        assert process.stdout  # noqa: S101
        late = threading.Event()
        watchdog = threading.Timer(self._timeout_s, _stop, (process, late))
        watchdog.start()
        try:
            process.stdin.write(_line(instance))
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
            raise SimulatorTimeoutError(instance.id, self._timeout_s)
        raise self._end()

    def _end(self) -> SimulatorEndedError:
        process, messages = self._running()
        exit_code = process.wait()
        messages.seek(0)
        return SimulatorEndedError(exit_code, self._config, messages.read().strip())

    def _running(self) -> tuple[subprocess.Popen[str], IO[str]]:
        if self._process is None or self._messages is None:
            raise RuntimeError("a Simulator works inside its with block only")
        return self._process, self._messages


def _line(instance: Instance) -> str:
    content = {
        "id": instance.id,
        "nodes": instance.nodes,
        "pods": instance.pods,
        "objects": instance.objects,
    }
    return json.dumps(content) + "\n"


def _stop(process: subprocess.Popen[str], late: threading.Event) -> None:
    late.set()
    process.kill()


def _close(stream: IO[str]) -> None:
    try:
        stream.close()
    except BrokenPipeError:
        # What was still to be written has no reader any more; the file is closed.
        return
