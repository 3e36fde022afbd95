"""The schedulers that upstream's harness measures, and what each cannot be asked."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from stowage_testbed.base.errors import InputError
from stowage_testbed.simulate import find_profile


@dataclass(frozen=True, slots=True)
class Profile:
    """One scheduler.

    Attributes
    ----------
    name
        Stands in the figures.
    shipped
        The shipped profile that configures it; empty for the stock configuration.
    plugins
        What the scheduler is made with: ``none`` or ``registered``.
    gates
        Feature gates, in every case.
    preempts
        Whether a pod makes room for itself by preemption.
    plans
        Whether an optimiser is to run beside it, and the API server to know its plans.
    promise
        The least ratio to stock that is promised of any case; None where speed is the
        price of another promise, which is stated instead.
    """

    name: str
    shipped: str = ""
    plugins: str = "registered"
    gates: Mapping[str, bool] = field(default_factory=dict)
    preempts: bool = True
    plans: bool = False
    promise: float | None = None

    def configuration(self, folder: Path, socket: Callable[[], Path]) -> Path | None:
        """Return the file of its configuration; None for the stock one."""
        if not self.shipped:
            return None
        shipped = find_profile(self.shipped)
        if not self.plans:
            return shipped.resolve()
        content: dict[str, Any] = yaml.safe_load(shipped.read_text(encoding="utf-8"))
        for one in content["profiles"]:
            arguments = {
                "apiVersion": "stowage.dev/v1alpha1",
                "kind": "PriorityOptimizerArgs",
                "socket": str(socket()),
            }
            one["pluginConfig"] = [{"name": "PriorityOptimizer", "args": arguments}]
        file = folder.resolve() / f"{self.name}.yaml"
        file.write_text(yaml.safe_dump(content), encoding="utf-8")
        return file


NO_LOSS = 0.97
"""Of the stock scheduler's pace: what two equal schedulers may differ by here."""

STOCK = Profile("default", plugins="none")
PROFILES = (
    STOCK,
    Profile("registered", promise=NO_LOSS),
    Profile("score-cache", shipped="score-cache", promise=NO_LOSS),
    Profile(
        "deterministic",
        shipped="deterministic",
        gates={"OpportunisticBatching": False},
        preempts=False,
    ),
    Profile("optimizer", shipped="optimizer", preempts=False, plans=True),
)


def choose_profiles(asked: Collection[str] | None) -> list[Profile]:
    """Return stock and the profiles that are asked for, all if none is named."""
    known = {one.name: one for one in PROFILES}
    for name in asked or ():
        if name not in known:
            raise InputError(
                f"there is no profile {name!r} here; name one of {', '.join(known)}"
            )
    return [one for one in PROFILES if one is STOCK or not asked or one.name in asked]
