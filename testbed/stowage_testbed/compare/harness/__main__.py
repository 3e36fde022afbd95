"""The harness measured by hand.

``python -m stowage_testbed.compare.harness cost`` times bursts with and without
measuring; ``python -m stowage_testbed.compare.harness record FILE`` keeps
measured ones.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stowage_testbed.bench.figures.figure import table
from stowage_testbed.compare.harness.burst import Burst
from stowage_testbed.compare.harness.cost import harness_cost
from stowage_testbed.compare.harness.environment import burst_environment
from stowage_testbed.compare.harness.recordings import recorded_bursts, write_recordings

Nodes = Annotated[int, typer.Option(help="Equal nodes, of 110 pods each.")]
Replicas = Annotated[int, typer.Option(help="Pods of a burst.")]
Rounds = Annotated[int, typer.Option(help="Bursts of each kind.")]

app = typer.Typer(no_args_is_help=True, help=__doc__)


@app.command()
def cost(nodes: Nodes = 5, replicas: Replicas = 200, rounds: Rounds = 10) -> None:
    """Print by how much measuring slows a burst."""
    with burst_environment(nodes) as environment:
        burst = Burst(replicas, environment.pod_overrides)
        found = harness_cost(
            environment.cluster, burst, rounds=rounds, pids=environment.pids
        )
    typer.echo(table([found.figure()]))


@app.command()
def record(
    file: Annotated[Path, typer.Argument(help="Compressed JSON lines, one a burst.")],
    nodes: Nodes = 5,
    replicas: Replicas = 200,
    rounds: Rounds = 40,
    arm: Annotated[str, typer.Option(help="Name of the scheduler.")] = "stowage",
) -> None:
    """Keep measured bursts of one scheduler, as the tests of statistics need them."""
    with burst_environment(nodes) as environment:
        write_recordings(file, recorded_bursts(environment, replicas, arm, rounds))


if __name__ == "__main__":
    app()
