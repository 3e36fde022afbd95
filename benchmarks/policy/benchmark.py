"""Runs the scheduler's own test of a day, and makes figures of what it writes."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.command import Say, write_figures
from stowage_testbed import layout
from stowage_testbed.errors import StowageError
from stowage_testbed.optimizer_service.service import running_service
from stowage_testbed.text.figure import Figure, at_most, figure
from stowage_testbed.toolchain.golang import find_go, go_environment
from stowage_testbed.toolchain.manifest import load_manifest

NODES = {"smoke": 20, "default": 200, "full": 200}
LIMIT_S = 3600
POLICY, RULE, NONE = "PackingPolicy", "HighNodeUtilization", "none"

Day = Mapping[str, Any]


def run_benchmark(scope: str, results: Path, say: Say) -> str:
    """Return the figures of one day, whose windows are six hours apart, as a table.

    Raises
    ------
    StowageError
        The day did not come to its end.
    """
    nodes = NODES[scope]
    say(
        f"a day of {nodes} nodes: without moves, by a policy, by the descheduler's rule"
    )
    with tempfile.TemporaryDirectory() as folder, running_service() as service:
        file = Path(folder, "day.json")
        done = subprocess.run(
            [
                str(find_go(load_manifest().go).file),
                *("test", "-tags", "policyday", "-run", "^TestPolicyOverADay$"),
                *("-count", "1", "-timeout", f"{LIMIT_S}s"),
                "./plugins/priorityoptimizer",
            ],
            cwd=layout.shipped("scheduler"),
            env={
                **go_environment(),
                "STOWAGE_OPTIMIZER_SOCKET": str(service.socket),
                "STOWAGE_POLICY_NODES": str(nodes),
                "STOWAGE_POLICY_RESULT": str(file),
            },
            capture_output=True,
            text=True,
            check=False,
        )
        if not file.is_file():
            raise StowageError(f"the day did not end: {done.stdout[-2000:]}")
        days = json.loads(file.read_text("utf-8"))
    path = results / "policy.json"
    return write_figures(path, list(figures(days)), {"nodes": nodes}, days=days)


def figures(days: Mapping[str, Day]) -> Iterator[Figure]:
    """Yield the figures of a day by the name of what emptied the nodes."""
    policy = days[POLICY]
    short = [one["after"] - one["lowerBound"] for one in policy["windows"]]
    yield figure(
        "nodes in use above the proved fewest after a window, at worst",
        "nodes",
        short,
        max,
        at_most(1),
        note="proved within the policy's limits, by the window's first plan",
    )
    for name, field in (
        ("windows beyond the budget", "budgetBreaks"),
        ("pods moved back to a node that they were moved from", "movedBack"),
    ):
        yield figure(name, "", [policy[field]], sum, at_most(0), spread=False)
    for name in (POLICY, RULE):
        day = days[name]
        per_node = [day["moves"] / day["emptied"]] if day["emptied"] > 0 else []
        yield figure(f"moves an emptied node, {name}", "moves", per_node, sum)
        yield figure(f"emptied nodes, {name}", "nodes", [day["emptied"]], sum)
    for name in (NONE, POLICY, RULE):
        hours = [days[name]["nodeHours"]]
        yield figure(f"node hours in use, {name}", "h", hours, sum, spread=False)
