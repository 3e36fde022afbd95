"""`stowage defragment` and `stowage savings`: which nodes could be emptied."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stowage_testbed.api.label_selector import both, parse_selector
from stowage_testbed.base.errors import InputError
from stowage_testbed.cli.answers import (
    AsJson,
    AskedPrices,
    Everything,
    MaxMoves,
    Output,
    PriceFile,
    TimeLimit,
    Values,
    read_inventory,
    show,
)
from stowage_testbed.cli.consolidation import Asked, EmptiedNodes, carry_out, check, check_labels, is_wanted
from stowage_testbed.cli.main import Minor, app
from stowage_testbed.cli.plan_control import PlanApi
from stowage_testbed.cli.which_cluster import Cluster, Context, Kubeconfig, Lists, new_client

if TYPE_CHECKING:
    from stowage_testbed.defragment.findings import Defragmentation
    from stowage_testbed.defragment.options import Options
    from stowage_testbed.whatif.inventory import Inventory

SECONDS = 20.0
NAMESPACE_NAME = "kubernetes.io/metadata.name"

Schedulers = Annotated[
    list[str] | None,
    typer.Option(
        "--scheduler",
        metavar="NAME",
        help="Only pods of this scheduler move; left out, those of default-scheduler "
        "and of the release. May be given more than once.",
    ),
]
NodeSelector = Annotated[
    str | None, typer.Option(help="Only these nodes, as in pool=spot: they are emptied, and pods move between them.")
]
Namespaces = Annotated[
    list[str] | None, typer.Option("--namespace", help="Only pods of this namespace move; may be given more than once.")
]
NamespaceSelector = Annotated[str | None, typer.Option(help="Only pods of namespaces with these labels move.")]
LeastGain = Annotated[
    str,
    typer.Option(
        metavar="GAIN",
        help="Leave nodes as they are that bring less: their share of the price, over their moves' share of all moves.",
    ),
]


@app.command()
def savings(
    *,
    cluster: Cluster = None,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
    file: Lists = None,
    kubernetes: Minor = None,
    prices: PriceFile = None,
    price: AskedPrices = None,
    scheduler: Schedulers = None,
    node_selector: NodeSelector = None,
    time_limit_s: TimeLimit = SECONDS,
    max_moves: MaxMoves = None,
    values: Values = None,
    output: Output = None,
    as_json: AsJson = False,
) -> None:
    """Say what the nodes in use cost, by kind, and how much of it could be saved.

    Only lists are asked of the API server. What could be saved is what stowage
    defragment would save, and a proved limit beside it.
    """
    from stowage_testbed.defragment.savings import savings_screen  # noqa: PLC0415
    from stowage_testbed.whatif.prices import prices_of  # noqa: PLC0415

    options = _options(values, time_limit_s, max_moves, scheduler, node_selector)
    known = prices_of(prices, price or ())
    inventory = read_inventory(cluster, context, kubeconfig, file, minor=kubernetes)
    found = _found(known.priced(inventory), options)
    show(savings_screen(found), "", json.dumps(found.document(), indent=2), as_json=as_json, output=output)


@app.command()
def defragment(
    *,
    cluster: Cluster = None,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
    file: Lists = None,
    kubernetes: Minor = None,
    prices: PriceFile = None,
    price: AskedPrices = None,
    scheduler: Schedulers = None,
    node_selector: NodeSelector = None,
    namespace: Namespaces = None,
    namespace_selector: NamespaceSelector = None,
    least_gain: LeastGain = "0",
    time_limit_s: TimeLimit = SECONDS,
    max_moves: MaxMoves = None,
    values: Values = None,
    everything: Everything = False,
    output: Output = None,
    as_json: AsJson = False,
    propose: Annotated[
        bool, typer.Option("--propose", help="Have the release make such a plan, for stowage plan approve.")
    ] = False,
    apply: Annotated[bool, typer.Option("--apply", help="Have it made and carried out, and follow it.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before.")] = False,
    emptied_nodes: Annotated[
        EmptiedNodes, typer.Option(case_sensitive=False, help="What becomes of emptied nodes, with --apply.")
    ] = EmptiedNodes.TAINT,
) -> None:
    """Say which nodes could be emptied after which moves, and what that saves.

    Only lists are asked of the API server, unless --propose or --apply is given; then
    the release in the cluster makes a plan of its own, by the same rules.
    """
    from stowage_testbed.defragment.screen import screen, tables  # noqa: PLC0415
    from stowage_testbed.text.terminal import terminal_text  # noqa: PLC0415
    from stowage_testbed.whatif.prices import prices_of  # noqa: PLC0415

    acts = propose or apply
    check(acts=acts, both_ways=propose and apply, files=bool(file), sure=yes)
    gain = _gain(least_gain)
    namespaces = _namespaces(namespace or (), namespace_selector)
    options = _options(values, time_limit_s, max_moves, scheduler, node_selector, gain=gain, namespaces=namespaces)
    known = prices_of(prices, price or ())
    inventory = read_inventory(cluster, context, kubeconfig, file, minor=kubernetes)
    if acts:
        check_labels(known.not_by_label(inventory))
    found = _found(known.priced(inventory), options)
    show(
        screen(found),
        terminal_text(tables(found)) if everything else "",
        json.dumps(found.document(), indent=2),
        as_json=as_json,
        output=output,
    )
    if not acts or (apply and not is_wanted(found, sure=yes)):
        return
    asked = Asked(
        schedulers=options.release.schedulers,
        time_limit_s=time_limit_s,
        least_gain=least_gain if gain else None,
        max_moves=max_moves,
        nodes=options.nodes,
        namespaces=namespaces,
        emptied=emptied_nodes,
    )
    with new_client(cluster, context, kubeconfig) as client:
        carry_out(PlanApi(client), asked, execute=apply)


def _found(inventory: Inventory, options: Options) -> Defragmentation:
    # The client and numpy take seconds that other commands do not need.
    from stowage_testbed.cluster.interruption import ending_cleanly  # noqa: PLC0415
    from stowage_testbed.defragment.asking import defragmentation_of  # noqa: PLC0415
    from stowage_testbed.simulate import find_profile  # noqa: PLC0415

    with ending_cleanly():
        return defragmentation_of(inventory, find_profile("deterministic"), options)


def _options(
    values: Path | None,
    time_limit_s: float,
    max_moves: int | None,
    schedulers: list[str] | None,
    node_selector: str | None,
    *,
    gain: Fraction = Fraction(0),
    namespaces: dict[str, Any] | None = None,
) -> Options:
    from stowage_testbed.defragment.options import Options  # noqa: PLC0415
    from stowage_testbed.whatif.asking import PlanLimits  # noqa: PLC0415
    from stowage_testbed.whatif.release import release_of  # noqa: PLC0415

    release = release_of(values)
    own = release.schedulers[-1]
    if schedulers:
        release = replace(release, schedulers=tuple(dict.fromkeys(schedulers)))
    if namespaces:
        theirs = release.arguments.get("namespaceSelector") or {}
        selector = both(theirs, namespaces)
        arguments = {**release.arguments, "namespaceSelector": selector}
        release = replace(release, arguments=arguments)
    return Options(
        PlanLimits(time_limit_s, max_moves, release),
        own,
        gain,
        parse_selector(node_selector) if node_selector else None,
    )


def _namespaces(names: list[str] | tuple[()], selector: str | None) -> Any:
    named = {"matchExpressions": [{"key": NAMESPACE_NAME, "operator": "In", "values": list(names)}]}
    labelled = parse_selector(selector) if selector else None
    if names and labelled:
        return both(named, labelled)
    return named if names else labelled


def _gain(text: str) -> Fraction:
    if not re.fullmatch(r"\d+(\.\d+)?", text):
        raise InputError(f"--least-gain {text}: write a number from 0 on, as in 0.5")
    return Fraction(text)
