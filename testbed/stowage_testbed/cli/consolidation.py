"""Plans that empty nodes: asked for in a cluster, and followed to their end."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import typer

from stowage_testbed.base.clock import Clock, SystemClock
from stowage_testbed.base.errors import InputError, StowageError
from stowage_testbed.cli.main import FAILED
from stowage_testbed.cli.plan_control import PlanApi
from stowage_testbed.observe.change import JsonObject
from stowage_testbed.observe.emptied_nodes import ending, phase_of, progress
from stowage_testbed.observe.plan import BROKEN_PHASES, FINISHED_PHASES

if TYPE_CHECKING:
    from stowage_testbed.defragment.findings import Defragmentation

LOOK_S, TAKEN_UP_S = 1.0, 60.0
"""Seconds between two looks at a plan, and until somebody must have taken it up."""

CONSOLIDATE = "Consolidate"


class EmptiedNodes(StrEnum):
    """What becomes of nodes that were emptied."""

    TAINT = "Taint"
    CORDON = "Cordon"
    KEEP = "Keep"


@dataclass(frozen=True, slots=True)
class Asked:
    """What a plan is asked for; ``None`` is left to the release."""

    schedulers: tuple[str, ...]
    time_limit_s: float
    least_gain: str | None = None
    max_moves: int | None = None
    nodes: Mapping[str, Any] | None = None
    namespaces: Mapping[str, Any] | None = None
    emptied: EmptiedNodes = EmptiedNodes.TAINT

    def spec(self, *, execute: bool) -> dict[str, Any]:
        """Return the spec of a PackingPlan."""
        options = {
            "objective": CONSOLIDATE,
            "executionMode": "Execute" if execute else "DryRun",
            "schedulerNames": list(self.schedulers),
            "timeLimitSeconds": self.time_limit_s,
            "emptiedNodes": str(self.emptied),
            "leastGain": self.least_gain,
            "maxMoves": self.max_moves,
            "nodeSelector": self.nodes,
            "namespaceSelector": self.namespaces,
        }
        return {name: value for name, value in options.items() if value is not None}


def follow(look: Callable[[], JsonObject], say: Callable[[str], None], clock: Clock | None = None) -> JsonObject:
    """Return a plan when it has ended, or waits for approval; say how far it comes.

    Raises
    ------
    StowageError
        Nobody takes it up.
    """
    clock = clock or SystemClock()
    began, said = clock.now(), ""
    while True:
        plan = look()
        line = progress(plan)
        if line != said:
            say(line)
            said = line
        phase = phase_of(plan)
        if phase in FINISHED_PHASES or (phase == "Proposed" and not _executes(plan)):
            return plan
        if not phase and clock.now() - began >= TAKEN_UP_S:
            name = plan["metadata"]["name"]
            raise StowageError(
                f"nobody has taken up plan {name} within {TAKEN_UP_S:g} s: see whether "
                "the release runs, with kubectl get pods -n stowage-system; to take it "
                f"back: kubectl delete packingplan {name}"
            )
        clock.pause(LOOK_S)


def _executes(plan: JsonObject) -> bool:
    return str((plan.get("spec") or {}).get("executionMode")) == "Execute"


def check(*, acts: bool, both_ways: bool, files: bool, sure: bool) -> None:
    """See to it that what is asked for makes sense.

    Raises
    ------
    InputError
        It does not.
    """
    if both_ways:
        raise InputError("--propose leaves it to you to approve: leave out --apply")
    if acts and files:
        raise InputError("a file cannot be changed: name a cluster with --context")
    if sure and not acts:
        raise InputError("--yes answers what --apply asks: give that, too")


def check_labels(nodes: tuple[str, ...]) -> None:
    """See to it that the release knows the prices that the answer is made with."""
    if nodes:
        raise InputError(
            f"the release knows prices by the nodes' label only, which "
            f"{len(nodes):,} nodes with a price lack, {nodes[0]} for one; set it as "
            "in: kubectl label nodes --selector node.kubernetes.io/instance-type=TYPE "
            "stowage.dev/hourly-price=PRICE"
        )


def is_wanted(found: Defragmentation, *, sure: bool) -> bool:
    """Return whether the plan is to be carried out: somebody is asked, or is sure.

    Raises
    ------
    InputError
        There is nobody to be asked.
    """
    if not found.emptied:
        return False
    if sure:
        return True
    if not _asks_somebody():
        raise InputError("nobody can be asked here whether it is wanted: give --yes")
    return typer.confirm("\nHave the release make such a plan of the cluster as it is now, and carry it out?")


def _asks_somebody() -> bool:
    return sys.stdin.isatty()


def carry_out(plans: PlanApi, asked: Asked, *, execute: bool) -> None:
    """Have the release make a plan, follow it, and say what became of it.

    Raises
    ------
    StowageError
        It cannot be asked for, or nobody takes it up.
    """
    name = plans.create("defragment-", asked.spec(execute=execute))
    typer.echo(f"plan {name} is asked for; to give it up: stowage plan abort {name}")
    plan = follow(lambda: plans.plan(name), typer.echo)
    typer.echo("\n".join(ending(plan)))
    if (plan.get("status") or {}).get("phase") in BROKEN_PHASES:
        raise typer.Exit(FAILED)
