"""A cluster from kwokctl's binary runtime: local processes, no containers."""

from __future__ import annotations

from collections.abc import Mapping

from stowage_testbed.api.objects import Objects
from stowage_testbed.cluster.backend import Backend
from stowage_testbed.cluster.base import READY_TIMEOUT_S, Cluster
from stowage_testbed.cluster.components import METRICS_SERVER
from stowage_testbed.cluster.host_pods import start_host_pods
from stowage_testbed.cluster.kwokctl_config import (
    ExtraArgs,
    config_file,
    merged_arguments,
    metrics_arguments,
    render_config,
)
from stowage_testbed.cluster.listing import cluster_missing
from stowage_testbed.cluster.metrics_server.objects import serve_usage_api
from stowage_testbed.cluster.owner import Owner, read_owner
from stowage_testbed.cluster.ports import Ports
from stowage_testbed.cluster.startup import Startup, write_kubectl
from stowage_testbed.cluster.supervision import watch_again


class KwokBinaryCluster(Cluster):
    """etcd, kube-apiserver, kube-controller-manager and KWOK on this machine.

    The scheduler is left out: a Helm release brings it.

    Parameters
    ----------
    extra_args
        Further arguments by component, over the testbed's own.
    resolution_s
        Serve the usage that KWOK simulates, by a metrics-server that scrapes it so
        often, at least every 10 s; left out, none is served.
    longest_backoff_s
        Longest wait before a container of the release that ended is started again.
    """

    backend = Backend.KWOK_BINARY

    def __init__(
        self,
        name: str,
        *,
        api_port: int | None = None,
        minor: str | None = None,
        extra_args: ExtraArgs | None = None,
        resolution_s: int | None = None,
        timeout_s: float = READY_TIMEOUT_S,
        longest_backoff_s: float | None = None,
    ) -> None:
        super().__init__(name, api_port=api_port, minor=minor, timeout_s=timeout_s)
        self._extra_args: Mapping[str, Mapping[str, str]] = extra_args or {}
        self.resolution_s = resolution_s
        self._longest_backoff_s = longest_backoff_s

    @property
    def tools(self) -> tuple[str, ...]:
        """What must be installed for it to come up, whatever runs on it then."""
        measured = () if self.resolution_s is None else (METRICS_SERVER,)
        return (*super().tools, *measured)

    def _startup(self, ports: Ports) -> Startup:
        config = config_file(self.workdir)
        return Startup(self.workdir, config, ports, self._timeout_s)

    def _start(self, owner: Owner) -> None:
        text = render_config(self.minor, owner.ports, self._arguments())
        config_file(self.workdir).write_text(text, "utf-8")
        write_kubectl(self.workdir)
        startup = self._startup(owner.ports)
        startup.start()
        start_host_pods(self.workdir, self.kubeconfig, self._longest_backoff_s)
        if self.resolution_s is None:
            startup.settle()
        else:
            self._settle_with_metrics(startup, owner.ports, self.resolution_s)
        startup.await_host_node()

    def _arguments(self) -> ExtraArgs:
        if self.resolution_s is None:
            return self._extra_args
        return merged_arguments(metrics_arguments(self.workdir), self._extra_args)

    def _settle_with_metrics(self, startup: Startup, ports: Ports, resolution_s: int) -> None:
        # It takes long to import, and few clusters need it.
        from stowage_testbed.cluster.metrics_server.server import MetricsServer  # noqa: PLC0415

        server = MetricsServer(self.workdir, ports.kwok_controller, resolution_s, self._timeout_s)
        with self.api_client() as api:
            serve_usage_api(Objects(api), self._timeout_s)
            startup.restart_kwok()
            startup.settle()
            server.start(api, self.kubeconfig)

    def start_again(self) -> None:
        """Start again what has ended of the control plane, for whatever reason.

        Raises
        ------
        StowageError
            There is no such cluster; or as for ``up``, and it is left as it is.
        """
        owner = read_owner(self.workdir)
        if owner is None:
            raise cluster_missing(self.name)
        self._startup(owner.ports).start_again()
        watch_again(self.workdir)
