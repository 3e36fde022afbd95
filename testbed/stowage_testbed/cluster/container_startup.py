"""From nothing to a control plane in containers, with the failing part named."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from stowage_testbed.base.wait import WaitTimeoutError, wait_until
from stowage_testbed.cluster.api_probe import ApiProbe
from stowage_testbed.cluster.components import component_failed, log_file
from stowage_testbed.cluster.ports import Ports, listens
from stowage_testbed.cluster.startup import is_empty, start_timeout
from stowage_testbed.docker.engine import DockerCommandError, container_log, docker

_POLL_S = 0.1
_TAIL_LINES = 3
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Container:
    """One component's container, by its name in Docker."""

    name: str
    component: str

    def has_ended(self) -> bool:
        """Return whether it ended, be it that Docker is about to start it again."""
        try:
            state = json.loads(
                docker("inspect", "--format", "{{json .State}}", self.name)
            )
        except DockerCommandError:
            return False  # not made yet
        return bool(state["Restarting"] or state["Status"] in {"exited", "dead"})

    def log(self, *options: str) -> str:
        """Return its log, as far as Docker has it."""
        try:
            return container_log(self.name, *options)
        except DockerCommandError as error:
            return error.said


@dataclass(frozen=True, slots=True)
class ContainerStartup:
    """The waits of one cluster whose control plane is made of containers.

    They are in the order of their dependence: the first that ended is the cause. Each
    wait may take ``timeout_s``.
    """

    workdir: Path
    containers: Sequence[Container]
    ports: Ports
    timeout_s: float

    def await_api(self, probe: Callable[[], ApiProbe]) -> ApiProbe:
        """Wait until the API server is ready, and return how it is asked.

        ``probe`` raises an ``OSError`` while the certificates are not there.

        Raises
        ------
        StowageError
            A container ended, with its last log lines; or all run, but the API server
            is not ready.
        """
        made: list[ApiProbe] = []

        def state() -> str:
            self._check()
            try:
                made[:] = made or [probe()]
            except OSError as error:
                return f"no certificates yet ({error.strerror})"
            return made[0].ready()

        self._wait("the API server", state, lambda said: said == "ok")
        return made[0]

    def settle(self, probe: ApiProbe) -> None:
        """Wait until controllers and KWOK are at work. Raises as `await_api` does."""
        self._wait("service accounts", probe.namespaces_without_account, is_empty)
        port = self.ports.kwok_controller
        self._wait("KWOK", lambda: listens(port), bool)

    def _wait(
        self, what: str, look: Callable[[], _T], holds: Callable[[_T], bool]
    ) -> None:
        try:
            wait_until(what, look, holds, timeout_s=self.timeout_s, poll_s=_POLL_S)
        except WaitTimeoutError as error:
            self._check()
            tail = [
                line
                for container in self.containers
                for line in container.log("--tail", str(_TAIL_LINES)).splitlines()
            ]
            raise start_timeout(self.workdir, error, tail) from error

    def _check(self) -> None:
        for container in self.containers:
            if container.has_ended():
                # Its log is kept as a file.
                log = log_file(self.workdir, container.component)
                log.write_text(container.log(), encoding="utf-8")
                raise component_failed(self.workdir, container.component)
