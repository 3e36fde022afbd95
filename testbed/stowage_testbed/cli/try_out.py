"""`stowage try`: a cluster too full for its pods, before and after the optimiser packs it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stowage_testbed.cli.main import app
from stowage_testbed.cli.options import RESULTS, Features, KeepCluster, Minor, ResultsFolder, with_option_groups

if TYPE_CHECKING:
    from stowage_testbed.run.outcome import RunOutcome
    from stowage_testbed.scenario.model import Scenario

# ruff: noqa: PLC0415 - the client takes most of a second to import, which `stowage --help` does not need

MOST_NODES = 200
"""With more, the terminal is silent for minutes: that is what scenarios are for."""
PODS_PER_NODE = 8
PRIORITIES = 3
USAGE = 1.0
"""Demand over capacity: none of it is left over, so that some pods find no node."""
SEED = 1
"""Of the pods' sizes."""
GPUS = 4
"""Of each node: half of them go to pods that take one each, the other half to pods that take all of a node's."""

NEXT = """\
next:
  stowage page --context NAME     your own cluster in a browser, live and read-only
  stowage whatif --context NAME   would the pods that wait in your own cluster fit?
  stowage init                    a first scenario, a test and a workflow of your own
  stowage run                     every scenario that comes with Stowage"""


@app.command(name="try")
@with_option_groups
def try_out(
    *,
    nodes: Annotated[int, typer.Option(min=2, max=MOST_NODES, help="Number of nodes.")] = 16,
    gpus: Annotated[bool, typer.Option("--gpus", help="Nodes with GPUs, and pods that claim them.")] = False,
    keep_cluster: KeepCluster = False,
    kubernetes: Minor = None,
    features: Features,
    results: ResultsFolder = RESULTS,
) -> None:
    """Fill a cluster of fake nodes until pods are pending, and let the optimiser pack it.

    The pods together request all that the nodes have. The scheduler, which places one after the other, leaves some
    pending; the command shows here and on a page what the optimiser makes of it. Missing tools are installed first.

    With --gpus, each node has 4 GPUs. Pods that claim one GPU are spread over the nodes, so that pods that claim four
    find no node until some of the others move.

    Exits as `stowage run` does.
    """
    from stowage_testbed.cli.run_session import make_folder, run_and_show
    from stowage_testbed.cluster.backend import TOOLS, Backend
    from stowage_testbed.run.request import RunRequest, install_needed

    make_folder(results)  # before anything takes minutes
    install_needed(*TOOLS[Backend.KWOK_BINARY], minor=kubernetes)
    scenario = features.add_to(_with_gpus(nodes) if gpus else _as_in_the_paper(nodes))
    request = RunRequest((scenario,), keep_cluster=keep_cluster, minor=kubernetes)
    raise typer.Exit(run_and_show(request, results, show_passed=_show))


def _as_in_the_paper(nodes: int) -> Scenario:
    """Return nodes that pods of three priorities fill, drawn as for the paper's evaluation."""
    from stowage_testbed.scenario.instances import generate
    from stowage_testbed.scenario.model import InstanceSpec, OptimizerSettings, Scenario, imply_steps

    spec = InstanceSpec(SEED, nodes, PODS_PER_NODE, PRIORITIES, USAGE)
    pool, workload = generate(spec)
    return Scenario(
        name=f"try/{nodes}-nodes",
        description=f"{nodes} nodes, and pods that request all that they have.",
        nodes=(pool,),
        workload=workload,
        instance=spec,
        optimizer=OptimizerSettings(harm="any"),
        steps=imply_steps(workload),
    )


def _with_gpus(nodes: int) -> Scenario:
    """Return nodes with GPUs: half of these go to pods that take one, so that those that take four find no node."""
    from stowage_testbed.amounts.resources import Resources
    from stowage_testbed.cluster.devices import Devices
    from stowage_testbed.cluster.node_pool import NodePool
    from stowage_testbed.scenario.model import OptimizerSettings, Scenario, Workload, imply_steps
    from stowage_testbed.scenario.objects import ObjectSpec

    room = Resources(cpu=32_000, memory=2**37, pods=110)
    pool = NodePool("gpu", nodes, room, devices=(Devices(model="H100", count=GPUS, memory="80Gi"),))
    objects, workload = [], []
    for name, count, replicas in (("serve", 1, nodes * GPUS // 2), ("train", GPUS, nodes // 2)):
        asked = [{"name": "gpu", "exactly": {"deviceClassName": "h100", "count": count}}]
        template = {"kind": "ResourceClaimTemplate", "metadata": {"name": f"{name}-gpus"}}
        objects.append(ObjectSpec(f"{name}-gpus", {**template, "spec": {"spec": {"devices": {"requests": asked}}}}))
        claim = {"name": "gpu", "resourceClaimTemplateName": f"{name}-gpus"}
        requests = Resources(cpu=4000 * count, memory=count * 2**34)
        workload.append(Workload(name, replicas, requests=requests, pod={"resourceClaims": [claim]}))
    return Scenario(
        name=f"try/{nodes}-gpu-nodes",
        description=f"{nodes} nodes with {GPUS} GPUs each, and pods that claim all of them.",
        nodes=(pool,),
        workload=tuple(workload),
        objects={one.name: one for one in objects},
        optimizer=OptimizerSettings(harm="any"),
        steps=imply_steps((*objects, *workload)),
    )


def _show(outcome: RunOutcome, folder: Path) -> None:
    """Print nodes before and after, where the page is, and what to do next."""
    from rich.console import Console

    from stowage_testbed.report.showing import draw_comparison, write_page

    (one,) = outcome.scenarios
    page = write_page(one, folder)
    Console().print("\n", draw_comparison(one), sep="")
    typer.echo(f"\npage: {page.resolve().as_uri()}\n\n{NEXT}")
