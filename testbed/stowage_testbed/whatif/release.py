"""The settings of a release, as its values name them, or as the chart has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from stowage_testbed.base import layout
from stowage_testbed.base.errors import InputError

PLUGIN, SCHEDULER_NAME = "priorityOptimizer", "schedulerName"
"""The values that hold the plugin's arguments, and which pods are the scheduler's."""

STOCK_NAME = "default-scheduler"

LIMITS = {
    "maxMoves": "move",
    "maxEvictions": "eviction",
    "maxPerNode": "disruption of a node",
    "maxPerNamespace": "disruption of a namespace",
    "maxPerWorkload": "disruption of a workload",
}
"""The limits on one plan, and what each counts."""


@dataclass(frozen=True, slots=True)
class Release:
    """What a release does with pods.

    Attributes
    ----------
    schedulers
        The names of schedulers whose pods it takes for its own.
    arguments
        Of the plugin: rules that protect pods, limits, policy. What is left out has its
        default, which is the chart's too.
    feature_gates
        As kube-scheduler takes them.
    """

    schedulers: tuple[str, ...] = (STOCK_NAME,)
    arguments: Mapping[str, Any] = field(default_factory=dict)
    feature_gates: str = ""

    def limit(self, name: str) -> int | None:
        """Return one of the `LIMITS`; ``None`` if there is none."""
        limits = self.arguments.get("limits")
        value = limits.get(name) if isinstance(limits, Mapping) else None
        return value if isinstance(value, int) and value > 0 else None

    def at_most(self, max_moves: int | None) -> Release:
        """Return the same with at most so many moves, if it allows more."""
        mine = self.limit("maxMoves")
        if not max_moves or (mine is not None and mine <= max_moves):
            return self
        limits = {**(self.arguments.get("limits") or {}), "maxMoves": max_moves}
        arguments = {**self.arguments, "limits": limits}
        return Release(self.schedulers, arguments, self.feature_gates)


def release_of(path: Path | None) -> Release:
    """Return the release that has these values; without any, one as the chart has it.

    Values that name no scheduler, and none at all, mean the pods of the stock scheduler
    and those of the chart's own name: what a release would be installed for.

    Raises
    ------
    InputError
        The file is not YAML, or holds something else than values.
    """
    given = _mapping(path, _values(path)) if path else {}
    arguments = _mapping(path, given.get(PLUGIN) or {}, PLUGIN)
    if not arguments.get("namespaceSelector"):
        # The chart leaves out an empty one, which means all namespaces.
        arguments = {name: value for name, value in arguments.items() if name != "namespaceSelector"}
    name = given.get(SCHEDULER_NAME)
    scheduler = _mapping(path, given.get("scheduler") or {}, "scheduler")
    gates = _mapping(path, scheduler.get("featureGates") or {}, "featureGates")
    return Release(
        schedulers=(str(name),) if name else (STOCK_NAME, _chart_name()),
        arguments=arguments,
        feature_gates=",".join(_gates(gates)),
    )


def _gates(gates: Mapping[str, Any]) -> Iterator[str]:
    for name, on in gates.items():
        yield f"{name}={str(on).lower()}"


def _chart_name() -> str:
    values = layout.shipped("charts") / "stowage" / "values.yaml"
    return str(yaml.safe_load(values.read_text(encoding="utf-8"))[SCHEDULER_NAME])


def _values(path: Path) -> object:
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except OSError as error:
        raise _no_values(path, f"cannot be read: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise _no_values(path, f"is not YAML ({error})") from error


def _mapping(path: Path | None, value: object, name: str = "values") -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _no_values(path, f"has no mapping {name}")
    return value


def _no_values(path: Path | None, why: str) -> InputError:
    return InputError(f"{path}: {why}; make it with: helm get values --all -o yaml stowage --namespace stowage-system")
