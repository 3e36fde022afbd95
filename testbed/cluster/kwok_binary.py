"""A cluster from kwokctl's binary runtime: local processes, no containers."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from testbed import layout
from testbed.api_client import new_api_client
from testbed.cluster.claim import claim_cluster, remove_cluster
from testbed.cluster.components import METRICS_SERVER
from testbed.cluster.errors import ClusterMissingError
from testbed.cluster.host_pods import start_host_pods
from testbed.cluster.interruption import undisturbed
from testbed.cluster.kwokctl_config import ExtraArgs, merged_arguments, render_config
from testbed.cluster.metrics.arguments import metrics_arguments
from testbed.cluster.metrics.settings import MetricsSettings
from testbed.cluster.naming import check_name
from testbed.cluster.owner import read_owner, write_owner
from testbed.cluster.ports import Ports
from testbed.cluster.startup import READY_TIMEOUT_S, Startup
from testbed.toolchain import tool_path

if TYPE_CHECKING:
    from kubernetes.client import ApiClient


class KwokBinaryCluster:
    """etcd, kube-apiserver, kube-controller-manager and KWOK on this machine.

    The scheduler is left out: a Helm release brings it.

    Parameters
    ----------
    name
        Unique among this user's clusters.
    api_port
        Port of the API server on 127.0.0.1; a free one without.
    extra_args
        Further arguments by component, over the testbed's own.
    metrics
        Serve the usage that KWOK simulates, by a metrics-server with these settings.
    timeout_s
        How long the control plane may take to become ready.
    longest_backoff_s
        Longest wait before a container of the release that ended is started again.

    Raises
    ------
    ClusterNameError
        ``name`` cannot be a cluster's.
    """

    def __init__(
        self,
        name: str,
        *,
        api_port: int | None = None,
        extra_args: ExtraArgs | None = None,
        metrics: MetricsSettings | None = None,
        timeout_s: float = READY_TIMEOUT_S,
        longest_backoff_s: float | None = None,
    ) -> None:
        self.name = check_name(name)
        self.workdir: Path = layout.clusters_folder() / name
        self._api_port = api_port
        self._extra_args: Mapping[str, Mapping[str, str]] = extra_args or {}
        self.metrics = metrics
        self._timeout_s = timeout_s
        self._longest_backoff_s = longest_backoff_s
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
    def _config(self) -> Path:
        return self.workdir / "kwokctl.yaml"

    def _startup(self, ports: Ports) -> Startup:
        return Startup(self.workdir, self._config, ports, self._timeout_s)

    def up(self) -> None:
        """Start, and leave nothing behind if that fails or is interrupted.

        Raises
        ------
        ClusterBusyError, ClusterExistsError
            The name is taken.
        PortInUseError
            The port that was asked for is taken.
        ToolMissingError
            A tool is not installed.
        ComponentFailedError, StartTimeoutError
            The control plane did not become ready.
        WaitTimeoutError
            metrics-server cannot be reached.
        """
        self._claim_id = secrets.token_hex(8)
        try:
            owner = claim_cluster(self.workdir, self._api_port, self._claim_id)
            self._config.write_text(
                render_config(owner.ports, self._arguments()), encoding="utf-8"
            )
            startup = self._startup(owner.ports)
            startup.start()
            start_host_pods(self.workdir, self.kubeconfig, self._longest_backoff_s)
            if self.metrics is None:
                startup.settle()
            else:
                self._settle_with_metrics(startup, owner.ports, self.metrics)
        except BaseException:
            # Also for an interrupt: no process and no folder may remain.
            with undisturbed():
                self.down()
            raise

    def _arguments(self) -> ExtraArgs:
        if self.metrics is None:
            return self._extra_args
        # At once, and not when everything else is up.
        tool_path(METRICS_SERVER)
        return merged_arguments(metrics_arguments(self.workdir), self._extra_args)

    def _settle_with_metrics(
        self, startup: Startup, ports: Ports, settings: MetricsSettings
    ) -> None:
        # Both take long to import, and few clusters need them.
        from testbed.cluster.metrics.server import MetricsServer  # noqa: PLC0415
        from testbed.cluster.metrics.usage_api import serve_usage_api  # noqa: PLC0415

        server = MetricsServer(
            self.workdir, ports.kwok_controller, settings, self._timeout_s
        )
        with self.api_client() as api:
            serve_usage_api(api, self._timeout_s)
            startup.restart_kwok()
            startup.settle()
            server.start(api, self.kubeconfig)

    def down(self) -> None:
        """Stop every process and remove the folder.

        An object that has brought a cluster up, or tried to, ends that one only: its
        name may belong to somebody else by now, or all along. Any other object ends
        whatever cluster has its name.
        """
        owner = read_owner(self.workdir)
        if self._claim_id and (owner is None or owner.claim_id != self._claim_id):
            return
        remove_cluster(self.workdir)

    def start_again(self) -> None:
        """Start again what has ended of the control plane, for whatever reason.

        Raises
        ------
        ClusterMissingError
            There is no such cluster.
        ComponentFailedError, StartTimeoutError
            As for ``up``; the cluster is left as it is.
        """
        owner = read_owner(self.workdir)
        if owner is None:
            raise ClusterMissingError(self.name, ())
        self._startup(owner.ports).start_again()

    def keep(self) -> None:
        """Let the cluster outlive this process; `stowage down` ends it."""
        owner = read_owner(self.workdir)
        if owner is not None:
            write_owner(self.workdir, owner.as_kept())

    def api_client(self) -> ApiClient:
        """Return a new client; the caller closes it."""
        return new_api_client(self.kubeconfig)
