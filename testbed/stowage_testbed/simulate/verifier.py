"""The scheduler's verdicts on plans, without a cluster to carry them out on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from google.protobuf.json_format import ParseDict

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.simulate.errors import QuestionRefusedError
from stowage_testbed.simulate.process import INSTANCE_TIMEOUT_S, SimulatorProcess
from stowage_testbed.simulate.question import Question, Verdict, Verification


class SchedulerVerifier(SimulatorProcess):
    """The scheduler's own checks of a plan, for as long as the ``with`` block lasts.

    It decodes the plan as the plugin does and rehearses it with the plugins of the
    profile. The parameters are those of `SimulatorProcess`.
    """

    def __init__(self, config: Path, *, timeout_s: float = INSTANCE_TIMEOUT_S) -> None:
        super().__init__(config, timeout_s=timeout_s, options=("--judge",))

    def verify(self, question: Question) -> Verification:
        """Return the snapshot of the instance, and a verdict on each plan.

        Raises
        ------
        QuestionRefusedError
            The question has issues. The verifier keeps running.
        SimulatorEndedError, SimulatorTimeoutError
            As `SimulatorProcess.ask` says.
        """
        answer = self.ask(question.instance.id, question.content())
        if answer.get("error"):
            raise QuestionRefusedError(question.instance.id, answer["error"])
        return Verification(
            snapshot=ParseDict(answer["snapshot"], pb.Snapshot()),
            verdicts=tuple(_verdict(one) for one in answer.get("verdicts", ())),
        )


def _verdict(said: Mapping[str, Any]) -> Verdict:
    return Verdict(
        accepted=said["accepted"],
        reason=said.get("reason", ""),
        plugins=tuple(said.get("plugins", ())),
        pods=tuple(said.get("pods", ())),
        detail=said.get("detail", ""),
    )
