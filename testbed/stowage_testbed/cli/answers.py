"""`stowage whatif` and `stowage defragment`: what if pods moved? Both only list."""

from __future__ import annotations

import json
import re
import sys
import time
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stowage_testbed.api.label_selector import both, parse_selector
from stowage_testbed.base.errors import InputError
from stowage_testbed.cli.main import app
from stowage_testbed.cli.options import AsJson, ClusterChoice, Lists, with_option_groups, write_output
from stowage_testbed.cli.plan_control import PlanApi, carry_out
from stowage_testbed.run.request import SIMULATOR, install_needed

if TYPE_CHECKING:
    from stowage_testbed.whatif.findings import Defragmentation, Findings
    from stowage_testbed.whatif.inventory import Inventory

STALE_S = 15.0
"""An answer is about the cluster as it was no longer ago when its question began."""

NAMESPACE_NAME = "kubernetes.io/metadata.name"


@dataclass(frozen=True, slots=True)
class AnswerOptions:
    """What is asked about, by whose rules, and how the answer is shown."""

    file: Lists = None
    prices: Annotated[
        Path | None,
        typer.Option(
            help="CSV or YAML file with the price of an hour by instance type, for nodes without the label "
            "stowage.dev/hourly-price."
        ),
    ] = None
    price: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[SELECTOR:]PRICE",
            help="Price of an hour of every other node, as in 0.10, or of those with a label, as in pool=spot:0.03; "
            "repeatable.",
        ),
    ] = None
    max_moves: Annotated[int | None, typer.Option(min=0, help="Consider only plans with at most this many moves.")] = (
        None
    )
    values: Annotated[
        Path | None,
        typer.Option(
            help="Values of a release, as helm get values --all -o yaml prints them: use their scheduler, rules and "
            "limits instead of the chart's defaults."
        ),
    ] = None
    everything: Annotated[bool, typer.Option("--all", help="Print every finding after the summary.")] = False
    output: Annotated[Path | None, typer.Option(help="Also write every finding to this file, as JSON.")] = None
    as_json: AsJson = False

    def show(self, found: Findings | Defragmentation) -> None:
        """Print an answer, and write it to the file."""
        from stowage_testbed.text.tables import terminal_text  # noqa: PLC0415
        from stowage_testbed.whatif.screen import screen, tables  # noqa: PLC0415

        document = json.dumps(found.document(), indent=2)
        details = f"\n\n{terminal_text(tables(found))}" if self.everything else ""
        typer.echo(document if self.as_json else f"{screen(found)}{details}")
        if self.output:
            write_output(self.output, f"{document}\n", "--output")


TimeLimit = Annotated[float, typer.Option(min=0.1, help="Seconds for the whole answer, after reading.")]


class EmptiedNodes(StrEnum):
    """What becomes of nodes that were emptied."""

    TAINT = "Taint"
    CORDON = "Cordon"
    KEEP = "Keep"


@app.command()
@with_option_groups
def whatif(
    *,
    which: ClusterChoice,
    kubernetes: Annotated[
        str | None,
        typer.Option(
            metavar="MINOR", help="Answer for this minor of Kubernetes, such as 1.36; else the cluster's own."
        ),
    ] = None,
    time_limit_s: TimeLimit = 10.0,
    options: AnswerOptions,
) -> None:
    """Show how many pending pods would fit, after which moves, and which capacity is idle.

    The API server is only asked for lists. The scheduler's own plugins, those of the cluster's minor of Kubernetes,
    check every plan; what they could not check is named. The answer fits on one screen; --all, --output and --json give
    all of it.
    """
    # The client and numpy take seconds that other commands do not need.
    from stowage_testbed.cluster.interruption import ending_cleanly  # noqa: PLC0415
    from stowage_testbed.whatif.answer import findings_of  # noqa: PLC0415
    from stowage_testbed.whatif.settings import PlanLimits, prices_of, release_of  # noqa: PLC0415

    limits = PlanLimits(time_limit_s, options.max_moves, release_of(options.values))
    known = prices_of(options.prices, options.price or ())
    inventory = known.priced(_read_inventory(which, options.file, kubernetes))
    with ending_cleanly():
        found = findings_of(inventory, limits)
    options.show(found)


