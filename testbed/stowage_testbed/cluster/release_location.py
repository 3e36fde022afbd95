"""Where the pods of a Helm release run on a cluster, and how."""

from __future__ import annotations

from dataclasses import dataclass

from stowage_testbed.cluster.host_pods import HOST_NODE


@dataclass(frozen=True, slots=True)
class ReleaseLocation:
    """The one node of a cluster that is no fake one.

    Attributes
    ----------
    node
        Its name; it has the taint `HOST_TAINT`.
    containers
        Whether pods run as containers of their images there; if not, as processes of
        this machine.
    api_server_url
        What the API server is called from there; empty where it is what the kubeconfig
        says.
    """

    node: str = HOST_NODE
    containers: bool = False
    api_server_url: str = ""


ON_THIS_MACHINE = ReleaseLocation()
