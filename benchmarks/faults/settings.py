"""What goes wrong, in which world, and when: the entries of ``faults.yaml``."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from stowage_testbed.base.errors import InputError
from stowage_testbed.scenario.expected_moment import Bounds
from stowage_testbed.scenario.load import load_folder
from stowage_testbed.scenario.model import Scenario

FOLDER = Path(__file__).parent
FILE, WORLDS = FOLDER / "faults.yaml", FOLDER / "worlds"


@dataclass(frozen=True, slots=True)
class FaultSettings:
    """What goes wrong, and when; seconds are drawn between two.

    Attributes
    ----------
    do, way
        What is done to the cluster, one of `benchmarks.faults.kinds`, and in which of
        its ways; a list of ways makes a fault of each.
    at, count
        The moment. ``unschedulable``: a pod fits nowhere. ``solving``, ``proposed``,
        ``executing``: a plan is in this phase. ``evicted``, ``arrived``: so many pods
        have left their nodes, or come to those of the plan.
    after_s, lasts_s
        From the moment to the fault, and from there to its end.
    tries
        How often it is tried.
    world, least
        The scenario in `worlds` where it happens, and how many pods have a node in the
        end; without, as the world says.
    """

    do: str
    at: str
    way: str = ""
    count: int = 1
    after_s: tuple[float, float] = (0.0, 0.0)
    lasts_s: tuple[float, float] = (0.0, 0.0)
    tries: int = 20
    world: str = "moves"
    least: int | None = None


@dataclass(frozen=True, slots=True)
class Fault:
    """What goes wrong, and the world in which it does; the scenario has its name."""

    settings: FaultSettings
    scenario: Scenario


def load_faults(names: Collection[str] = ()) -> tuple[Fault, ...]:
    """Return the faults of these names, all of them without."""
    entries = dict(_each_way(yaml.safe_load(FILE.read_text("utf-8"))))
    worlds = {one.scenario_id.partition("/")[2]: one for one in load_folder(WORLDS)}
    for name in names:
        if name not in entries:
            raise InputError(f"there is no {name!r}; there are: {', '.join(entries)}")
    return tuple(_make_fault(name, FaultSettings(**entries[name]), worlds) for name in names or entries)


def _each_way(entries: Mapping[str, dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the entries, one for each way; the first has the name alone."""
    for name, entry in entries.items():
        ways = entry.pop("ways", [""])
        for way in ways:
            yield f"{name}@{way}" if way != ways[0] else name, {**entry, "way": way}


def _make_fault(name: str, settings: FaultSettings, worlds: Mapping[str, Scenario]) -> Fault:
    world = worlds[settings.world]
    scenario = replace(world, name=f"faults/{name}", variant=None)
    if settings.least is not None:
        optimizer = replace(scenario.expect.optimizer, placed=Bounds(settings.least))
        expect = replace(scenario.expect, optimizer=optimizer)
        scenario = replace(scenario, expect=expect)
    return Fault(settings, scenario)
