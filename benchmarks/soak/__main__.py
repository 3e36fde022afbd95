"""`python -m benchmarks.soak`: hours of mixed load and faults; it ends by itself."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.command import run_command, say
from benchmarks.soak.benchmark import run_soak


def main(
    *,
    hours: Annotated[float, typer.Option(min=0.01, help="How long it runs.")] = 1.0,
    nodes: Annotated[int, typer.Option(min=10, help="Fake nodes.")] = 1000,
    seed: Annotated[
        int | None,
        typer.Option(help="All is drawn from it; random without."),
    ] = None,
    results: Annotated[Path, typer.Option(help="Folder of the results.")] = Path(
        "results"
    ),
) -> None:
    """Turn a mixed world for hours; write `<results>/soak.json`, print the table."""
    chosen = secrets.randbelow(1 << 32) if seed is None else seed
    run_command(lambda: run_soak(hours, nodes, chosen, results, say))


if __name__ == "__main__":
    typer.run(main)
