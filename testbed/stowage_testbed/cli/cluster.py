"""`stowage up`, `down`, `list` and `kubeconfig`: clusters by hand."""

import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from stowage_testbed.base.errors import InputError, StowageError
from stowage_testbed.cli.main import app
from stowage_testbed.cli.options import Features, Minor, with_option_groups
from stowage_testbed.cluster import KwokBinaryCluster, create_nodes
from stowage_testbed.cluster.backend import CANNOT, Backend, Need
from stowage_testbed.cluster.backend import SCHEDULER as SCHEDULER_TOOL
from stowage_testbed.cluster.base import Cluster
from stowage_testbed.cluster.choice import new_cluster
from stowage_testbed.cluster.components import SCHEDULER, has_ended, log_file, start_stock_scheduler
from stowage_testbed.cluster.feature_gates import spell
from stowage_testbed.cluster.interruption import ending_cleanly, take_down, uninterrupted
from stowage_testbed.cluster.listing import find_cluster, list_clusters, purge_clusters, remove_cluster
from stowage_testbed.cluster.node_pool import parse_node_specs

DEFAULT_NODES = "{count: 3, cpu: 4, memory: 16Gi}"

RESOLUTION_S = 15
"""Between two scrapes of the pods' usage, as in metrics-server's own manifests."""

Name = Annotated[str, typer.Argument(help="The cluster's name.")]


class Scheduler(StrEnum):
    """What places the pods of a cluster that is brought up by hand."""

    STOCK = "stock"
    STOWAGE = "stowage"
    NONE = "none"


@app.command()
@with_option_groups
def up(
    name: Name = "stowage",
    *,
    nodes: Annotated[
        list[str] | None,
        typer.Option(
            metavar="YAML",
            help="Nodes to create, as in '{prefix: gpu, count: 3, cpu: 4, memory: 8Gi, pods: 20, labels: {disk: ssd}, "
            "taints: [{key: gpu, value: big, effect: NoSchedule}], resources: {nvidia.com/gpu: 4}, zones: [a, b]}', or "
            f"a file with a list of such; repeatable. Else {DEFAULT_NODES}, or none with --scheduler none.",
        ),
    ] = None,
    port: Annotated[int | None, typer.Option(min=1, max=65535, help="The API server's port; else a free one.")] = None,
    metrics: Annotated[
        bool, typer.Option("--metrics", help="Measure the pods' simulated usage, for autoscalers and kubectl top.")
    ] = False,
    backend: Annotated[
        Backend, typer.Option(help="How the cluster is run; `stowage doctor` shows which work here.")
    ] = Backend.KWOK_BINARY,
    kubernetes: Minor = None,
    scheduler: Annotated[
        Scheduler,
        typer.Option(
            help="What places pods: kube-scheduler with its defaults, the chart with its optimiser, or nothing, for a "
            "scheduler of your own."
        ),
    ] = Scheduler.STOCK,
    features: Features,
    page: Annotated[bool, typer.Option("--page", help="Then show the cluster in a browser until Ctrl-C.")] = False,
) -> None:
    """Bring a cluster up and leave it running until `stowage down`."""
    usual = () if scheduler is Scheduler.NONE else (DEFAULT_NODES,)
    pools, gates = parse_node_specs(nodes or usual), features.read()
    if not metrics:
        cluster = new_cluster(backend, name, api_port=port, minor=kubernetes, features=gates)
    elif why := CANNOT[backend].get(Need.USAGE):
        raise StowageError(f"a cluster of {backend} has no {Need.USAGE}: {why}; use --backend kwok-binary")
    else:
        cluster = KwokBinaryCluster(name, api_port=port, minor=kubernetes, features=gates, resolution_s=RESOLUTION_S)
    started_s = time.monotonic()
    with ending_cleanly():
        try:
            cluster.up()
            values_file = _start_scheduler(cluster, scheduler)
            with cluster.api_client() as api:
                count = len(create_nodes(api, pools)) if pools else 0
            cluster.keep()
        except BaseException:
            take_down(cluster)
            raise
    took_s = time.monotonic() - started_s
    typer.echo(f"cluster {name} of Kubernetes {cluster.minor} is up with {count} nodes after {took_s:.1f} s")
    typer.echo(f"  export KUBECONFIG={cluster.kubeconfig}")
    if values_file:
        typer.echo(
            f"  helm install stowage {values_file.with_name('chart')} --namespace "
            f"stowage-system --create-namespace --values {values_file}"
        )
    if page:
        # Its web server takes long to import, and most clusters are brought up without.
        from stowage_testbed.cli.watch import show_page  # noqa: PLC0415

        with cluster.api_client() as api:
            show_page(api, name)


@app.command()
def down(
    name: Annotated[str | None, typer.Argument(help="The cluster's name; else stowage.")] = None,
    *,
    stale: Annotated[bool, typer.Option("--stale", help="Remove what interrupted runs left.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="Remove every cluster, also those in use.")] = False,
) -> None:
    """Stop a cluster and remove its folder."""
    if name and (stale or everything):
        raise InputError("name a cluster, or give --stale or --all, not both")
    with uninterrupted():
        if stale or everything:
            removed = purge_clusters(everything=everything)
            typer.echo(f"removed {', '.join(removed)}" if removed else "nothing to remove")
            return
        name = name or "stowage"
        remove_cluster(find_cluster(name).workdir)
    typer.echo(f"cluster {name} is gone")


@app.command(name="list")
def list_() -> None:
    """List the clusters and their owners."""
    for entry in list_clusters():
        owner = f" by process {entry.owner_pid}" if entry.owner_pid else ""
        port = f"127.0.0.1:{entry.owner.ports.kube_apiserver}" if entry.owner else "-"
        typer.echo(f"{entry.name:30} {port:16} {entry.state}{owner}")
        if entry.state != "leftover" and has_ended(entry.workdir, SCHEDULER):
            log = log_file(entry.workdir, SCHEDULER)
            typer.echo(f"  {SCHEDULER} has ended, and no pod is placed; its log: {log}")


@app.command()
def kubeconfig(name: Name = "stowage") -> None:
    """Print the path of a cluster's kubeconfig."""
    typer.echo(find_cluster(name).workdir / "kubeconfig.yaml")


def _start_scheduler(cluster: Cluster, scheduler: Scheduler) -> Path | None:
    """Start what places pods; return the values to install the chart with."""
    # Only this command needs it, and it takes long to import.
    from stowage_testbed.helm.install import install_release, prepare_install  # noqa: PLC0415

    values = cluster.features.values(cluster.minor)
    if scheduler is Scheduler.STOWAGE:
        install_release(cluster, profile="optimizer", optimizer_enabled=True, values=values)
        return None
    if scheduler is Scheduler.NONE:
        return prepare_install(cluster, values)
    gates = cluster.features.known_to(SCHEDULER_TOOL, cluster.minor)
    start_stock_scheduler(cluster.workdir, cluster.kubeconfig, cluster.tool_path(SCHEDULER_TOOL), spell(gates))
    # The stock scheduler serves the pods that name nobody.
    return prepare_install(cluster, {**values, "schedulerName": "stowage"})
