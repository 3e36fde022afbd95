"""What a comparison is asked to do, and from which words of a command line."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from stowage_testbed.base.errors import InputError
from stowage_testbed.compare.arms.serving import Arm
from stowage_testbed.compare.arms.settings import ClientLimits
from stowage_testbed.compare.comparison import Comparison, Turn
from stowage_testbed.metrics.record import RunRecord
from stowage_testbed.run.listener import Listener
from stowage_testbed.run.request import DEFAULT_VARIANT, choose_scenarios
from stowage_testbed.scenario.model import Scenario

EQUAL = ClientLimits(qps=1000, burst=1000)
"""High enough that the API server of one machine is slower."""


@dataclass(frozen=True, slots=True)
class CompareRequest:
    """One scenario with a measured window, several schedulers (the first is the baseline), and a number of rounds.

    With ``time_s``, rounds go on until each headline is decided or the time is over. ``allow_unfair`` admits arms
    that differ in more than how they place pods. Without ``cluster``, one is started.
    """

    scenario: Scenario
    arms: tuple[Arm, ...]
    folder: Path
    rounds: int = 3
    limits: Mapping[str, ClientLimits | None] = field(default_factory=lambda: {"equal": EQUAL})
    seed: int = 1
    warm_up: int = 50
    allow_unfair: bool = False
    cluster: str | None = None
    time_s: float | None = None


def split_words(text: str) -> list[str]:
    """Return the words of a list with commas."""
    return [word.strip() for word in text.split(",") if word.strip()]


def choose_scenario(asked: str, folder: Path, variant: str | None) -> Scenario:
    """Return the one scenario that is meant: its plain run unless a variant is named; an `InputError` for several."""
    found = choose_scenarios([asked], folder=folder, variant=variant)
    if variant is None and len(found) > 1:
        default = choose_scenarios([asked], folder=folder, variant=DEFAULT_VARIANT)
        found = default if len({one.name for one in found}) == 1 else found
    if len(found) > 1:
        means = f"{len(found)} scenarios ({', '.join(one.scenario_id for one in found[:4])})"
        raise InputError(f"{asked!r} means {means}; compare one at a time, by its name or with --variant")
    return found[0]


def read_time(text: str) -> float:
    """Return the seconds of a time such as 90s, 20m or 1h; an `InputError` if it is none."""
    number, unit = text[:-1], {"s": 1, "m": 60, "h": 3600}.get(text[-1:])
    if unit is None or not number.isdecimal() or not int(number):
        raise InputError(f"{text!r} is no time; write it as in 90s, 20m or 1h, in whole numbers")
    return float(int(number) * unit)


def read_limits(text: str) -> Mapping[str, ClientLimits | None]:
    """Return the kinds of client limits that are named, with what they are; an `InputError` for others."""
    known: dict[str, ClientLimits | None] = {"own": None, "equal": EQUAL}
    chosen = split_words(text) or [text]
    for word in chosen:
        if word not in known:
            why = f"--limits {word!r} is neither `own` (each scheduler's own) nor `equal` (the same for all)"
            raise InputError(f"{why}; name one or both, as in own,equal")
    return {word: known[word] for word in chosen}


def make_default_folder_name(scenario: Scenario) -> Path:
    """Return where the bundle of a scenario's comparison is kept."""
    return Path("results/compare") / scenario.scenario_id.replace("/", "-").replace("@", "-")


def make_turns(limits: Sequence[str], arms: Sequence[str], rounds: int | None, seed: int) -> Iterator[Turn]:
    """Yield every run, round by round, for ever without ``rounds``; the order of the arms is drawn, then rotates."""
    first = list(arms)
    random.Random(seed).shuffle(first)  # noqa: S311 - an order is no secret
    for number in count(1) if rounds is None else range(1, rounds + 1):
        ahead = (number - 1) % len(first)
        for kind in limits:
            for arm in first[ahead:] + first[:ahead]:
                yield Turn(kind, number, arm)


class CompareListener(Listener):
    """Receives every turn too; does nothing by itself."""

    def turns_planned(self, total: int | None) -> None:
        """Take note of how many there will be, where that is known."""

    def turn_started(self, turn: Turn) -> None:
        """Take note that an arm's turn begins."""

    def round_judged(self, comparison: Comparison) -> None:
        """Take note of what the rounds so far say."""

    def turn_finished(self, turn: Turn, record: RunRecord) -> None:
        """Take its record."""
