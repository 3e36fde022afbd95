"""`stowage reproduce`: the papers' tables, one command each."""

from __future__ import annotations

from pathlib import Path
from time import monotonic
from typing import Annotated

import typer

from optimizer.model.options import DEFAULT_STRATEGY
from testbed.cli.main import app
from testbed.errors import StowageError

FAILED, BAD_INPUT = 1, 2
RESULTS = Path("results")

reproduce_app = typer.Typer(
    name="reproduce",
    no_args_is_help=True,
    help="Rebuild the papers' evaluations; what was interrupted is gone on with.",
)
app.add_typer(reproduce_app)

Folder = Annotated[Path, typer.Option(help="Folder of the results.")]
Figures = Annotated[
    Path | None,
    typer.Option(help="Where the figures go as JSON; figures.json in the folder."),
]


@reproduce_app.command("paper")
def paper(
    *,
    sample: Annotated[
        int, typer.Option(min=1, help="Instances a cell; the paper has 100.")
    ] = 10,
    cells: Annotated[
        list[str] | None,
        typer.Option(help="Cells by name, as in n4-p4-k1-u95 or n4-*; else all 96."),
    ] = None,
    strategies: Annotated[
        str, typer.Option(help="Strategies, the paper's first.")
    ] = f"paper,{DEFAULT_STRATEGY}",
    limits: Annotated[
        str, typer.Option(help="Time limits in seconds; the paper's are 1,10,20.")
    ] = "1",
    workers: Annotated[
        int, typer.Option(min=1, help="Processes, which share the cores.")
    ] = 1,
    dask: Annotated[
        str | None,
        typer.Option(help="Address of a Dask scheduler, whose workers do it."),
    ] = None,
    shard: Annotated[
        str, typer.Option(help="Do the i-th of n parts only; see merge.")
    ] = "1/1",
    live: Annotated[
        float,
        typer.Option(
            min=0, max=1, help="Share of the instances to run on a real cluster too."
        ),
    ] = 0.0,
    deterministic: Annotated[
        bool,
        typer.Option(
            "--deterministic", help="Count work in steps: the same rows anywhere."
        ),
    ] = False,
    results: Folder = RESULTS / "reproduce-paper",
    figures: Figures = None,
) -> None:
    """Rebuild the evaluation of "Priority Matters": Figures 3 and 4, Table 1.

    Exits with 0 if every task was carried out, 1 if one was not, 2 if the input is at
    fault.
    """
    # polars, matplotlib and the client take seconds that other commands do not need.
    from testbed.cli.reproducing import (  # noqa: PLC0415
        numbers,
        run_sample_live,
        sweep,
        words,
    )
    from testbed.reproduce.paper.report import write_report  # noqa: PLC0415
    from testbed.reproduce.paper.request import (  # noqa: PLC0415
        PaperRequest,
        choose_cells,
    )
    from testbed.reproduce.sweep.shard import Shard  # noqa: PLC0415

    began = monotonic()
    try:
        request = PaperRequest(
            cells=choose_cells(cells or ()),
            sample=sample,
            strategies=words(strategies, "--strategies"),
            limits_s=numbers(limits, "--limits"),
            shard=Shard.parse(shard),
            deterministic=deterministic,
        )
    except StowageError as error:
        typer.echo(f"stowage: {error}", err=True)
        raise typer.Exit(BAD_INPUT) from error
    evaluation = sweep(request, results, workers, dask)
    if live:
        run_sample_live(evaluation, results, live)
    minutes = (monotonic() - began) / 60
    file = figures or results / "figures.json"
    typer.echo(write_report(results, file, evaluation.failures, minutes))
    raise typer.Exit(FAILED if evaluation.failures else 0)


@reproduce_app.command("merge")
def merge(
    parts: Annotated[
        list[Path], typer.Argument(help="Folders of all shards of one sweep.")
    ],
    *,
    results: Folder = RESULTS / "reproduce-paper",
    figures: Figures = None,
) -> None:
    """Put the shards of a sweep together, and report on the whole."""
    from testbed.reproduce.paper.evaluation import rebuild_tables  # noqa: PLC0415
    from testbed.reproduce.paper.report import write_report  # noqa: PLC0415
    from testbed.reproduce.sweep.merge import merge as put_together  # noqa: PLC0415

    put_together(parts, results)
    rebuild_tables(results)
    typer.echo(write_report(results, figures or results / "figures.json"))


@reproduce_app.command("report")
def report(
    folder: Annotated[Path, typer.Argument(help="Folder of the results.")],
    *,
    figures: Figures = None,
) -> None:
    """Make page, tables and figures anew from the results, without solving anything."""
    from testbed.reproduce.paper.report import write_report  # noqa: PLC0415

    typer.echo(write_report(folder, figures or folder / "figures.json"))
