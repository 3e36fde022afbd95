"""`python -m benchmarks.live`: plans on live clusters, cell by cell; resumable."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.command import run_command, say
from benchmarks.live.benchmark import run_benchmark
from benchmarks.live.cell import Part
from benchmarks.live.scope import SCOPES


class ScopeName(StrEnum):
    """How much is measured."""

    SMOKE = "smoke"
    DEFAULT = "default"
    FULL = "full"


def main(
    *,
    scope: Annotated[
        ScopeName,
        typer.Option(help="smoke: two minutes; default: an hour."),
    ] = ScopeName.DEFAULT,
    part: Annotated[
        list[Part] | None,
        typer.Option(help="Measure this part only; may be given more than once."),
    ] = None,
    only: Annotated[
        str, typer.Option(help="Measure cells only whose names have these words.")
    ] = "",
    results: Annotated[Path, typer.Option(help="Folder of the results.")] = Path(
        "results"
    ),
) -> None:
    """Measure plans on live clusters; write `<results>/live.json`, print the table."""
    cells = [
        cell
        for cell in SCOPES[scope].cells
        if cell.part in (part or Part) and only in cell.name
    ]
    run_command(lambda: run_benchmark(cells, scope, results, say))


if __name__ == "__main__":
    typer.run(main)
