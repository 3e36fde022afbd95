"""The schedulers that are compared: one binary, with other profiles and gates."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from stowage_testbed.simulate import profile_file

BATCHING = "OpportunisticBatching=true"


@dataclass(frozen=True, slots=True)
class Arm:
    """One scheduler.

    Attributes
    ----------
    name
        Stands in the figures.
    profile
        A shipped profile's name.
    feature_gates
        As kube-scheduler takes them.
    unspread
        Without PodTopologySpread's default constraints. No pod can be signed with
        them, so that batching works only without.
    note
        What must be known to read its figures.
    """

    name: str
    profile: str
    feature_gates: str = ""
    unspread: bool = False
    note: str = ""

    def config(self, folder: Path) -> Path:
        """Return the KubeSchedulerConfiguration, which may be written to ``folder``."""
        shipped = profile_file(self.profile)
        if not self.unspread:
            return shipped
        content: dict[str, Any] = yaml.safe_load(shipped.read_text(encoding="utf-8"))
        for profile in content["profiles"]:
            profile["pluginConfig"] = [
                {
                    "name": "PodTopologySpread",
                    "args": {"defaultingType": "List", "defaultConstraints": []},
                }
            ]
        file = folder / f"{self.name}.yaml"
        file.write_text(yaml.safe_dump(content), encoding="utf-8")
        return file


STOCK = Arm("stock", "default")
CACHE = Arm("score-cache", "score-cache")
ARMS = (
    STOCK,
    Arm("stock-batching", "default", feature_gates=BATCHING),
    Arm(
        "unspread-batching",
        "default",
        feature_gates=BATCHING,
        unspread=True,
        note="without default spread, which keeps batching from signing any pod",
    ),
    CACHE,
)
