"""A child process that reads lines and writes lines, and the real scheduler as one."""

import json
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any, ClassVar, Self, TypeVar

import msgspec
from google.protobuf.json_format import ParseDict

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.base import layout
from stowage_testbed.base.errors import StowageError
from stowage_testbed.simulate.instance import Instance, Judgement, Placements, Question, Verification
from stowage_testbed.toolchain import choose_minor, tool_path


class LineProcess:
    """A child process, for as long as the ``with`` block lasts; it is killed with its own children."""

    def __init__(self, command: Sequence[str | Path], environment: Mapping[str, str] | None = None) -> None:
        self._command = [str(part) for part in command]
        self._environment = environment or {}
        self._lines: SimpleQueue[bytes] = SimpleQueue()

    def __enter__(self) -> Self:
        # A file, not a pipe: nobody has to empty it while the process runs.
        self._stderr = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            env={**os.environ, **self._environment},
            start_new_session=True,
        )
        if self._process.stdin is None or self._process.stdout is None:
            raise RuntimeError("both are pipes")
        self._input, output = self._process.stdin, self._process.stdout

        def read_all() -> None:
            with output:
                for line in output:
                    self._lines.put(line)
            self._lines.put(b"")

        # Without it, neither side would read while both have much to write.
        self._reader = threading.Thread(target=read_all, daemon=True)
        self._reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self._process.wait()
        self.close_input()
        self._reader.join()
        self._stderr.close()

    def write(self, line: bytes) -> None:
        """Send a line, which may be passed on together with the next ones."""
        # A process that has ended reads nothing; the next `read` reports its end.
        with suppress(BrokenPipeError):
            self._input.write(line + b"\n")

    def read(self) -> bytes:
        """Return the next line that the process writes; empty when it has closed its output."""
        with suppress(BrokenPipeError):
            if not self._input.closed:
                self._input.flush()
        line = self._lines.get()
        if not line:
            # Whoever reads on gets the same answer.
            self._lines.put(line)
        return line

    def ask(self, line: bytes, about: str, limit_s: float, way_out: str) -> bytes:
        """Send a line and return the next one; a `StowageError` if the process has ended, or is late and was killed."""
        began = time.monotonic()
        timer = threading.Timer(limit_s, self.kill)
        timer.start()
        try:
            self.write(line)
            answer = self.read()
        finally:
            timer.cancel()
            timer.join()
        if answer:
            return answer
        if time.monotonic() - began >= limit_s:
            raise StowageError(f"{about} was not answered within {limit_s:g} s; {way_out}")
        raise StowageError(f"{self.name} ended with {self.last_words()}")

    def close_input(self) -> None:
        """Tell the process that no line follows."""
        with suppress(BrokenPipeError):
            self._input.close()

    def last_words(self) -> str:
        """Wait for the end of the process, and return its exit code with what it wrote to stderr."""
        code = self._process.wait()
        self._stderr.seek(0)
        text = self._stderr.read().decode(errors="replace").strip()
        return f"exit code {code}: {text or 'it wrote no message; was it killed?'}"

    @property
    def name(self) -> str:
        """The command, without the folder that its program is in."""
        program, *arguments = self._command
        return " ".join((Path(program).name, *arguments))

    def kill(self) -> None:
        """Kill the process and its children."""
        # Its number is not given to another process before it is waited for.
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)


PROFILE_FOLDER = layout.shipped("charts") / "stowage" / "profiles"

INSTANCE_TIMEOUT_S = 120.0

ROOMY_BYTES = 16 * 1024**2
"""An instance of about 10,000 pods; a larger one may take longer in proportion."""

_T = TypeVar("_T")


class ProfileMissingError(StowageError):
    """There is no scheduler profile of that name."""


def find_profile(name: str) -> Path:
    """Return the KubeSchedulerConfiguration of a shipped profile; a `ProfileMissingError` if there is none."""
    file = PROFILE_FOLDER / f"{name}.yaml"
    if not file.is_file():
        known = sorted(other.stem for other in PROFILE_FOLDER.glob("*.yaml"))
        raise ProfileMissingError(
            f"no scheduler profile {name!r} in {PROFILE_FOLDER}; there are: {', '.join(known) or 'none'}"
        )
    return file


class _Failure(msgspec.Struct):
    error: str = ""


class _Scheduler(LineProcess):
    """``stowage-simulate``, for as long as the ``with`` block lasts; ``timeout_s`` is for `ROOMY_BYTES`."""

    _options: ClassVar[tuple[str, ...]] = ()
    _again: ClassVar[str] = "run it again"

    def __init__(
        self,
        config: Path,
        *,
        timeout_s: float = INSTANCE_TIMEOUT_S,
        feature_gates: str = "",
        environment: Mapping[str, str] | None = None,
        way_out: str = "give the scheduler a longer timeout_s or a smaller instance",
        minor: str | None = None,
    ) -> None:
        gates = ("--feature-gates", feature_gates) if feature_gates else ()
        binary = tool_path("stowage-simulate", choose_minor(minor))
        super().__init__((binary, "--config", config, *self._options, *gates), environment)
        self._timeout_s = timeout_s
        self._way_out = way_out

    def _ask(self, instance_id: str, content: Mapping[str, Any], answer: type[_T]) -> _T:
        text = json.dumps(content).encode()
        limit_s = self._timeout_s * max(1.0, len(text) / ROOMY_BYTES)
        line = self.ask(text, f"instance {instance_id!r}", limit_s, self._way_out)
        if error := msgspec.json.decode(line, type=_Failure).error:
            way_out = f"repair what the reason names and {self._again}"
            raise NoAnswerError(f"instance {instance_id!r} has no answer: {error}; {way_out}")
        return msgspec.json.decode(line, type=answer, dec_hook=lambda _, content: ParseDict(content, pb.Snapshot()))


class NoAnswerError(StowageError):
    """The scheduler came to no end with an instance, or refused it."""


class Simulator(_Scheduler):
    """The scheduler without an API server, for as long as the ``with`` block lasts."""

    def place(self, instance: Instance) -> Placements:
        """Return where it puts the pods; a `StowageError` if the instance has issues, or the scheduler failed.

        Of an instance that is not answered it is a `NoAnswerError`.
        """
        placed = self._ask(instance.id, instance.content(), Placements)
        return msgspec.structs.replace(placed, nodes={pod: node or None for pod, node in placed.nodes.items()})


class SchedulerVerifier(_Scheduler):
    """The scheduler's own checks of a plan: it decodes the plan and rehearses it with the plugins of the profile."""

    _options = ("--judge",)
    _again = "ask again"

    def verify(self, question: Question) -> Verification:
        """Return the snapshot of the instance, and a judgement of each plan; raises as `Simulator.place` does."""
        return self._ask(question.instance.id, question.content(), Verification)

    def judge(self, question: Question) -> Judgement:
        """Return all but the snapshot, which takes time; raises as `verify` does."""
        return self._ask(question.instance.id, question.content(), Judgement)
