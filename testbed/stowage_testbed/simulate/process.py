"""The real scheduler as a process that answers a line with a line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import msgspec
from google.protobuf.json_format import ParseDict

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.base import layout
from stowage_testbed.base.errors import StowageError
from stowage_testbed.simulate.instance import (
    Instance,
    Judgement,
    Placements,
    Question,
    Remark,
    UnknownField,
    Verification,
)
from stowage_testbed.simulate.line_process import LineProcess
from stowage_testbed.toolchain import choose_minor, tool_path

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

    def _ask(self, instance_id: str, content: Mapping[str, Any], answer: type[_T], way_out: str) -> _T:
        text = json.dumps(content).encode()
        limit_s = self._timeout_s * max(1.0, len(text) / ROOMY_BYTES)
        line = self.ask(text, f"instance {instance_id!r}", limit_s, self._way_out)
        if error := msgspec.json.decode(line, type=_Failure).error:
            raise StowageError(f"instance {instance_id!r} has no answer: {error}; {way_out}")
        return msgspec.json.decode(line, type=answer)


class Simulator(_Scheduler):
    """The scheduler without an API server, for as long as the ``with`` block lasts."""

    def place(self, instance: Instance) -> Placements:
        """Return where the scheduler puts the instance's pods.

        A `StowageError` if the instance has issues or a plugin failed, after which it runs on; or it ended, or was
        late.
        """
        way_out = "repair what the reason names and run it again"
        placed = self._ask(instance.id, instance.content(), Placements, way_out)
        return msgspec.structs.replace(placed, nodes={pod: node or None for pod, node in placed.nodes.items()})


class _Answer(Judgement, frozen=True, kw_only=True, rename="camel"):
    snapshot: dict[str, Any]
    left_out: tuple[Remark, ...] = ()
    unknown_fields: tuple[UnknownField, ...] = ()


class SchedulerVerifier(_Scheduler):
    """The scheduler's own checks of a plan: it decodes the plan and rehearses it with the plugins of the profile."""

    _options = ("--judge",)

    def verify(self, question: Question) -> Verification:
        """Return the snapshot of the instance, and a judgement of each plan; raises as `Simulator.place` does."""
        answer = self._judge(question, _Answer)
        snapshot = ParseDict(answer.snapshot, pb.Snapshot())
        return Verification(snapshot, answer.of_plans, answer.continued, answer.left_out, answer.unknown_fields)

    def judge(self, question: Question) -> Judgement:
        """Return all but the snapshot, which takes time; raises as `verify` does."""
        return self._judge(question, Judgement)

    def _judge(self, question: Question, answer: type[_T]) -> _T:
        return self._ask(question.instance.id, question.content(), answer, "repair what the reason names and ask again")
