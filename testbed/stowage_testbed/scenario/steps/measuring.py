"""Steps between which metrics are measured, or that measure a service themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from stowage_testbed.declaration import setting
from stowage_testbed.hpa.load import Outcome
from stowage_testbed.hpa.settings import FULL, RecoverySettings
from stowage_testbed.scenario.steps.action import Action


@dataclass(frozen=True, slots=True)
class Measure(Action):
    """Begin or end the window that metrics are of."""

    kind = "measure"
    bare = True
    edge: Annotated[Literal["start", "stop"], setting("Which.")]

    def in_words(self) -> str:
        return f"{self.edge} measuring"


@dataclass(frozen=True, slots=True)
class Overload(Action):
    """Overload a web service and watch its autoscaler; the cluster must measure usage.

    FIND and HOLD of section 5.2.2 of "On Optimized Scheduling Scheme for Rapid Pod
    Autoscaling in Kubernetes"; testbed/stowage_testbed/hpa/README.md says what is real.
    """

    kind = "overload"
    settings: Annotated[RecoverySettings, setting("How.", beside=True)] = FULL
    outcome: Annotated[Outcome | None, setting("What must become of the service; without it, anything may.")] = None

    def in_words(self) -> str:
        settings = self.settings
        find, hold, scaling = settings.find, settings.hold, settings.autoscaling
        text = (
            f"overload a web service of {scaling.min_replicas} to "
            f"{scaling.max_replicas} replicas: add clients from {find.start} to "
            f"{find.most} by {find.step} every {find.level_s:g} s until its p99 is "
            f"above {settings.sla.p99_s:g} s or its errors are above "
            f"{settings.sla.errors:.3g}, then hold the load for {hold.total_s:g} s in "
            f"windows of {hold.window_s:g} s"
        )
        if not hold.whole:
            text += ", or until it has recovered"
        outcome = self.outcome.replace("_", " ") if self.outcome else ""
        return f"{text}; expected: {outcome}" if outcome else text
