"""Steps that choose what places the pods, and that have the optimiser pack them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from stowage_testbed.declaration import setting
from stowage_testbed.scenario.issues import DocumentIssue
from stowage_testbed.scenario.manifest_forms import Anything
from stowage_testbed.scenario.steps.action import Action

Profile = Literal["default", "deterministic", "optimizer", "optimizer-deterministic", "score-cache"]
"""The chart's profiles."""

RESERVING_PROFILES: tuple[Profile, ...] = ("optimizer", "optimizer-deterministic")
"""Profiles of the chart with the plugins of plans and reservations."""


@dataclass(frozen=True, slots=True)
class Release(Action):
    """Install the chart's release, or bring it to these settings, so that it serves.

    A scheduler under comparison serves in its stead.
    """

    kind = "release"
    profile: Annotated[Profile, setting("A profile of the chart.")] = "deterministic"
    optimizer: Annotated[
        bool, setting("Whether the optimiser runs beside the scheduler; it needs a profile that knows it.")
    ] = False
    values: Annotated[Anything, setting("Helm values of the chart, over all others.")] = field(default_factory=dict)

    @property
    def can_be_kept(self) -> bool:
        """Whether its scheduler is as new once the pods and nodes it saw are gone.

        One that makes plans counts how long it has held pods and solved in the last
        minute, and waits longer after solves that found nothing.
        """
        return self.profile not in RESERVING_PROFILES

    @classmethod
    def issues(cls, plain: Any) -> Iterator[DocumentIssue]:
        profile = plain.get("profile", cls().profile)
        if plain.get("optimizer") and profile not in RESERVING_PROFILES:
            known = " or ".join(RESERVING_PROFILES)
            message = f"profile {profile} does not know the optimiser; choose {known}"
            place = ("profile",) if "profile" in plain else ()
            yield DocumentIssue(place, message)

    def in_words(self) -> str:
        text = f"have the chart's release serve with profile {self.profile}"
        if self.optimizer:
            text += " and the optimiser"
        return f"{text}, and the values {dict(self.values)}" if self.values else text


@dataclass(frozen=True, slots=True)
class Pack(Action):
    """Have the optimiser pack what is there, and wait until it is done.

    Where it is asked by hand only, it is asked once.
    """

    kind = "pack"

    def in_words(self) -> str:
        return "have the optimiser pack what is there, and wait until it is done"
