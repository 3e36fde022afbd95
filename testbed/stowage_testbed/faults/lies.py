"""The fault of an optimiser that lies until the fault ends."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

from stowage_testbed.cluster.protocol import Cluster
from stowage_testbed.faults.context import FaultContext
from stowage_testbed.faults.hostile.replies import HONEST, WAYS


def control_file(cluster: Cluster) -> Path:
    """Return the file by which the lying optimiser is controlled."""
    return cluster.workdir / "lie"


def hostile_values(cluster: Cluster) -> dict[str, Any]:
    """Return the values of a release whose optimiser lies on request."""
    module = [sys.executable, "-m", "stowage_testbed.faults.hostile"]
    return {
        "optimizer": {"command": [*module, "--control", str(control_file(cluster))]}
    }


def lie(context: FaultContext) -> None:
    """Have the optimiser lie."""
    file = control_file(context.run.cluster)
    way = context.way(*WAYS)
    context.on_end(partial(_write, file, HONEST))
    _write(file, way)


def _write(file: Path, way: str) -> None:
    file.write_text(way, encoding="utf-8")
