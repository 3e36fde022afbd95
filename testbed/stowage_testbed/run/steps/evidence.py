"""Collecting what a scenario's `catch` names, when something has failed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import yaml

from stowage_testbed.base.errors import StowageError
from stowage_testbed.observe.change import JsonObject, drop_bookkeeping, write_event_table
from stowage_testbed.run.steps.context import StepContext
from stowage_testbed.scenario.model import CatchItem

Logs = Callable[[], Mapping[str, str]]
"""Reads the logs of whatever schedules, by name."""


def collect(context: StepContext, logs: Logs) -> dict[str, str]:
    """Return the evidence by file name; what cannot be had says why."""
    found: dict[str, str] = {}
    for item in context.scenario.catch:
        try:
            found.update(_collect_item(context, item, logs))
        except StowageError as error:
            found[f"{item.what}-{item.of or 'all'}.txt"] = f"{error}\n"
    return found


def _collect_item(context: StepContext, item: CatchItem, logs: Logs) -> Iterator[tuple[str, str]]:
    match item.what:
        case "events":
            yield "events.txt", write_event_table(_list_events(context))
        case "logs":
            for name, text in logs().items():
                yield f"{name}.log", text
        case "objects":
            yield f"objects-{item.of}.yaml", _dump(_list_bodies(context, item.of))
        case "describe":
            yield f"describe-{item.of}.txt", _describe(context, item.of)


def _list_events(context: StepContext) -> list[JsonObject]:
    read = context.run.observer.read
    return read(lambda state: state.bodies("Event", context.namespace))


def _list_bodies(context: StepContext, kind: str) -> list[JsonObject]:
    # A kind without namespaces passes over this one.
    return list(context.objects.each(kind, context.namespace))


def _describe(context: StepContext, name: str) -> str:
    """Return the object and the events about it, or about pods of that workload."""
    item, workload = context.object(name), context.workload(name)
    kind = item.kind if item else workload.kind if workload else "PackingPlan"
    bodies = [b for b in _list_bodies(context, kind) if b["metadata"]["name"] == name]
    about = context.run.observer.read(
        lambda state: {pod.name for pod in state.all_pods(context.namespace) if pod.workload == name}
    )
    names = {name, *about}
    events = [e for e in _list_events(context) if e["involvedObject"].get("name") in names]
    there = _dump(bodies) if bodies else f"there is no {kind} {name}\n"
    return f"{there}\n{write_event_table(events)}"


def _dump(bodies: list[JsonObject]) -> str:
    plain: list[Any] = [drop_bookkeeping(dict(body)) for body in bodies]
    return yaml.safe_dump_all(plain, sort_keys=False)
