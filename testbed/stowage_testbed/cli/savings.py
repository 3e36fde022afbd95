"""`stowage savings` and `stowage defragment`: nodes that could be emptied."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stowage_testbed.api_client import new_api_client
from stowage_testbed.cli.main import app
from stowage_testbed.cli.whatif import (
    AsJson,
    Context,
    Everything,
    File,
    Kubeconfig,
    MaxMoves,
    Output,
    PriceFile,
    PriceLabel,
    TimeLimit,
    Values,
    inventory_asked,
    limits_asked,
    prices_asked,
    show,
)
from stowage_testbed.errors import InputError
from stowage_testbed.plan import PlanApi

MOVED_NOTHING = "Nothing was moved. Without --dry-run a plan is made for your approval."


@app.command("savings")
def savings(
    *,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
    file: File = None,
    time_limit_s: TimeLimit = 10.0,
    max_moves: MaxMoves = None,
    values: Values = None,
    prices: PriceFile = None,
    price_label: PriceLabel = None,
    everything: Everything = False,
    output: Output = None,
    as_json: AsJson = False,
) -> None:
    """Say which nodes could be emptied, what that saves, and how much at most.

    Only lists are asked of the API server. The scheduler's own plugins judge the moves,
    and the limit is proved. The answer is one screen long; --all, --output and --json
    tell everything.
    """
    _answer(
        "",
        context=context,
        kubeconfig=kubeconfig,
        file=file,
        time_limit_s=time_limit_s,
        max_moves=max_moves,
        values=values,
        prices=prices,
        price_label=price_label,
        everything=everything,
        output=output,
        as_json=as_json,
    )


@app.command("defragment")
def defragment(
    *,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Only say what would be moved; nothing is written."
        ),
    ] = False,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
    file: File = None,
    time_limit_s: TimeLimit = 10.0,
    max_moves: MaxMoves = None,
    values: Values = None,
    prices: PriceFile = None,
    price_label: PriceLabel = None,
    everything: Everything = False,
    output: Output = None,
    as_json: AsJson = False,
) -> None:
    """Move pods together, so that nodes become free: look first, approve, then move.

    With --dry-run it says which pods would move and how many nodes would be free, as
    savings does. Without, it has the installed scheduler propose a plan, a PackingPlan
    that nobody carries out before it is approved; that is all it ever writes.
    """
    if dry_run:
        _answer(
            MOVED_NOTHING,
            context=context,
            kubeconfig=kubeconfig,
            file=file,
            time_limit_s=time_limit_s,
            max_moves=max_moves,
            values=values,
            prices=prices,
            price_label=price_label,
            everything=everything,
            output=output,
            as_json=as_json,
        )
        return
    if file or values or everything or output or as_json:
        raise InputError(
            "--file, --values, --all, --output and --json are for --dry-run: without "
            "it the scheduler in the cluster makes the plan, by its own rules"
        )
    with new_api_client(kubeconfig, context) as client:
        name = PlanApi(client).ask_to_empty(time_limit_s, max_moves)
    typer.echo(
        f"plan {name} is asked for; look at it with: stowage plan show {name}\n"
        f"Nothing moves before: stowage plan approve {name}"
    )


def _answer(
    last: str,
    *,
    context: str | None,
    kubeconfig: Path | None,
    file: list[Path] | None,
    time_limit_s: float,
    max_moves: int | None,
    values: Path | None,
    prices: Path | None,
    price_label: str | None,
    everything: bool,
    output: Path | None,
    as_json: bool,
) -> None:
    # The client and numpy take seconds that other commands do not need.
    from stowage_testbed.cluster.interruption import ending_cleanly  # noqa: PLC0415
    from stowage_testbed.simulate import profile_file  # noqa: PLC0415
    from stowage_testbed.whatif.asking import emptying_of  # noqa: PLC0415
    from stowage_testbed.whatif.emptying_screen import screen_of  # noqa: PLC0415

    limits = limits_asked(time_limit_s, max_moves, values)
    asked = prices_asked(prices, price_label)
    inventory = inventory_asked(context, kubeconfig, file)
    with ending_cleanly():
        found = emptying_of(inventory, profile_file("deterministic"), limits, asked)
    text = screen_of(found, last)
    show(found, text, everything=everything, output=output, as_json=as_json)
