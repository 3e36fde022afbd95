"""Which cluster a command asks: one of the testbed, or one of the kubeconfig's."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stowage_testbed.api.client import new_api_client
from stowage_testbed.base.errors import InputError
from stowage_testbed.cluster.listing import find_cluster

if TYPE_CHECKING:
    from kubernetes.client import ApiClient

Cluster = Annotated[str | None, typer.Option(help="A cluster of the testbed; left out, that of the kubeconfig.")]
Context = Annotated[str | None, typer.Option(help="Context of the kubeconfig; else its own choice.")]
Lists = Annotated[
    list[Path] | None,
    typer.Option(
        "--file",
        help="What kubectl get nodes,pods,pdb -A -o json printed, in place of a cluster; may be given more than once.",
    ),
]
Kubeconfig = Annotated[Path | None, typer.Option(help="Another kubeconfig than kubectl would take.")]


def new_client(cluster: str | None, context: str | None, kubeconfig: Path | None) -> ApiClient:
    """Return a new client of the cluster that is meant; the caller closes it.

    Raises
    ------
    InputError
        Two are named, or one that cannot be used.
    """
    if cluster is not None:
        if context is not None or kubeconfig is not None:
            raise InputError(
                "--cluster names a cluster of the testbed, which has its own "
                "kubeconfig: leave out --context and --kubeconfig"
            )
        kubeconfig = find_cluster(cluster).workdir / "kubeconfig.yaml"
    return new_api_client(kubeconfig, context)
