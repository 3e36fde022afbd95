"""The settings of a release, as its values name them or as the chart has them, and limits on plans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.api.label_selector import both
from stowage_testbed.base import layout
from stowage_testbed.base.errors import InputError
from stowage_testbed.base.files import to_utf8

STOCK_NAME = "default-scheduler"

LIMITS = {
    "maxMoves": "move",
    "maxEvictions": "eviction",
    "maxPerNode": "disruption of a node",
    "maxPerNamespace": "disruption of a namespace",
    "maxPerWorkload": "disruption of a workload",
}
"""The limits on one plan, and what each counts."""

_POLICIES = {"Strict": pb.POLICY_STRICT, "Paper": pb.POLICY_PAPER}


@dataclass(frozen=True, slots=True)
class Release:
    """What a release does with pods: those of its schedulers, by its plugin's arguments and gates."""

    schedulers: tuple[str, ...] = (STOCK_NAME,)
    arguments: Mapping[str, Any] = field(default_factory=dict)
    feature_gates: str = ""

    @property
    def policy(self) -> pb.Policy:
        """The optimiser's policy; strict, if the release names none."""
        return _POLICIES.get(self.arguments.get("policy", ""), pb.POLICY_STRICT)

    def limit(self, name: str) -> int | None:
        """Return one of the `LIMITS`; ``None`` if there is none."""
        limits = self.arguments.get("limits")
        value = limits.get(name) if isinstance(limits, Mapping) else None
        return value if isinstance(value, int) and value > 0 else None

    def at_most(self, max_moves: int | None) -> Release:
        """Return the release with at most so many moves, if it allows more."""
        mine = self.limit("maxMoves")
        if not max_moves or (mine is not None and mine <= max_moves):
            return self
        limits = {**(self.arguments.get("limits") or {}), "maxMoves": max_moves}
        return replace(self, arguments={**self.arguments, "limits": limits})

    def narrowed(self, schedulers: Sequence[str], namespaces: Mapping[str, Any] | None) -> Release:
        """Return the release for pods of these schedulers, if any, and of the namespaces that a selector selects."""
        arguments = self.arguments
        if namespaces:
            selector = both(arguments.get("namespaceSelector") or {}, namespaces)
            arguments = {**arguments, "namespaceSelector": selector}
        return replace(self, schedulers=tuple(dict.fromkeys(schedulers)) or self.schedulers, arguments=arguments)


@dataclass(frozen=True, slots=True)
class PlanLimits:
    """What plans may do, and how long the answer may take; ``max_moves`` counts if the release allows as many."""

    time_limit_s: float = 10.0
    max_moves: int | None = None
    release: Release = field(default_factory=Release)

    def bounds(self) -> dict[str, int]:
        """Return the limits on a plan, by the names that the release has for them."""
        limits = {name: limit for name in LIMITS if (limit := self.release.limit(name)) is not None}
        if self.max_moves is not None:
            limits["maxMoves"] = min(self.max_moves, limits.get("maxMoves", 2**31))
        return limits

    def words(self) -> tuple[str, ...]:
        """Return the limits on a plan, in words."""
        return tuple(f"with at most {limit_in_words(name, limit)}" for name, limit in self.bounds().items())


def limit_in_words(name: str, limit: int) -> str:
    """Return a limit as in ``2 moves``."""
    return f"{limit:,} {LIMITS[name]}{'' if limit == 1 else 's'}"


def release_of(path: Path | None) -> Release:
    """Return the release that has these values; without a scheduler in them, one for the stock name and the chart's.

    Raises an InputError if the file is not YAML, or holds something else than values.
    """

    def mapping(value: object, name: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise _no_values(path, f"has no mapping {name}")
        return value

    given = mapping(_read(path), "values") if path else {}
    arguments = dict(mapping(given.get("priorityOptimizer") or {}, "priorityOptimizer"))
    if not arguments.get("namespaceSelector"):
        # The chart leaves out an empty one, which means all namespaces.
        arguments.pop("namespaceSelector", None)
    name = given.get("schedulerName")
    scheduler = mapping(given.get("scheduler") or {}, "scheduler")
    gates = mapping(scheduler.get("featureGates") or {}, "featureGates")
    chart = yaml.safe_load((layout.shipped("charts") / "stowage" / "values.yaml").read_text(encoding="utf-8"))
    return Release(
        schedulers=(str(name),) if name else (STOCK_NAME, str(chart["schedulerName"])),
        arguments=arguments,
        feature_gates=",".join(f"{gate}={str(on).lower()}" for gate, on in gates.items()),
    )


def _read(path: Path) -> object:
    try:
        return yaml.safe_load(to_utf8(path.read_bytes())) or {}
    except OSError as error:
        raise _no_values(path, f"cannot be read: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise _no_values(path, f"is not YAML ({error})") from error


def _no_values(path: Path | None, why: str) -> InputError:
    return InputError(f"{path}: {why}; make it with: helm get values --all -o yaml stowage --namespace stowage-system")
