"""`stowage whatif`: would the pending pods fit? Nothing is ever written."""

from __future__ import annotations

import dataclasses
import json
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stowage_testbed.cli.main import app
from stowage_testbed.errors import InputError, StowageError
from stowage_testbed.whole_file import write_whole

if TYPE_CHECKING:
    from stowage_testbed.prices import Prices
    from stowage_testbed.whatif.findings import Emptying, Findings
    from stowage_testbed.whatif.inventory import Inventory
    from stowage_testbed.whatif.proposing import PlanLimits

Context = Annotated[
    str | None, typer.Option(help="Context of the kubeconfig; else its own choice.")
]
Kubeconfig = Annotated[
    Path | None, typer.Option(help="Another kubeconfig than kubectl would take.")
]
File = Annotated[
    list[Path] | None,
    typer.Option(
        help="What kubectl get nodes,pods,pdb -A -o json printed, in place of a "
        "cluster; may be given more than once."
    ),
]
TimeLimit = Annotated[
    float, typer.Option(min=0.1, help="For each plan; with prices twice for nodes.")
]
MaxMoves = Annotated[
    int | None, typer.Option(min=0, help="Plans with at most so many moves.")
]
Values = Annotated[
    Path | None,
    typer.Option(
        help="Values of the chart, as helm get values --all -o yaml prints them: "
        "their priorityOptimizer says which pods may be moved, not the defaults."
    ),
]
PriceFile = Annotated[
    Path | None,
    typer.Option(
        "--prices",
        envvar="STOWAGE_PRICES",
        help="What nodes cost an hour, by instance type: a YAML or CSV file.",
    ),
]
PriceLabel = Annotated[
    str | None,
    typer.Option(
        envvar="STOWAGE_PRICE_LABEL",
        help="The label of nodes that has their price an hour, as in 0.192.",
    ),
]
Everything = Annotated[
    bool, typer.Option("--all", help="Print every finding after the summary.")
]
Output = Annotated[
    Path | None, typer.Option(help="Write every finding there too, as JSON.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON only.")]


@app.command("whatif")
def whatif(
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
    """Say how many pending pods would fit, after which moves, and what lies idle.

    Only lists are asked of the API server. The scheduler's own plugins judge every
    plan; what could not be judged is told. The answer is one screen long; --all,
    --output and --json tell everything.
    """
    # The client and numpy take seconds that other commands do not need.
    from stowage_testbed.cluster.interruption import ending_cleanly  # noqa: PLC0415
    from stowage_testbed.simulate import profile_file  # noqa: PLC0415
    from stowage_testbed.whatif.asking import findings_of  # noqa: PLC0415
    from stowage_testbed.whatif.screen import screen  # noqa: PLC0415

    limits = limits_asked(time_limit_s, max_moves, values)
    asked = prices_asked(prices, price_label)
    inventory = inventory_asked(context, kubeconfig, file)
    with ending_cleanly():
        found = findings_of(inventory, profile_file("deterministic"), limits, asked)
    show(found, screen(found), everything=everything, output=output, as_json=as_json)


def limits_asked(
    time_limit_s: float, max_moves: int | None, values: Path | None
) -> PlanLimits:
    """Return the limits that options give."""
    from stowage_testbed.whatif.proposing import PlanLimits  # noqa: PLC0415
    from stowage_testbed.whatif.reading import rules_of  # noqa: PLC0415

    return PlanLimits(time_limit_s, max_moves, rules_of(values) if values else {})


def prices_asked(file: Path | None, label: str | None) -> Prices | None:
    """Return the prices that options give, or that nobody asked for any."""
    from stowage_testbed.prices import Prices, read_prices  # noqa: PLC0415

    if file and label:
        raise InputError(
            "--prices and --price-label (or STOWAGE_PRICES and STOWAGE_PRICE_LABEL) "
            "both say where prices are; give one"
        )
    if file:
        return read_prices(file)
    return Prices(label=label) if label else None


def inventory_asked(
    context: str | None, kubeconfig: Path | None, file: list[Path] | None
) -> Inventory:
    """Return the cluster that options name, once there are tools to look at it."""
    from stowage_testbed.toolchain import install_tools  # noqa: PLC0415
    from stowage_testbed.whatif.reading import (  # noqa: PLC0415
        read_context,
        read_files,
    )

    inventory = read_files(file) if file else read_context(context, kubeconfig)
    install_tools(("stowage-simulate",), quiet=True)
    return inventory


def show(
    found: Findings | Emptying,
    screen: str,
    *,
    everything: bool,
    output: Path | None,
    as_json: bool,
) -> None:
    """Print an answer as asked for, and write it."""
    from stowage_testbed.text.terminal import terminal_text  # noqa: PLC0415
    from stowage_testbed.whatif.details import tables  # noqa: PLC0415

    document = json.dumps(dataclasses.asdict(found), indent=2, default=_number)
    if as_json:
        typer.echo(document)
    else:
        details = terminal_text(tables(found)) if everything else ""
        typer.echo("\n\n".join(filter(None, (screen, details))))
    if output:
        _write(output, document)


def _number(amount: Decimal) -> float:
    """Return money as JSON has it; exact sums have been made by now."""
    return float(amount)


def _write(path: Path, document: str) -> None:
    try:
        write_whole(path, f"{document}\n")
    except OSError as error:
        raise StowageError(
            f"{path} cannot be written: {error.strerror}; name a file in a folder of "
            "yours with --output, or take what --json prints"
        ) from error
