"""From nothing to a control plane that answers, with the failing part named."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from testbed.cluster.api_probe import ApiProbe
from testbed.cluster.components import (
    API_SERVER,
    CONTROL_PLANE,
    CONTROLLER_MANAGER,
    ETCD,
    KWOK,
    component_process,
    has_ended,
    log_file,
    log_tail,
    pid_file,
)
from testbed.cluster.errors import ComponentFailedError, StartTimeoutError
from testbed.cluster.kwokctl import KWOKCTL, start_kwokctl
from testbed.cluster.ports import LOOPBACK, Ports
from testbed.cluster.processes import kill_one
from testbed.wait import WaitTimeoutError, wait_until

READY_TIMEOUT_S = 120.0
"""Twenty times what a start takes on two idle cores."""

_POLL_S = 0.02
_NAMESPACES = frozenset({"default", "kube-system", "kube-public", "kube-node-lease"})
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Startup:
    """One cluster on its way up.

    Attributes
    ----------
    workdir
        The cluster's folder; its name is the cluster's.
    config
        What kwokctl is given.
    ports
        What the components listen on.
    timeout_s
        Deadline of each of the waits.
    """

    workdir: Path
    config: Path
    ports: Ports
    timeout_s: float = READY_TIMEOUT_S

    def run(self) -> None:
        """Start the control plane and wait until it is ready.

        Raises
        ------
        ComponentFailedError
            A component ended; carries its last log lines.
        StartTimeoutError
            All run, but the cluster is not ready.
        """
        create = ["create", "cluster", "--kubeconfig="]
        kwokctl = start_kwokctl(self.workdir, self.config, create)
        try:
            self._wait_for_api(kwokctl)
            self._finish(kwokctl)
            self._restart_early_birds()
            self._wait_for_accounts()
        finally:
            kwokctl.kill()
            kwokctl.wait()

    def _wait_for_api(self, kwokctl: subprocess.Popen[bytes]) -> None:
        probe = ApiProbe(self.workdir, self.ports.kube_apiserver)

        def look() -> str:
            if kwokctl.poll():
                raise self._failure(KWOKCTL)
            self._check(ETCD, API_SERVER)
            return probe.ready()

        self._wait("the API server", look, lambda state: state == "ok")

    def _restart_early_birds(self) -> None:
        """Start again what gave up, or sleeps, because the API server came late.

        The controller manager waits ten seconds for it, and KWOK looks once, then
        after 1, 3, 7 and 15 seconds.
        """
        late = [c for c in (CONTROLLER_MANAGER, KWOK) if has_ended(self.workdir, c)]
        kwok = component_process(self.workdir, KWOK)
        if kwok is not None and not _listens(self.ports.kwok_controller):
            kill_one(kwok)
            late.append(KWOK)
        if not late:
            return
        for component in late:
            pid_file(self.workdir, component).unlink(missing_ok=True)
        self._finish(start_kwokctl(self.workdir, self.config, ["start", "cluster"]))

    def _wait_for_accounts(self) -> None:
        probe = ApiProbe(self.workdir, self.ports.kube_apiserver)

        def look() -> frozenset[str]:
            self._check(*CONTROL_PLANE)
            return _NAMESPACES - probe.service_accounts()

        self._wait("default service accounts", look, lambda missing: not missing)
        self._wait("KWOK", self._kwok_listens, bool)

    def _kwok_listens(self) -> bool:
        self._check(*CONTROL_PLANE)
        return _listens(self.ports.kwok_controller)

    def _wait(
        self, what: str, look: Callable[[], _T], holds: Callable[[_T], bool]
    ) -> None:
        try:
            wait_until(what, look, holds, timeout_s=self.timeout_s, poll_s=_POLL_S)
        except WaitTimeoutError as error:
            tail = log_tail(log_file(self.workdir, API_SERVER))
            raise StartTimeoutError(
                self.workdir.name, self.timeout_s, str(error), tail
            ) from error

    def _finish(self, kwokctl: subprocess.Popen[bytes]) -> None:
        if kwokctl.wait(self.timeout_s):
            raise self._failure(KWOKCTL)

    def _check(self, *components: str) -> None:
        for component in components:
            if has_ended(self.workdir, component):
                raise self._failure(component)

    def _failure(self, component: str) -> ComponentFailedError:
        log = log_file(self.workdir, component)
        return ComponentFailedError(self.workdir.name, component, log, log_tail(log))


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((LOOPBACK, port)) == 0
