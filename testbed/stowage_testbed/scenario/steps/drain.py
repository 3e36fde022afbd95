"""The step that empties nodes as an administrator does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from stowage_testbed.declaration import setting
from stowage_testbed.scenario.steps.action import Action, Deadline, Names, join_names
from stowage_testbed.scenario.steps.waiting import Timeout


@dataclass(frozen=True, slots=True)
class Drain(Action):
    """Cordon nodes and evict their pods, as their disruption budgets allow.

    A pod that a budget protects is tried again until the deadline.
    """

    kind = "drain"
    deadline = Deadline("For the pods of drained nodes to be gone.", "settle")
    nodes: Annotated[Names, setting("Which nodes.", names="node")]
    timeout_s: Timeout = None

    def in_words(self) -> str:
        return f"close {join_names(self.nodes)} for new pods and evict all pods there, as their budgets allow"

    @property
    def own_timeout_s(self) -> float | None:
        return self.timeout_s
