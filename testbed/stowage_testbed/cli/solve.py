"""`stowage solve` and `stowage verify`: the optimiser on files, without a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal

import typer

from stowage_optimizer.cli.solve_options import OBJECTIVES, POLICIES
from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.errors import OptimizerError
from stowage_optimizer.model.options import DEFAULT_STRATEGY
from stowage_testbed.cli.main import app
from stowage_testbed.errors import StowageError

SnapshotFile = Annotated[Path, typer.Argument(help="Protobuf JSON of a Snapshot.")]
PlanFile = Annotated[
    Path, typer.Argument(help="Protobuf JSON of a Plan, or what solve --json prints.")
]
PolicyOption = Annotated[
    Literal["strict", "paper"],
    typer.Option(help="strict: only higher priority may push a running pod out."),
]
ObjectiveOption = Annotated[
    Literal["place", "consolidate"],
    typer.Option(
        help="place: as many pods as possible; consolidate: fewest nodes, or the "
        "cheapest where nodes have prices."
    ),
]
MovesOption = Annotated[int | None, typer.Option(help="At most so many moves.")]
EvictionsOption = Annotated[int | None, typer.Option(help="At most so many evictions.")]
OwnerOption = Annotated[
    int | None, typer.Option(help="At most so many moves and evictions of an owner.")
]
GainOption = Annotated[float, typer.Option(help="Pods that each move must gain.")]


@app.command("solve")
def solve(
    snapshot: SnapshotFile,
    *,
    strategy: Annotated[
        str, typer.Option(help="Name of the strategy.")
    ] = DEFAULT_STRATEGY,
    policy: PolicyOption = "strict",
    time_limit_s: Annotated[float, typer.Option(help="Wall-clock limit.")] = 10.0,
    seed: Annotated[int, typer.Option(help="Seed of every random choice.")] = 0,
    workers: Annotated[int, typer.Option(help="Solver threads; 0: all cores.")] = 0,
    deterministic: Annotated[
        bool, typer.Option("--deterministic", help="Count steps, not seconds.")
    ] = False,
    progress: Annotated[
        bool, typer.Option("--progress", help="Report progress on standard error.")
    ] = False,
    objective: ObjectiveOption = "place",
    max_moves: MovesOption = None,
    max_evictions: EvictionsOption = None,
    max_disruptions_per_owner: OwnerOption = None,
    min_gain_per_move: GainOption = 0.0,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON, no tables.")
    ] = False,
    certificate: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the answer with all its proofs, for verify --certificate.",
        ),
    ] = None,
) -> None:
    """Solve a snapshot file and print the plan."""
    # The solver takes half a second to import, which no other command needs.
    from stowage_optimizer.cli.solve import solve_file  # noqa: PLC0415

    options = pb.SolveOptions(
        strategy=strategy,
        policy=POLICIES[policy],
        time_limit_s=time_limit_s,
        seed=seed,
        workers=workers,
        deterministic=deterministic,
        objective=OBJECTIVES[objective],
        max_moves=max_moves,
        max_evictions=max_evictions,
        max_disruptions_per_owner=max_disruptions_per_owner,
        min_gain_per_move=min_gain_per_move,
    )
    with _reported():
        text = solve_file(
            snapshot,
            options,
            as_json=as_json,
            progress=progress,
            certificate=certificate,
        )
        typer.echo(text)


@app.command("verify")
def verify(
    snapshot: SnapshotFile,
    plan: PlanFile,
    *,
    policy: PolicyOption = "strict",
    objective: ObjectiveOption = "place",
    max_moves: MovesOption = None,
    max_evictions: EvictionsOption = None,
    max_disruptions_per_owner: OwnerOption = None,
    min_gain_per_move: GainOption = 0.0,
    certificate: Annotated[
        bool,
        typer.Option(
            "--certificate", help="Also check the prices of every dual bound."
        ),
    ] = False,
) -> None:
    """Check a plan file against its snapshot with the independent checker."""
    from stowage_optimizer.cli.verify import (  # noqa: PLC0415 - as above
        verify_certificate_file,
        verify_file,
    )

    asked = pb.SolveOptions(
        objective=OBJECTIVES[objective],
        max_moves=max_moves,
        max_evictions=max_evictions,
        max_disruptions_per_owner=max_disruptions_per_owner,
        min_gain_per_move=min_gain_per_move,
    )
    with _reported():
        typer.echo(verify_file(snapshot, plan, POLICIES[policy], asked))
        if certificate:
            typer.echo(verify_certificate_file(snapshot, plan, POLICIES[policy]))


@contextmanager
def _reported() -> Iterator[None]:
    """Report the optimiser's errors as the testbed's own."""
    try:
        yield
    except OptimizerError as error:
        failure = StowageError(str(error))
        failure.exit_code = error.exit_code
        raise failure from None
