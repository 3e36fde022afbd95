"""A cluster of which there is nothing but a folder with an audit log."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kubernetes import client

from stowage_testbed.cluster.backend import Backend
from stowage_testbed.cluster.release_location import ON_THIS_MACHINE, ReleaseLocation


@dataclass(frozen=True, slots=True)
class SilentCluster:
    """A cluster of which there is only a folder."""

    workdir: Path
    name: str = "silent"
    backend: Backend = Backend.KWOK_BINARY
    release_location: ReleaseLocation = ON_THIS_MACHINE

    @property
    def kubeconfig(self) -> Path:
        return self.workdir / "kubeconfig.yaml"

    @property
    def audit_log(self) -> Path:
        return self.workdir / "audit.log"

    def up(self) -> None:
        """Start nothing."""

    def keep(self) -> None:
        """Keep nothing."""

    def down(self) -> None:
        """Stop nothing."""

    def api_client(self) -> client.ApiClient:
        raise NotImplementedError
