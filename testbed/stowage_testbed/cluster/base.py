"""What every kind of cluster offers: a claimed folder, a start that fails cleanly."""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from stowage_testbed.api.client import new_api_client
from stowage_testbed.base import layout
from stowage_testbed.base.errors import InputError
from stowage_testbed.cluster.backend import CLUSTER_TOOLS, Backend
from stowage_testbed.cluster.components import READY_TIMEOUT_S, ReleaseLocation
from stowage_testbed.cluster.feature_gates import DEFAULTS, FeatureGates
from stowage_testbed.cluster.interruption import uninterrupted
from stowage_testbed.cluster.listing import Owner, check_name, claim_cluster, read_owner, remove_cluster, write_owner
from stowage_testbed.toolchain import choose_minor, install_tools, tool_path

if TYPE_CHECKING:
    from kubernetes.client import ApiClient


class Cluster(ABC):
    """A Kubernetes control plane with fake nodes; its folder holds all of it.

    Its ``name`` is unique among this user's clusters. The API server gets a free port of 127.0.0.1 unless ``api_port``
    is given, and the default minor of Kubernetes unless one is named, as in ``1.37``; ``features`` are what it has
    beyond that minor's defaults. Raises a StowageError if ``name`` cannot be a cluster's, or there is no such minor.
    """

    backend: ClassVar[Backend]

    def __init__(
        self,
        name: str,
        *,
        api_port: int | None = None,
        minor: str | None = None,
        features: FeatureGates = DEFAULTS,
        timeout_s: float = READY_TIMEOUT_S,
    ) -> None:
        self.name = check_name(name)
        self.minor = choose_minor(minor)
        self.features = features
        self.workdir: Path = layout.clusters_folder() / name
        self._api_port = api_port
        self._timeout_s = timeout_s
        self._tools = CLUSTER_TOOLS[self.backend]
        self._claim_id: str | None = None

    @property
    def kubeconfig(self) -> Path:
        """Credentials of a cluster administrator."""
        return self.workdir / "kubeconfig.yaml"

    @property
    def audit_log(self) -> Path:
        """The API server's audit log, one JSON object a line."""
        return self.workdir / "logs" / "audit.log"

    @property
    def release_location(self) -> ReleaseLocation:
        """Where the pods of a Helm release run."""
        return ReleaseLocation()

    def up(self) -> None:
        """Start, and leave nothing behind if that fails or is interrupted.

        Tools that are missing are installed, which takes minutes and is shown. Raises a StowageError if the name or the
        port is taken, a tool cannot be installed, the minor cannot have a feature gate, the control plane did not
        become ready, or Docker refuses something.
        """
        self._check()
        self._claim_id = secrets.token_hex(8)
        try:
            owner = claim_cluster(
                self.workdir, self._api_port, self._claim_id, self.backend, self.minor, features=self.features
            )
            # Not before: a name or a port that is taken is told at once.
            install_tools(self._tools, minor=self.minor)
            if refusal := self.features.find_refusal(self.minor):
                raise InputError(refusal)
            self._start(owner)
        except BaseException:
            # Also for an interrupt: no process and no folder may remain.
            with uninterrupted():
                self.down()
            raise

    def _check(self) -> None:  # noqa: B027 - not every kind needs anything
        """Refuse to start where it cannot succeed; nothing is claimed yet."""

    @abstractmethod
    def _start(self, owner: Owner) -> None:
        """Start everything in the claimed folder, and return when it is ready."""

    def down(self) -> None:
        """Stop every process and container, and remove the folder.

        An object that has brought a cluster up, or tried to, ends that one only: its name may belong to somebody else
        by now, or all along. Any other object ends whatever cluster has its name.
        """
        owner = read_owner(self.workdir)
        if self._claim_id and (owner is None or owner.claim_id != self._claim_id):
            return
        remove_cluster(self.workdir)

    def keep(self) -> None:
        """Let the cluster outlive this process; `stowage down` ends it."""
        owner = read_owner(self.workdir)
        if owner is not None:
            write_owner(self.workdir, replace(owner, kept=True))

    def tool_path(self, name: str) -> Path:
        """Return the installed binary of a tool, of the cluster's own minor."""
        return tool_path(name, self.minor)

    def check_minor(self, asked: str | None) -> str:
        """Return the cluster's minor; refuse another one that was asked for."""
        if asked is not None and asked != self.minor:
            raise InputError(
                f"cluster {self.name} is of Kubernetes {self.minor}, not {asked}; "
                "leave --kubernetes out, or --cluster for a cluster of its own"
            )
        return self.minor

    def find_missing(self, wanted: FeatureGates) -> str:
        """Return which feature gates and API groups the cluster lacks, and the way out; empty if none."""
        if not (options := self.features.lacks(wanted, self.minor)):
            return ""
        return wanted.find_refusal(self.minor) or (
            f"cluster {self.name} was brought up without {options}; leave --cluster out for a cluster of its own, or "
            "give these options to `stowage up`"
        )

    def api_client(self) -> ApiClient:
        """Return a new client; the caller closes it."""
        return new_api_client(self.kubeconfig)
