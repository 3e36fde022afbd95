"""What every kind of cluster offers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from stowage_testbed.cluster.backend import Backend
from stowage_testbed.cluster.release_location import ReleaseLocation

if TYPE_CHECKING:
    # The client takes most of a second to import, which `stowage up` does not need.
    from kubernetes.client import ApiClient


class Cluster(Protocol):
    """A Kubernetes control plane with fake nodes."""

    @property
    def name(self) -> str:
        """Unique on this machine among the clusters that are up."""
        ...

    @property
    def backend(self) -> Backend:
        """How its control plane is run."""
        ...

    @property
    def release_location(self) -> ReleaseLocation:
        """Where the pods of a Helm release run; known once it is up."""
        ...

    @property
    def workdir(self) -> Path:
        """The folder of everything it writes, gone after ``down``."""
        ...

    @property
    def kubeconfig(self) -> Path:
        """Credentials of a cluster administrator."""
        ...

    @property
    def audit_log(self) -> Path:
        """The API server's audit log, one JSON object a line."""
        ...

    def up(self) -> None:
        """Start; return when the API server is ready and default accounts exist."""
        ...

    def down(self) -> None:
        """Stop every process and remove the folder; no error if there is nothing."""
        ...

    def keep(self) -> None:
        """Let the cluster outlive this process; `stowage down` ends it."""
        ...

    def api_client(self) -> ApiClient:
        """Return a new client; the caller closes it."""
        ...
