"""What commands that ask about a cluster have in common: options, reading, printing."""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stowage_testbed.base.errors import InputError, StowageError
from stowage_testbed.base.whole_file import write_whole
from stowage_testbed.cli.which_cluster import new_client
from stowage_testbed.run.tools import SIMULATOR, install_needed

if TYPE_CHECKING:
    from stowage_testbed.whatif.inventory import Inventory

PriceFile = Annotated[
    Path | None,
    typer.Option(
        "--prices",
        help="A file with the price of an hour by instance type, as CSV or YAML, for "
        "nodes without the label stowage.dev/hourly-price.",
    ),
]
AskedPrices = Annotated[
    list[str] | None,
    typer.Option(
        "--price",
        metavar="[SELECTOR:]PRICE",
        help="The price of an hour of each other node, as in 0.10, or of those with a "
        "label, as in pool=spot:0.03; may be given more than once.",
    ),
]
Values = Annotated[
    Path | None,
    typer.Option(
        help="Values of a release, as helm get values --all -o yaml prints them: "
        "their scheduler, rules and limits count, not the chart's defaults."
    ),
]
TimeLimit = Annotated[float, typer.Option(min=0.1, help="For the whole answer, once all is read.")]
MaxMoves = Annotated[int | None, typer.Option(min=0, help="Plans with at most so many moves.")]
Everything = Annotated[bool, typer.Option("--all", help="Print every finding after the summary.")]
Output = Annotated[Path | None, typer.Option(help="Write every finding there too, as JSON.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON only.")]

STALE_S = 15.0
"""An answer is about the cluster as it was no longer ago when its question began."""


def read_inventory(
    cluster: str | None, context: str | None, kubeconfig: Path | None, files: list[Path] | None, *, minor: str | None
) -> Inventory:
    """Return what is asked about, once the tools to ask with are there.

    Raises
    ------
    InputError
        Both files and a cluster are named.
    StowageError
        As `read_context` and `read_files` say.
    """
    from stowage_testbed.toolchain import choose_minor  # noqa: PLC0415
    from stowage_testbed.toolchain.minors import find_minor  # noqa: PLC0415
    from stowage_testbed.whatif.reading import (  # noqa: PLC0415 - takes seconds
        read_api,
        read_files,
    )

    if files and (cluster or context):
        raise InputError("--file is in place of a cluster: name one of the two")
    version = find_minor(choose_minor(minor)).kubernetes if minor else ""

    def read() -> Inventory:
        if files:
            found = read_files(files)
        else:
            with new_client(cluster, context, kubeconfig) as client:
                found = read_api(client)
        return dataclasses.replace(found, version=version) if version else found

    inventory = read()
    read_s = time.monotonic()
    install_needed(SIMULATOR, minor=inventory.minor)
    return inventory if time.monotonic() - read_s < STALE_S else read()


def show(screen: str, details: str, document: str, *, as_json: bool, output: Path | None) -> None:
    """Print an answer, and write all of it where that was asked for.

    Raises
    ------
    StowageError
        It cannot be written there.
    """
    if as_json:
        typer.echo(document)
    else:
        typer.echo("\n\n".join(filter(None, (screen, details))))
    if output:
        _write(output, document)


def _write(path: Path, document: str) -> None:
    try:
        write_whole(path, f"{document}\n")
    except OSError as error:
        raise StowageError(
            f"{path} cannot be written: {error.strerror}; name a file in a folder of "
            "yours with --output, or take what --json prints"
        ) from error
