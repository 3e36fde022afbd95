"""A cluster from kwokctl's binary runtime: local processes, no containers."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar

from stowage_testbed.api.objects import Objects
from stowage_testbed.base.child import log_tail, quoted_log
from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.wait import WaitTimeoutError, wait_until
from stowage_testbed.cluster.backend import Backend
from stowage_testbed.cluster.base import READY_TIMEOUT_S, Cluster
from stowage_testbed.cluster.components import (
    API_SERVER,
    CONTROL_PLANE,
    CONTROLLER_MANAGER,
    ETCD,
    HOST_PODS,
    KWOK,
    METRICS_SERVER,
    component_failed,
    component_process,
    has_ended,
    kill_one,
    log_file,
    marked_environment,
    pid_file,
    was_started,
)
from stowage_testbed.cluster.host_pods import HOST_NODE, start_host_pods
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
from stowage_testbed.cluster.ports import Ports, listens
from stowage_testbed.cluster.probes import ApiProbe
from stowage_testbed.cluster.supervision import watch_again
from stowage_testbed.toolchain import tool_path

KWOKCTL = "kwokctl"
_POLL_S = 0.03
_API = (ETCD, API_SERVER)
_T = TypeVar("_T")


@dataclass(slots=True)
class Startup:
    """One cluster on its way up; each of the waits may take ``timeout_s``."""

    workdir: Path
    config: Path
    ports: Ports
    timeout_s: float
    _probe: ApiProbe = field(init=False)

    def start(self) -> None:
        """Start the control plane, and wait until the API server is ready."""
        create = ["create", "cluster", "--kubeconfig="]
        # Its work is done then; it would only go on to start a kubectl five times a
        # second until one is answered, and take a core from the API server.
        with running_kwokctl(self.workdir, self.config, create) as kwokctl:
            missing = partial(self._missing, kwokctl)
            self._wait("the components", missing, is_empty, KWOKCTL)
        self._await_api()

    def restart_kwok(self) -> None:
        """End KWOK, for `settle` to start it again: it came before what it looks for.

        It would look again after seconds that double each time.
        """
        kwok = component_process(self.workdir, KWOK)
        if kwok is not None:
            kill_one(kwok)
        self._wait("KWOK to end", lambda: has_ended(self.workdir, KWOK), bool, KWOK)

    def settle(self) -> None:
        """Wait until controllers and KWOK are at work. Raises as `start` does."""
        self._restart_early_birds()
        lacking = self._probe.namespaces_without_account
        port = self.ports.kwok_controller
        of, needed = CONTROLLER_MANAGER, CONTROL_PLANE
        self._wait("default service accounts", lacking, is_empty, of, needed)
        self._wait("KWOK", lambda: listens(port), bool, KWOK, needed)

    def await_host_node(self) -> None:
        """Wait until the node that releases run on is Ready. Raises as `start` does.

        It registers by itself, and whoever lists nodes is to find it from the start.
        """
        reported = partial(self._probe.has_lease, HOST_NODE)
        self._wait("the host's node", reported, bool, HOST_PODS, (*_API, HOST_PODS))

    def _missing(self, kwokctl: subprocess.Popen[bytes]) -> list[str]:
        if kwokctl.poll():
            raise component_failed(self.workdir, KWOKCTL)
        return [c for c in CONTROL_PLANE if not was_started(self.workdir, c)]

    def _await_api(self) -> None:
        self._probe = probe = ApiProbe.of(self.workdir, self.ports.kube_apiserver)
        self._wait("the API server", probe.ready, _is_ok, API_SERVER, _API)

    def _restart_early_birds(self) -> None:
        """Start again what gave up, or sleeps, because the API server came late.

        The controller manager waits ten seconds for it, and KWOK looks once, then after 1, 3, 7 and 15 seconds.
        """
        late = [c for c in (CONTROLLER_MANAGER, KWOK) if has_ended(self.workdir, c)]
        kwok = component_process(self.workdir, KWOK)
        if kwok is not None and not listens(self.ports.kwok_controller):
            kill_one(kwok)
            late.append(KWOK)
        if late:
            self._start_again(late)

    def start_again(self) -> None:
        """Start again what has ended, and wait until the control plane is at work.

        Raises as `start` does.
        """
        ended = [c for c in CONTROL_PLANE if has_ended(self.workdir, c)]
        if ended:
            self._start_again(ended)
        self._await_api()
        if KWOK in ended:
            # Until the leases of the one that ended run out, the next one leaves the
            # nodes alone. It looks at them as soon as it runs.
            self.restart_kwok()
            self._probe.release_nodes(kept=HOST_NODE)
        self.settle()

    def _start_again(self, components: Iterable[str]) -> None:
        for component in components:
            pid_file(self.workdir, component).unlink(missing_ok=True)
        start = ["start", "cluster"]
        with running_kwokctl(self.workdir, self.config, start) as kwokctl:
            self._wait("kwokctl", kwokctl.poll, lambda code: code is not None, KWOKCTL)
            if kwokctl.returncode:
                raise component_failed(self.workdir, KWOKCTL)

    def _wait(
        self, what: str, look: Callable[[], _T], holds: Callable[[_T], bool], component: str, needed: Sequence[str] = ()
    ) -> None:
        """Wait for a state that a component brings about.

        It ends when one that it needs does; in time, it quotes the component's log.
        """

        def seen() -> _T:
            for one in needed:
                if has_ended(self.workdir, one):
                    raise component_failed(self.workdir, one)
            return look()

        try:
            wait_until(what, seen, holds, timeout_s=self.timeout_s, poll_s=_POLL_S)
        except WaitTimeoutError as error:
            raise start_timeout(self.workdir, error, component) from error


def start_timeout(
    workdir: Path, timeout: WaitTimeoutError[_T], component: str, tail: Sequence[str] | None = None
) -> StowageError:
    """Return the error that what was waited for, of a component, did not come in time.

    Its log is quoted: that in the cluster's folder unless the last lines are given.
    """
    lines = log_tail(log_file(workdir, component)) if tail is None else tail
    return StowageError(
        f"cluster {workdir.name!r} was not ready within {timeout.timeout_s:g} s: "
        f"{timeout}. The last lines of {component}:\n  {quoted_log(lines)}\n"
        "on a slow or busy machine run it again"
    )


def _is_ok(said: str) -> bool:
    return said == "ok"


def is_empty(things: Collection[str]) -> bool:
    """Return whether nothing is missing any more."""
    return not things


def write_kubectl(workdir: Path) -> None:
    """Write the kubectl that kwokctl asks whether the API server answers: it says yes.

    We look ourselves, and a real one would have to be built first.
    """
    file = workdir / "bin" / "kubectl"
    file.parent.mkdir(exist_ok=True)
    file.write_text("#!/bin/sh\nexit 0\n", encoding="utf-8")
    file.chmod(0o755)


@contextmanager
def running_kwokctl(workdir: Path, config: Path, arguments: Sequence[str]) -> Iterator[subprocess.Popen[bytes]]:
    """Run kwokctl for the cluster in ``workdir``; what is left after the block ends.

    Its output goes to its log.
    """
    command = [str(tool_path(KWOKCTL)), "--config", str(config), "--name", workdir.name]
    with log_file(workdir, KWOKCTL).open("ab") as log:
        process = subprocess.Popen(
            [*command, *arguments],
            env=_environment(workdir),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            # An interrupt from the keyboard is ours to handle, not its.
            start_new_session=True,
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _environment(workdir: Path) -> dict[str, str]:
    """Return an environment in which nothing of the user's is read or written.

    kwokctl would add to ``~/.kube/config``, and the kubectl that it calls would cache below ``~/.kube``: their home is
    the cluster's folder. Variables that would override the configuration file are left out.
    """
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("KWOK_", "KUBE"))}
    kept |= {"HOME": str(workdir), "KWOK_WORKDIR": str(workdir.parents[1])}
    return marked_environment(workdir, kept)


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
        """Start again what has ended of the control plane; raises as `up` does, and leaves the cluster as it is."""
        owner = read_owner(self.workdir)
        if owner is None:
            raise cluster_missing(self.name)
        self._startup(owner.ports).start_again()
        watch_again(self.workdir)
