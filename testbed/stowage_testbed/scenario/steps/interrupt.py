"""The step that takes a process of the cluster away for a while."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from stowage_testbed.declaration import setting
from stowage_testbed.scenario.steps.action import Action, Deadline
from stowage_testbed.scenario.steps.waiting import Timeout

Process = Literal["api-server", "controller-manager", "etcd", "kwok", "scheduler"]
"""What can be interrupted."""


@dataclass(frozen=True, slots=True)
class Interrupt(Action):
    """Take a process away for some seconds; the next step finds it serving again.

    It needs a cluster whose control plane are processes of this machine.
    """

    kind = "interrupt"
    deadline = Deadline("For an interrupted scheduler to serve again.", "settle")
    process: Annotated[Process, setting("Which one. kwok stands for the kubelets of all fake nodes.")]
    how: Annotated[
        Literal["kill", "stop"],
        setting("stop: it hangs, and goes on where it was. kill: it is dead, and is started again."),
    ]
    for_s: Annotated[float, setting("For how many seconds.", exclusiveMinimum=0, maximum=600)]
    timeout_s: Timeout = None

    def in_words(self) -> str:
        end = "let it go on" if self.how == "stop" else "start it again"
        return f"{self.how} {self.process}, {end} {self.for_s:g} s later"

    @property
    def own_timeout_s(self) -> float | None:
        return self.timeout_s
