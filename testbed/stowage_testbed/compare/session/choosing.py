"""From the words of a command line to what is compared."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from stowage_testbed.compare.session.errors import (
    LimitsUnknownError,
    SeveralScenariosError,
)
from stowage_testbed.compare.session.request import LimitsKind
from stowage_testbed.run.arm import ClientLimits
from stowage_testbed.run.request import DEFAULT_VARIANT, choose_scenarios
from stowage_testbed.scenario.model import Scenario

COMPARISONS = Path("results/compare")


def words(text: str) -> list[str]:
    """Return the words of a list with commas."""
    return [word.strip() for word in text.split(",") if word.strip()]


def one_scenario(asked: str, folder: Path, variant: str | None) -> Scenario:
    """Return the one scenario that is meant: its plain run unless a variant is named.

    Raises
    ------
    SeveralScenariosError
        More than one is meant.
    StowageError
        As `choose_scenarios` says.
    """
    found = choose_scenarios([asked], folder=folder, variant=variant)
    if variant is None and len(found) > 1:
        plain = choose_scenarios([asked], folder=folder, variant=DEFAULT_VARIANT)
        found = plain if len({one.name for one in found}) == 1 else found
    if len(found) > 1:
        raise SeveralScenariosError(asked, [one.scenario_id for one in found])
    return found[0]


def limits_of(text: str, qps: int) -> Mapping[LimitsKind, ClientLimits | None]:
    """Return the kinds of client limits that are named, with what they are.

    Raises
    ------
    LimitsUnknownError
        One is neither `own` nor `equal`.
    """
    chosen: dict[LimitsKind, ClientLimits | None] = {}
    for word in words(text):
        if word == "own":
            chosen["own"] = None
        elif word == "equal":
            chosen["equal"] = ClientLimits(qps, qps)
        else:
            raise LimitsUnknownError(word)
    if not chosen:
        raise LimitsUnknownError(text)
    return chosen


def default_folder(scenario: Scenario) -> Path:
    """Return where the bundle of a scenario's comparison is kept."""
    return COMPARISONS / scenario.scenario_id.replace("/", "-").replace("@", "-")
