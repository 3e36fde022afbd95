"""A cluster from kwokctl's binary runtime: local processes, no containers."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from stowage_testbed.api.objects import Objects
from stowage_testbed.base.child import Child
from stowage_testbed.cluster.backend import Backend
from stowage_testbed.cluster.base import Cluster
from stowage_testbed.cluster.components import (
    API_SERVER,
    CONTROL_PLANE,
    CONTROLLER_MANAGER,
    ETCD,
    HOST_NODE,
    HOST_PODS,
    KWOK,
    KWOKCTL,
    METRICS_SERVER,
    READY_TIMEOUT_S,
    await_state,
    component_failed,
    component_process,
    has_ended,
    kill_one,
    log_file,
    marked_environment,
    pid_file,
    start_host_pods,
    was_started,
)
from stowage_testbed.cluster.feature_gates import DEFAULTS, FeatureGates
from stowage_testbed.cluster.kwokctl_config import ExtraArgs, arguments_of, config_file, merged_arguments, render_config
from stowage_testbed.cluster.listing import Owner, cluster_missing, read_owner
from stowage_testbed.cluster.metrics_server import serve_usage_api, start_metrics_server
from stowage_testbed.cluster.ports import Ports, listens
from stowage_testbed.cluster.probes import ApiProbe
from stowage_testbed.cluster.supervision import watch_again
from stowage_testbed.toolchain import tool_path

_T = TypeVar("_T")


def run_kwokctl(workdir: Path, arguments: Sequence[str]) -> Child:
    """Start kwokctl for the cluster in ``workdir``; its output goes to its log.

    Nothing of the user's is read or written: kwokctl would add to ``~/.kube/config``, and the kubectl that it calls
    would cache below ``~/.kube``. Variables that would override the configuration file are left out.
    """
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("KWOK_", "KUBE"))}
    kept |= {"HOME": str(workdir), "KWOK_WORKDIR": str(workdir.parents[1])}
    command = [str(tool_path(KWOKCTL)), "--config", str(config_file(workdir)), "--name", workdir.name, *arguments]
    return Child(command, log_file(workdir, KWOKCTL), marked_environment(workdir, kept))


class KwokBinaryCluster(Cluster):
    """etcd, kube-apiserver, kube-controller-manager and KWOK on this machine; a Helm release brings the scheduler.

    ``extra_args`` are further arguments by component, over the testbed's own. With ``resolution_s`` a metrics-server
    scrapes the usage that KWOK simulates so often, at least every 10 s; without, none is served. A container of the
    release that ended is started again after ``longest_backoff_s`` at most.
    """

    backend = Backend.KWOK_BINARY

    def __init__(
        self,
        name: str,
        *,
        api_port: int | None = None,
        minor: str | None = None,
        features: FeatureGates = DEFAULTS,
        extra_args: ExtraArgs | None = None,
        resolution_s: int | None = None,
        timeout_s: float = READY_TIMEOUT_S,
        longest_backoff_s: float | None = None,
    ) -> None:
        super().__init__(name, api_port=api_port, minor=minor, features=features, timeout_s=timeout_s)
        self._extra_args: Mapping[str, Mapping[str, str]] = extra_args or {}
        self.resolution_s = resolution_s
        if resolution_s is not None:
            self._tools += (METRICS_SERVER,)
        self._longest_backoff_s = longest_backoff_s

    def _start(self, owner: Owner) -> None:
        measured = {} if self.resolution_s is None else arguments_of("metrics", workdir=self.workdir)
        arguments = merged_arguments(measured, self.features.arguments(self.minor), self._extra_args)
        text = render_config(self.minor, owner.ports, arguments)
        config_file(self.workdir).write_text(text, "utf-8")
        # kwokctl asks kubectl whether the API server answers: this one says yes, and nothing has to be built.
        kubectl = self.workdir / "bin" / "kubectl"
        kubectl.parent.mkdir(exist_ok=True)
        kubectl.write_text("#!/bin/sh\nexit 0\n", encoding="utf-8")
        kubectl.chmod(0o755)
        # Its work is done once the components are started; it would only go on to start a kubectl five times a
        # second until one is answered, and take a core from the API server.
        with run_kwokctl(self.workdir, ["create", "cluster", "--kubeconfig="]) as kwokctl:

            def missing() -> list[str]:
                if kwokctl.exit_code():
                    raise component_failed(self.workdir, KWOKCTL)
                return [component for component in CONTROL_PLANE if not was_started(self.workdir, component)]

            self._await("the components", missing, lambda missing: not missing, KWOKCTL)
        probe = self._await_api(owner.ports)
        start_host_pods(self.workdir, self.kubeconfig, self._longest_backoff_s)
        if self.resolution_s is None:
            self._settle(owner.ports, probe)
        else:
            with self.api_client() as api:
                serve_usage_api(Objects(api), self._timeout_s)
                self._end_kwok()
                self._settle(owner.ports, probe)
                start_metrics_server(
                    api,
                    self.kubeconfig,
                    kubelet_port=owner.ports.kwok_controller,
                    resolution_s=self.resolution_s,
                    timeout_s=self._timeout_s,
                )
        # Whoever lists nodes is to find the one that releases run on from the start.
        needed = (ETCD, API_SERVER, HOST_PODS)
        self._await("the host's node", lambda: probe.has_lease(HOST_NODE), bool, HOST_PODS, needed)

    def start_again(self) -> None:
        """Start again what has ended of the control plane; raises as `up` does, and leaves the cluster as it is."""
        owner = read_owner(self.workdir)
        if owner is None:
            raise cluster_missing(self.name)
        ended = [component for component in CONTROL_PLANE if has_ended(self.workdir, component)]
        self._start_components(ended)
        probe = self._await_api(owner.ports)
        if KWOK in ended:
            # Until the leases of the one that ended run out, the next one leaves the
            # nodes alone. It looks at them as soon as it runs.
            self._end_kwok()
            probe.release_nodes(kept=HOST_NODE)
        self._settle(owner.ports, probe)
        watch_again(self.workdir)

    def _await_api(self, ports: Ports) -> ApiProbe:
        probe = ApiProbe(self.workdir, ports.kube_apiserver)
        self._await("the API server", probe.ready, lambda said: said == "ok", API_SERVER, (ETCD, API_SERVER))
        return probe

    def _end_kwok(self) -> None:
        """End KWOK, for `_settle` to start it again: it would look again after seconds that double each time."""
        if kwok := component_process(self.workdir, KWOK):
            kill_one(kwok)
        self._await("KWOK to end", lambda: has_ended(self.workdir, KWOK), bool, KWOK)

    def _settle(self, ports: Ports, probe: ApiProbe) -> None:
        """Wait until controllers and KWOK are at work.

        What gave up, or sleeps, because the API server came late is started again: the controller manager waits ten
        seconds for it, and KWOK looks once, then after 1, 3, 7 and 15 seconds.
        """
        late = [component for component in (CONTROLLER_MANAGER, KWOK) if has_ended(self.workdir, component)]
        kwok = component_process(self.workdir, KWOK)
        if kwok is not None and not listens(ports.kwok_controller):
            kill_one(kwok)
            late.append(KWOK)
        self._start_components(late)
        accounts = probe.namespaces_without_account
        self._await(
            "default service accounts", accounts, lambda lacking: not lacking, CONTROLLER_MANAGER, CONTROL_PLANE
        )
        self._await("KWOK", lambda: listens(ports.kwok_controller), bool, KWOK, CONTROL_PLANE)

    def _start_components(self, components: Sequence[str]) -> None:
        if not components:
            return
        for component in components:
            pid_file(self.workdir, component).unlink(missing_ok=True)
        with run_kwokctl(self.workdir, ["start", "cluster"]) as kwokctl:
            self._await("kwokctl", kwokctl.exit_code, lambda code: code is not None, KWOKCTL)
            if kwokctl.exit_code():
                raise component_failed(self.workdir, KWOKCTL)

    def _await(
        self, what: str, look: Callable[[], _T], holds: Callable[[_T], bool], component: str, needed: Sequence[str] = ()
    ) -> None:
        await_state(self.workdir, what, look, holds, of=component, needed=needed, timeout_s=self._timeout_s)
