"""`stowage bench`: figures of all parts and of other schedulers on this machine."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from stowage_optimizer.model.options import DEFAULT_STRATEGY
from stowage_testbed.bench.part import EVERY_PART, Part
from stowage_testbed.cli.main import app
from stowage_testbed.cli.scenario import SCENARIOS

Results = Annotated[Path, typer.Option(help="Folder of the results.")]
RESULTS = Path("results")

TOOLS = ("stowage-simulate",)


class ScopeName(StrEnum):
    """How much is measured."""

    SMOKE = "smoke"
    DEFAULT = "default"
    FULL = "full"


def _say(line: str) -> None:
    typer.echo(line, err=True)


bench = typer.Typer(no_args_is_help=True, help="Benchmarks; results are resumable.")
app.add_typer(bench, name="bench")


@bench.command("optimizer")
def optimizer(
    *,
    scope: Annotated[
        ScopeName,
        typer.Option(help="smoke: a minute; default: 45 minutes; full: half a day."),
    ] = ScopeName.DEFAULT,
    strategy: Annotated[
        str, typer.Option(help="The strategy to hold against the paper's.")
    ] = DEFAULT_STRATEGY,
    results: Results = RESULTS,
    part: Annotated[
        list[Part] | None,
        typer.Option(help="Measure this part only; may be given more than once."),
    ] = None,
) -> None:
    """Compare a strategy with the paper's on its grid, with constraints, at size."""
    # Neither numpy nor the client of the service is needed by other commands.
    from stowage_testbed.bench.benchmark import run_benchmark  # noqa: PLC0415
    from stowage_testbed.bench.scope import SCOPES  # noqa: PLC0415
    from stowage_testbed.cluster.interruption import ending_cleanly  # noqa: PLC0415
    from stowage_testbed.toolchain import install_tools  # noqa: PLC0415

    install_tools(TOOLS, quiet=True)
    with ending_cleanly():
        said = run_benchmark(SCOPES[scope], strategy, results, _say, part or EVERY_PART)
    typer.echo(said)


@bench.command("score-cache")
def score_cache(
    *,
    scope: Annotated[
        ScopeName,
        typer.Option(help="smoke: a minute; default: 30 minutes; full: hours."),
    ] = ScopeName.DEFAULT,
    results: Results = RESULTS,
) -> None:
    """Compare the score cache with the stock scheduler, in process, on one core."""
    from stowage_testbed.bench.score_cache.benchmark import run_benchmark  # noqa: PLC0415
    from stowage_testbed.bench.score_cache.scope import SCOPES  # noqa: PLC0415
    from stowage_testbed.toolchain import install_tools  # noqa: PLC0415

    install_tools(TOOLS, quiet=True)
    typer.echo(run_benchmark(SCOPES[scope], results, _say))


@bench.command("compare")
def compare(
    *,
    scope: Annotated[
        ScopeName,
        typer.Option(help="smoke: a minute; default: 40 minutes; full: hours."),
    ] = ScopeName.DEFAULT,
    folder: Annotated[Path, typer.Option(help="Folder of the scenarios.")] = SCENARIOS,
    results: Results = RESULTS,
) -> None:
    """Compare all schedulers in bursts and recoveries; say what measuring costs.

    Needs the tools of the groups compare and metrics. Comparisons that are there
    already are resumed: remove <results>/compare to start again.
    """
    from stowage_testbed.bench.compare.benchmark import run_benchmark  # noqa: PLC0415
    from stowage_testbed.bench.compare.scope import SCOPES  # noqa: PLC0415
    from stowage_testbed.cluster.interruption import ending_cleanly  # noqa: PLC0415

    with ending_cleanly():
        said = run_benchmark(SCOPES[scope], folder, results, _say)
    typer.echo(said)


@bench.command("backends")
def backends(
    *,
    rounds: Annotated[int, typer.Option(min=1, help="Clusters of each kind.")] = 3,
    results: Results = RESULTS,
) -> None:
    """Compare what the kinds of cluster cost: time until ready, and memory.

    Needs a Docker engine: put `stowage docker --` before.
    """
    from stowage_testbed.bench.backends.benchmark import run_benchmark  # noqa: PLC0415
    from stowage_testbed.cluster.interruption import ending_cleanly  # noqa: PLC0415
    from stowage_testbed.docker.engine import check_engine  # noqa: PLC0415

    check_engine()
    with ending_cleanly():
        said = run_benchmark(rounds, results, _say)
    typer.echo(said)


@bench.command("invariants")
def invariants(
    *,
    scope: Annotated[
        ScopeName,
        typer.Option(help="smoke: 1,000 pods; default: 50,000; full: and more moves."),
    ] = ScopeName.DEFAULT,
    rounds: Annotated[int, typer.Option(min=1, help="Times each is checked.")] = 3,
    results: Results = RESULTS,
) -> None:
    """Measure what checking the invariants of a large run costs; needs no cluster."""
    from stowage_testbed.bench.invariants.benchmark import run_benchmark  # noqa: PLC0415

    typer.echo(run_benchmark(scope, rounds, results, _say))
