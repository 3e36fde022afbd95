"""`stowage up`, `down`, `list` and `kubeconfig`: clusters by hand."""

from __future__ import annotations

import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from stowage_testbed.base.errors import InputError, StowageError
from stowage_testbed.cli.main import Minor, app
from stowage_testbed.cluster import KwokBinaryCluster, create_nodes
from stowage_testbed.cluster.backend import CANNOT, Backend, Need
from stowage_testbed.cluster.base import Cluster
from stowage_testbed.cluster.choice import new_cluster
from stowage_testbed.cluster.components import SCHEDULER, has_ended, log_file
from stowage_testbed.cluster.interruption import ending_cleanly, take_down, uninterrupted
from stowage_testbed.cluster.listing import find_cluster, list_clusters, purge_clusters, remove_cluster
from stowage_testbed.cluster.node_pool import NodePool

DEFAULT_NODES = "{count: 3, cpu: 4, memory: 16Gi}"

RESOLUTION_S = 15
"""Between two looks at the pods' usage, as metrics-server's own manifests have it."""

Name = Annotated[str, typer.Argument(help="The cluster's name.")]
Nodes = Annotated[
    list[str] | None,
    typer.Option(
        metavar="YAML",
        help="Nodes to create, as in '{prefix: gpu, count: 3, cpu: 4, memory: 8Gi, pods: 20, labels: {disk: ssd}, "
        "taints: [{key: gpu, value: big, effect: NoSchedule}], resources: {nvidia.com/gpu: 4}, zones: [a, b]}', or a "
        f"file with a list of such; may be repeated. Without it {DEFAULT_NODES}, unless --scheduler is none.",
    ),
]
Metrics = Annotated[
    bool, typer.Option("--metrics", help="Measure the pods' simulated usage, for autoscalers and kubectl top.")
]
Port = Annotated[int | None, typer.Option(min=1, max=65535, help="The API server's port.")]


BackendName = Annotated[Backend, typer.Option(help="How it is run; `stowage doctor` shows which work here.")]


class Scheduler(StrEnum):
    """What places the pods of a cluster that is brought up by hand."""

    STOCK = "stock"
    STOWAGE = "stowage"
    NONE = "none"


SchedulerName = Annotated[
    Scheduler,
    typer.Option(
        help="What places the pods: kube-scheduler with its defaults, the chart with "
        "its optimiser, or nothing, for a scheduler of your own."
    ),
]


@app.command()
def up(
    name: Name = "stowage",
    *,
    nodes: Nodes = None,
    port: Port = None,
    metrics: Metrics = False,
    backend: BackendName = Backend.KWOK_BINARY,
    kubernetes: Minor = None,
    scheduler: SchedulerName = Scheduler.STOCK,
    page: Annotated[bool, typer.Option("--page", help="Then show it in a browser until Ctrl-C.")] = False,
) -> None:
    """Bring a cluster up and leave it running until `stowage down`."""
    from stowage_testbed.cluster.node_pool import parse_node_specs  # noqa: PLC0415 - only here

    usual = () if scheduler is Scheduler.NONE else (DEFAULT_NODES,)
    pools = parse_node_specs(nodes or usual)
    cluster = _cluster(name, port, backend, kubernetes, metrics=metrics)
    started_s = time.monotonic()
    with ending_cleanly():
        try:
            cluster.up()
            values_file = _start_scheduler(cluster, scheduler)
            count = _add_nodes(cluster, pools) if pools else 0
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
        from stowage_testbed.cli.page import show_page  # noqa: PLC0415

        with cluster.api_client() as api:
            show_page(api, name)


@app.command()
def down(
    name: Annotated[str | None, typer.Argument(help="The cluster's name; stowage without one.")] = None,
    *,
    stale: Annotated[bool, typer.Option("--stale", help="Remove what interrupted runs left instead.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="Remove every cluster instead, also those in use.")] = False,
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
        port = f"127.0.0.1:{entry.api_port}" if entry.api_port else "-"
        typer.echo(f"{entry.name:30} {port:16} {entry.state}{owner}")
        if entry.state != "leftover" and has_ended(entry.workdir, SCHEDULER):
            log = log_file(entry.workdir, SCHEDULER)
            typer.echo(f"  {SCHEDULER} has ended, and no pod is placed; its log: {log}")


@app.command()
def kubeconfig(name: Name = "stowage") -> None:
    """Print the path of a cluster's kubeconfig."""
    typer.echo(find_cluster(name).workdir / "kubeconfig.yaml")


def _cluster(name: str, port: int | None, backend: Backend, minor: str | None, *, metrics: bool) -> Cluster:
    if not metrics:
        return new_cluster(backend, name, api_port=port, minor=minor)
    if why := CANNOT[backend].get(Need.USAGE):
        raise StowageError(f"a cluster of {backend} has no {Need.USAGE}: {why}; use --backend kwok-binary")
    return KwokBinaryCluster(name, api_port=port, minor=minor, resolution_s=RESOLUTION_S)


def _start_scheduler(cluster: Cluster, scheduler: Scheduler) -> Path | None:
    """Start what places pods; return the values to install the chart with."""
    # Only this command needs them, and they take long to import.
    from stowage_testbed.cluster.stock_scheduler import (  # noqa: PLC0415
        start_stock_scheduler,
    )
    from stowage_testbed.helm.install import (  # noqa: PLC0415
        install_release,
        prepare_install,
    )

    if scheduler is Scheduler.STOWAGE:
        install_release(cluster, profile="optimizer", optimizer_enabled=True)
        return None
    if scheduler is Scheduler.NONE:
        return prepare_install(cluster, {})
    start_stock_scheduler(cluster)
    # The stock scheduler serves the pods that name nobody.
    return prepare_install(cluster, {"schedulerName": "stowage"})


def _add_nodes(cluster: Cluster, pools: list[NodePool]) -> int:
    with cluster.api_client() as api:
        return len(create_nodes(api, pools))
