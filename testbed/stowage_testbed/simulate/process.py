"""The real scheduler as a process that answers a line with a line."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Self

from google.protobuf.json_format import ParseDict

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.base import layout
from stowage_testbed.base.errors import StowageError
from stowage_testbed.simulate.instance import (
    Continued,
    Instance,
    Judgement,
    Measurement,
    Placements,
    PlanJudgement,
    Question,
    Remark,
    UnknownField,
    Verification,
)
from stowage_testbed.toolchain import choose_minor, tool_path

PROFILE_FOLDER = layout.shipped("charts") / "stowage" / "profiles"


class ProfileMissingError(StowageError):
    """There is no scheduler profile of that name."""


def find_profile(name: str) -> Path:
    """Return the KubeSchedulerConfiguration of a shipped profile.

    Raises
    ------
    ProfileMissingError
        The chart has no such profile.
    """
    file = PROFILE_FOLDER / f"{name}.yaml"
    if not file.is_file():
        known = sorted(other.stem for other in PROFILE_FOLDER.glob("*.yaml"))
        raise ProfileMissingError(
            f"no scheduler profile {name!r} in {PROFILE_FOLDER}; there are: {', '.join(known) or 'none'}"
        )
    return file


INSTANCE_TIMEOUT_S = 120.0

ROOMY_BYTES = 16 * 1024**2
"""An instance of about 10,000 pods; a larger one may take longer in proportion."""


class SimulatorProcess:
    """``stowage-simulate``, for as long as the ``with`` block lasts.

    Parameters
    ----------
    config
        A KubeSchedulerConfiguration, such as `find_profile` returns.
    timeout_s
        How long one instance may take, if it has no more than `ROOMY_BYTES`.
    options
        What else the command is given.
    feature_gates
        As kube-scheduler takes them.
    environment
        Variables that are set in the process's environment, besides those of this one.
    way_out
        What those who asked can do where that took too long.
    minor
        Of Kubernetes, that the scheduler is of; the default one without.
    """

    def __init__(
        self,
        config: Path,
        *,
        timeout_s: float = INSTANCE_TIMEOUT_S,
        options: tuple[str, ...] = (),
        feature_gates: str = "",
        environment: Mapping[str, str] | None = None,
        way_out: str = "give the simulator a longer timeout_s or a smaller instance",
        minor: str | None = None,
    ) -> None:
        self._minor = choose_minor(minor)
        self._way_out = way_out
        self._config = config
        self._timeout_s = timeout_s
        gates = ("--feature-gates", feature_gates) if feature_gates else ()
        self._options = (*options, *gates)
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
        binary = tool_path("stowage-simulate", self._minor)
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

    def __exit__(self, *_: object) -> None:
        """End the process."""
        process, messages = self._running()
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, messages):
            # What was still to be written has no reader any more.
            with suppress(BrokenPipeError):
                if stream is not None:
                    stream.close()
        self._process = self._messages = None

    def ask(self, instance_id: str, content: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer to ``content``, which may be an error.

        Raises
        ------
        StowageError
            The configuration is broken, the process died, or it took too long and has
            been stopped.
        """
        process, _ = self._running()
        assert process.stdin  # noqa: S101 - both are pipes
        assert process.stdout  # noqa: S101
        late, text = threading.Event(), json.dumps(content) + "\n"
        limit_s = self._timeout_s * max(1.0, len(text) / ROOMY_BYTES)
        watchdog = threading.Timer(limit_s, _stop, (process, late))
        watchdog.start()
        try:
            process.stdin.write(text)
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
            raise StowageError(f"instance {instance_id!r} was not answered within {limit_s:g} s; {self._way_out}")
        raise self._end()

    def _end(self) -> StowageError:
        process, messages = self._running()
        exit_code = process.wait()
        messages.seek(0)
        return StowageError(
            f"stowage-simulate --config {self._config} ended with exit code "
            f"{exit_code}: "
            f"{messages.read().strip() or 'it wrote no message; was it killed?'}"
        )

    def _running(self) -> tuple[subprocess.Popen[str], IO[str]]:
        if self._process is None or self._messages is None:
            raise RuntimeError("a simulator works inside its with block only")
        return self._process, self._messages


def _stop(process: subprocess.Popen[str], late: threading.Event) -> None:
    late.set()
    process.kill()


