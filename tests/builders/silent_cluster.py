"""A cluster of which there is nothing but a folder with an audit log."""

from pathlib import Path

from stowage_testbed.cluster.backend import Backend
from stowage_testbed.cluster.base import Cluster
from stowage_testbed.cluster.listing import Owner


class SilentCluster(Cluster):
    """A cluster of which there is only a folder."""

    backend = Backend.KWOK_BINARY

    def __init__(self, workdir: Path) -> None:
        super().__init__("silent")
        self.workdir = workdir
        self.audit_log.parent.mkdir(exist_ok=True)

    def _start(self, owner: Owner) -> None:
        raise NotImplementedError
