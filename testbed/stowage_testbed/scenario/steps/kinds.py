"""All kinds of steps, and what the steps of a scenario add that nothing else names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from stowage_testbed.scenario.arrivals.recorded import RecordedReplay
from stowage_testbed.scenario.steps import applying, arriving, nodes, waiting
from stowage_testbed.scenario.steps.action import Action, Step
from stowage_testbed.scenario.steps.applying import AskForPlan
from stowage_testbed.scenario.steps.arriving import Replay

ACTIONS: dict[str, type[Action]] = {
    one.kind: one
    for file in (applying, nodes, arriving, waiting)
    for one in vars(file).values()
    # What a file imports is declared elsewhere.
    if isinstance(one, type) and one.__module__ == file.__name__ and issubclass(one, Action)
}
"""Each kind by its key in a file, in the order in which the schema lists them."""

ActionT = TypeVar("ActionT", bound=Action)


def actions_of(steps: Iterable[Step], kind: type[ActionT]) -> Iterator[ActionT]:
    """Yield what the steps of one kind do."""
    return (step.action for step in steps if isinstance(step.action, kind))


def list_replayed_owners(steps: Iterable[Step]) -> list[str]:
    """Return the owners of the pods that traces bring, each once."""
    owners = (owner for one in actions_of(steps, Replay) for owner in one.owners)
    return list(dict.fromkeys(owners))


def list_recorded(steps: Iterable[Step]) -> Iterator[RecordedReplay]:
    """Yield what replays of recorded traces do."""
    for one in actions_of(steps, Replay):
        if one.recorded is not None:
            yield one.recorded


def list_replayed_nodes(steps: Iterable[Step]) -> list[str]:
    """Return the nodes that traces bring, at some time, each once."""
    nodes = (node for one in list_recorded(steps) for node in one.nodes)
    return list(dict.fromkeys(nodes))


def list_replayed_files(steps: Iterable[Step]) -> list[str]:
    """Return the traces' files, as the steps name them, each once."""
    return list(dict.fromkeys(one.file for one in actions_of(steps, Replay)))


def list_asked_plans(steps: Iterable[Step]) -> list[str]:
    """Return the names of the plans that steps ask for."""
    return [one.plan for one in actions_of(steps, AskForPlan)]
