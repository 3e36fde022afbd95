"""Whether a scenario with steps has the sections that go together."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from stowage_testbed.scenario.draft import Draft
from stowage_testbed.scenario.issues import DocumentIssue
from stowage_testbed.scenario.steps.applying import TriggerPlan

RESERVING_PROFILES = ("optimizer", "optimizer-deterministic")
"""Profiles of the chart with the plugins of plans and reservations."""


def steps_name_their_language(draft: Draft) -> Iterator[DocumentIssue]:
    """A scenario with steps says which version of the language it is written in."""
    data = draft.document.data
    if draft.stepped and isinstance(data, dict) and "version" not in data:
        message = "steps belong to version 1 of the language; add `version: 1`"
        yield DocumentIssue(("steps",), message, of_key=True)


def optimiser_is_there(draft: Draft) -> Iterator[DocumentIssue]:
    """What concerns the optimiser needs one."""
    scheduler = draft.valid.get("scheduler", {})
    if not draft.stepped:
        return
    profile = scheduler.get("profile", "deterministic")
    if scheduler.get("optimizer"):
        if profile not in RESERVING_PROFILES:
            known = " or ".join(RESERVING_PROFILES)
            message = f"profile {profile} does not know the optimiser; choose {known}"
            yield DocumentIssue(("scheduler", "profile"), message)
        return
    way_out = "add `scheduler: {profile: optimizer, optimizer: true}`"
    if "optimizer" in draft.valid:
        message = f"the scheduler runs without the optimiser; {way_out}"
        yield DocumentIssue(("optimizer",), message, of_key=True)
    for step in draft.steps:
        if isinstance(step.action, TriggerPlan):
            yield DocumentIssue(
                step.place(), f"nobody makes plans; {way_out}", of_key=True
            )


def reservations_are_respected(draft: Draft) -> Iterator[DocumentIssue]:
    """A Reservation needs a scheduler that knows what it is."""
    profile = draft.valid.get("scheduler", {}).get("profile", "deterministic")
    if profile in RESERVING_PROFILES:
        return
    for name, one in draft.objects.items():
        if one.kind == "Reservation":
            known = " or ".join(RESERVING_PROFILES)
            message = (
                f"the scheduler's profile {profile} does not know reservations; "
                f"choose {known}"
            )
            yield DocumentIssue(("objects", name, "kind"), message)


FORM_RULES: tuple[Callable[[Draft], Iterator[DocumentIssue]], ...] = (
    steps_name_their_language,
    optimiser_is_there,
    reservations_are_respected,
)
