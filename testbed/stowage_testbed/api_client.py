"""How everything that talks to a cluster gets its client."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kubernetes.client import ApiClient


def new_api_client(
    kubeconfig: Path | None = None, context: str | None = None
) -> ApiClient:
    """Return a new client; the caller closes it.

    Parameters
    ----------
    kubeconfig
        Names the cluster; left out, kubectl's own choice: ``KUBECONFIG``, or the file
        in the home folder.
    context
        Of the kubeconfig; its own choice without one.

    Raises
    ------
    kubernetes.config.ConfigException
        The kubeconfig names no cluster, or has no such context.
    """
    from kubernetes import config  # noqa: PLC0415 - it takes long to import

    # The library has no annotations here, so that its call is checked by nobody.
    client: ApiClient = config.new_client_from_config(  # type: ignore[no-untyped-call]
        None if kubeconfig is None else str(kubeconfig), context=context
    )
    return client