class Simulator(SimulatorProcess):
    """The scheduler without an API server, for as long as the ``with`` block lasts.

    The parameters are those of `SimulatorProcess`.

    Examples
    --------
    >>> with Simulator(find_profile("deterministic")) as simulator:
    ...     placements = simulator.place(instance)  # doctest: +SKIP
    """

    def place(self, instance: Instance) -> Placements:
        """Return where the scheduler puts the instance's pods.

        Raises
        ------
        StowageError
            The instance has issues, or a plugin failed on it, and the simulator keeps
            running; or as `SimulatorProcess.ask` says.
        """
        answer = self.ask(instance.id, instance.content())
        if answer.get("error"):
            raise StowageError(
                f"instance {instance.id!r} has no placements: {answer['error']}; "
                "repair what the reason names and run it again"
            )
        return Placements(
            id=answer["id"],
            nodes={pod: node or None for pod, node in answer["placements"].items()},
            evicted=tuple(answer.get("evicted", ())),
            measurement=_read_measurement(answer.get("measurement")),
            reasons=answer.get("reasons", {}),
            awaiting=_read_remarks(answer.get("awaiting")),
            left_out=_read_remarks(answer.get("leftOut")),
        )


def _read_remarks(said: Iterable[Mapping[str, str]] | None) -> tuple[Remark, ...]:
    return tuple(Remark(**one) for one in said or ())


def _read_measurement(said: Mapping[str, Any] | None) -> Measurement | None:
    if said is None:
        return None
    return Measurement(
        pods_s=said["podsSeconds"], cpu_s=said["cpuSeconds"], arrived=said["arrived"], counters=said.get("counters", {})
    )


class SchedulerVerifier(SimulatorProcess):
    """The scheduler's own checks of a plan, for as long as the ``with`` block lasts.

    It decodes the plan as the plugin does and rehearses it with the plugins of the
    profile. The parameters are those of `SimulatorProcess`.
    """

    def __init__(
        self,
        config: Path,
        *,
        timeout_s: float = INSTANCE_TIMEOUT_S,
        feature_gates: str = "",
        environment: Mapping[str, str] | None = None,
        way_out: str = "give the verifier a longer timeout_s or a smaller instance",
        minor: str | None = None,
    ) -> None:
        super().__init__(
            config,
            timeout_s=timeout_s,
            options=("--judge",),
            feature_gates=feature_gates,
            environment=environment,
            way_out=way_out,
            minor=minor,
        )

    def verify(self, question: Question) -> Verification:
        """Return the snapshot of the instance, and a judgement of each plan.

        Raises
        ------
        StowageError
            The question has issues, and the verifier keeps running; or as
            `SimulatorProcess.ask` says.
        """
        answer = self._answer(question)
        return Verification(
            snapshot=ParseDict(answer["snapshot"], pb.Snapshot()),
            of_plans=_read_judgements(answer),
            continued=_read_continued(answer),
            left_out=_read_remarks(answer.get("leftOut")),
            unknown_fields=tuple(UnknownField(**one) for one in answer.get("unknownFields", ())),
        )

    def judge(self, question: Question) -> Judgement:
        """Return all but the snapshot, which takes time; raises as `verify` does."""
        answer = self._answer(question)
        return Judgement(_read_judgements(answer), _read_continued(answer))

    def _answer(self, question: Question) -> dict[str, Any]:
        answer = self.ask(question.instance.id, question.content())
        if answer.get("error"):
            raise StowageError(
                f"the question about instance {question.instance.id!r} has no answer: "
                f"{answer['error']}; repair what the reason names and ask again"
            )
        return answer


def _read_judgements(answer: Mapping[str, Any]) -> tuple[PlanJudgement, ...]:
    return tuple(_read_judgement(one) for one in answer.get("verdicts", ()))


def _read_continued(answer: Mapping[str, Any]) -> Continued | None:
    said = answer.get("continued")
    if said is None:
        return None
    return Continued(
        nodes=said["placements"],
        reasons=said.get("reasons", {}),
        awaiting=_read_remarks(said.get("awaiting")),
        untried=said.get("untried", 0),
    )


def _read_judgement(said: Mapping[str, Any]) -> PlanJudgement:
    return PlanJudgement(
        accepted=said["accepted"],
        reason=said.get("reason", ""),
        plugins=tuple(said.get("plugins", ())),
        pods=tuple(said.get("pods", ())),
        detail=said.get("detail", ""),
        proved=said.get("proved", False),
    )
