"""What goes wrong, in which world, and when: the entries of ``faults.yaml``."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from jsonschema import Draft202012Validator

from stowage_testbed.base.errors import InputError
from stowage_testbed.declaration import (
    collect_definitions,
    form,
    make_object,
    make_object_schema,
    setting,
)
from stowage_testbed.scenario.expected_moment import Bounds
from stowage_testbed.scenario.issues import translate_errors
from stowage_testbed.scenario.load import load_folder
from stowage_testbed.scenario.model import Scenario

FOLDER = Path(__file__).parent
FILE, WORLDS = FOLDER / "faults.yaml", FOLDER / "worlds"

FaultMoment = Literal[
    "unschedulable", "solving", "proposed", "executing", "evicted", "arrived"
]
"""When a fault begins: a pod was refused, a plan has come so far, pods left or came."""

FaultName = Literal[
    "change-owner", "churn", "compete", "create-budget", "create-odd-objects",
    "delete-node", "fill-etcd", "forge", "freeze-leader", "kill-optimizer",
    "kill-scheduler", "lie", "limit-pods", "make-unschedulable", "nothing",
    "refuse-writes", "restart-api-server", "shrink-budget", "shrink-node",
    "slow-api-server", "stop-optimizer", "taint-node",
]  # fmt: skip
"""What is done to the cluster: each a kind of `benchmarks.faults.kinds`."""

Span = Annotated[
    tuple[
        Annotated[float, form(minimum=0, maximum=600)],
        Annotated[float, form(minimum=0, maximum=600)],
    ],
    form(name="span"),
]
"""A range in seconds."""


@dataclass(frozen=True, slots=True)
class FaultSettings:
    """What goes wrong, and when; ``way`` is empty for a fault that has a single one."""

    do: Annotated[str, form(written=FaultName), setting("What is done to the cluster.")]
    at: Annotated[
        FaultMoment,
        setting(
            "The moment. unschedulable: a pod fits nowhere. solving, proposed, "
            "executing: a plan is in this phase. evicted, arrived: pods have left "
            "their nodes, or come to those of the plan."
        ),
    ]
    way: Annotated[
        str,
        setting(
            "Which of the ways in which it can be done; each fault has its own.",
            key="with",
        ),
    ] = ""
    count: Annotated[
        int,
        setting("How many pods have left or come, for evicted and arrived.", minimum=1),
    ] = 1
    after_s: Annotated[
        Span, setting("Seconds from the moment to the fault, drawn between these two.")
    ] = (0.0, 0.0)
    lasts_s: Annotated[
        Span, setting("Seconds from the fault to its end, drawn between these two.")
    ] = (0.0, 0.0)
    tries: Annotated[int, setting("How often it is tried.", minimum=1)] = 20
    world: Annotated[str, setting("The scenario in `worlds` where it happens.")] = (
        "moves"
    )
    least: Annotated[
        int | None,
        setting(
            "How many pods have a node in the end; without, as the world says.",
            minimum=0,
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class Fault:
    """What goes wrong, and the world in which it does; the scenario has its name."""

    settings: FaultSettings
    scenario: Scenario

    @property
    def name(self) -> str:
        """The entry's name in the file."""
        return self.scenario.name.rpartition("/")[2]


def load_faults(names: Collection[str] = ()) -> tuple[Fault, ...]:
    """Return the faults of these names, all of them without.

    Raises
    ------
    InputError
        The file is wrong, or has no fault of a name.
    """
    entries = yaml.safe_load(FILE.read_text("utf-8"))
    return read_faults({name: entries[name] for name in _known(names, entries)})


def read_faults(entries: Mapping[str, Any]) -> tuple[Fault, ...]:
    """Return the faults of some entries of the file.

    Raises
    ------
    InputError
        An entry is wrong; names every one.
    """
    schema = make_object_schema(FaultSettings)
    whole = {"type": "object", "additionalProperties": schema}
    validator = Draft202012Validator(collect_definitions(whole))
    issues = [
        f"{'.'.join(map(str, issue.place))}: {issue.message}"
        for issue in translate_errors(validator.iter_errors(entries))
    ]
    if issues:
        raise InputError("\n".join((f"{FILE.name}:", *issues)))
    worlds = {one.scenario_id.partition("/")[2]: one for one in load_folder(WORLDS)}
    return tuple(
        _make_fault(name, make_object(FaultSettings, entry), worlds)
        for name, entry in entries.items()
    )


def _make_fault(
    name: str, settings: FaultSettings, worlds: Mapping[str, Scenario]
) -> Fault:
    (world,) = _known([settings.world], worlds)
    scenario = replace(worlds[world], name=f"faults/{name}", variant=None)
    if settings.least is not None:
        optimizer = replace(scenario.expect.optimizer, placed=Bounds(settings.least))
        expect = replace(scenario.expect, optimizer=optimizer)
        scenario = replace(scenario, expect=expect)
    return Fault(settings, scenario)


def _known(names: Collection[str], there: Mapping[str, Any]) -> Collection[str]:
    """Return the names, or all that there are; as `load_faults` raises."""
    for name in names:
        if name not in there:
            raise InputError(f"there is no {name!r}; there are: {', '.join(there)}")
    return names or there