@app.command()
@with_option_groups
def defragment(
    *,
    which: ClusterChoice,
    scheduler: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Move only pods of this scheduler; else those of default-scheduler and of the release. Repeatable.",
        ),
    ] = None,
    node_selector: Annotated[
        str | None, typer.Option(help="Empty only these nodes, as in pool=spot, and move pods only between them.")
    ] = None,
    namespace: Annotated[list[str] | None, typer.Option(help="Move only pods of this namespace; repeatable.")] = None,
    namespace_selector: Annotated[
        str | None, typer.Option(help="Move only pods of namespaces with these labels.")
    ] = None,
    least_gain: Annotated[
        str,
        typer.Option(
            metavar="GAIN",
            help="Leave nodes alone whose share of the price, over their moves' share of all moves, is less.",
        ),
    ] = "0",
    time_limit_s: TimeLimit = 20.0,
    options: AnswerOptions,
    propose: Annotated[
        bool, typer.Option("--propose", help="Have the release make such a plan, for stowage plan approve.")
    ] = False,
    apply: Annotated[bool, typer.Option("--apply", help="Have the release make and execute a plan.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    emptied_nodes: Annotated[
        EmptiedNodes, typer.Option(case_sensitive=False, help="What happens to emptied nodes, with --apply.")
    ] = EmptiedNodes.TAINT,
) -> None:
    """Show what the nodes in use cost, which could be emptied, and what that saves.

    The API server is only asked for lists, unless you give --propose or --apply: then the release in the cluster makes
    a plan of its own, by the same rules.
    """
    from stowage_testbed.cluster.interruption import ending_cleanly  # noqa: PLC0415
    from stowage_testbed.whatif.emptying import Options, defragmentation_of  # noqa: PLC0415
    from stowage_testbed.whatif.settings import PlanLimits, prices_of, release_of  # noqa: PLC0415

    acts = propose or apply
    if propose and apply:
        raise InputError("--propose leaves it to you to approve: leave out --apply")
    if acts and options.file:
        raise InputError("a file cannot be changed: name a cluster with --context")
    if yes and not acts:
        raise InputError("--yes answers what --apply asks: give that, too")
    if not re.fullmatch(r"\d+(\.\d+)?", least_gain):
        raise InputError(f"--least-gain {least_gain}: write a number from 0 on, as in 0.5")
    gain = Fraction(least_gain)
    namespaces = _namespaces(namespace or [], namespace_selector)
    nodes = parse_selector(node_selector) if node_selector else None
    release = release_of(options.values)
    asked = release.narrowed(scheduler or (), namespaces)
    known = prices_of(options.prices, options.price or ())
    inventory = _read_inventory(which, options.file)
    if acts and (lacking := known.by_node(inventory)):
        raise InputError(
            f"the release knows prices by the nodes' label only, which "
            f"{len(lacking):,} nodes with a price lack, {next(iter(lacking))} for one; set it as "
            "in: kubectl label nodes --selector node.kubernetes.io/instance-type=TYPE "
            "stowage.dev/hourly-price=PRICE"
        )
    limits = PlanLimits(time_limit_s, options.max_moves, asked)
    with ending_cleanly():
        found = defragmentation_of(known.priced(inventory), Options(limits, release.schedulers[-1], gain, nodes))
    options.show(found)
    if not acts or (apply and not (found.emptied and (yes or _confirm()))):
        return
    spec = {
        "objective": "Consolidate",
        "executionMode": "Execute" if apply else "DryRun",
        "schedulerNames": list(asked.schedulers),
        "timeLimitSeconds": time_limit_s,
        "emptiedNodes": str(emptied_nodes),
        "leastGain": least_gain if gain else None,
        "maxMoves": options.max_moves,
        "nodeSelector": nodes,
        "namespaceSelector": namespaces,
    }
    with which.new_client() as client:
        carry_out(PlanApi(client), {name: value for name, value in spec.items() if value is not None})


def _namespaces(names: list[str], selector: str | None) -> dict[str, Any] | None:
    named = {"matchExpressions": [{"key": NAMESPACE_NAME, "operator": "In", "values": names}]}
    labelled = parse_selector(selector) if selector else None
    if names and labelled:
        return both(named, labelled)
    return named if names else labelled


def _asks_somebody() -> bool:
    return sys.stdin.isatty()


def _confirm() -> bool:
    if not _asks_somebody():
        raise InputError("nobody can be asked here whether it is wanted: give --yes")
    return typer.confirm("\nHave the release make such a plan of the cluster as it is now, and carry it out?")


def _read_inventory(which: ClusterChoice, files: list[Path] | None, minor: str | None = None) -> Inventory:
    """Return what is asked about, once the tools to ask with are there."""
    from stowage_testbed.toolchain import choose_minor  # noqa: PLC0415
    from stowage_testbed.toolchain.manifest import find_minor  # noqa: PLC0415
    from stowage_testbed.whatif.reading import read_api, read_files  # noqa: PLC0415 - takes seconds

    if files and (which.cluster or which.context):
        raise InputError("--file is in place of a cluster: name one of the two")
    version = find_minor(choose_minor(minor)).kubernetes if minor else ""

    def read() -> Inventory:
        if files:
            found = read_files(files)
        else:
            with which.new_client() as client:
                found = read_api(client)
        return replace(found, version=version) if version else found

    inventory = read()
    read_s = time.monotonic()
    install_needed(SIMULATOR, minor=inventory.minor)
    return inventory if time.monotonic() - read_s < STALE_S else read()
