"""One call of `stowage try`: its world, and how it is shown."""

from __future__ import annotations

from pathlib import Path

import typer
from rich.console import Console

from stowage_testbed.base.errors import InputError
from stowage_testbed.cli.run_session import RunSession
from stowage_testbed.cluster.backend import TOOLS, Backend
from stowage_testbed.report.before_after import draw_comparison, write_page
from stowage_testbed.run.outcome import RunOutcome
from stowage_testbed.run.request import RunRequest
from stowage_testbed.run.tools import install_needed
from stowage_testbed.scenario.instances import generate
from stowage_testbed.scenario.model import OptimizerSettings, Scenario, imply_steps

PODS_PER_NODE = 8
PRIORITIES = 3
USAGE = 1.0
"""Demand over capacity: none of it is left over, so that some pods find no room."""

NEXT = """\
next:
  stowage page --context NAME     your own cluster in a browser, live and read-only
  stowage whatif --context NAME   would the pods that wait in your own cluster fit?
  stowage init                    a first scenario, a test and a workflow of your own
  stowage run                     every scenario that comes with Stowage"""


class TrySession(RunSession):
    """A run of one scenario, shown as nodes before and after."""

    def __init__(self, results: Path, minor: str | None = None) -> None:
        super().__init__(results, None, None, minor)
        self._minor = minor

    def try_out(self, nodes: int, seed: int, *, keep_cluster: bool) -> int:
        """Install what is missing, run, show, and return the exit code.

        There are so many nodes; the sizes of the pods are drawn from the seed.
        """
        install_needed(*TOOLS[Backend.KWOK_BINARY], minor=self._minor)
        scenario = tried_scenario(nodes, seed)
        return self.run(RunRequest((scenario,), keep_cluster=keep_cluster, minor=self._minor))

    def show(self, outcome: RunOutcome) -> None:
        """Print nodes before and after, where the page is, and what to do next."""
        if not outcome.passed:
            super().show(outcome)
            return
        (one,) = outcome.scenarios
        page = write_page(one, self.folder)
        Console().print("\n", draw_comparison(one), sep="")
        typer.echo(f"\npage: {page.resolve().as_uri()}\n\n{NEXT}")


def tried_scenario(nodes: int, seed: int) -> Scenario:
    """Return nodes and pods that together request all that the nodes have.

    Raises
    ------
    InputError
        The seed is larger than 128 bits.
    """
    try:
        drawn = generate(seed, nodes, PODS_PER_NODE, PRIORITIES, USAGE)
    except ValueError as error:
        raise InputError(str(error)) from error
    return Scenario(
        name=f"try/{nodes}-nodes",
        description=f"{nodes} nodes, and pods that request all that they have.",
        nodes=(drawn.node_pool(),),
        workload=drawn.workload,
        instance=drawn.spec,
        optimizer=OptimizerSettings(harm="any"),
        steps=imply_steps(drawn.workload),
    )
