"""From nothing to a control plane in containers, with the failing part named."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from stowage_testbed.child import log_tail
from stowage_testbed.cluster.api_probe import ApiProbe
from stowage_testbed.cluster.components import log_file
from stowage_testbed.cluster.docker.containers import Container
from stowage_testbed.cluster.errors import ComponentFailedError, StartTimeoutError
from stowage_testbed.cluster.ports import Ports, listens
from stowage_testbed.wait import WaitTimeoutError, wait_until

_POLL_S = 0.1
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class ContainerStartup:
    """The waits of one cluster whose control plane is made of containers.

    Attributes
    ----------
    workdir
        The cluster's folder; its name is the cluster's.
    containers
        In the order of their dependence: the first that ended is the cause.
    timeout_s
        Deadline of each of the waits.
    """

    workdir: Path
    containers: Sequence[Container]
    ports: Ports
    timeout_s: float

    def await_api(self, probe: Callable[[], ApiProbe]) -> ApiProbe:
        """Wait until the API server is ready, and return how it is asked.

        Parameters
        ----------
        probe
            Makes it; raises an ``OSError`` while the certificates are not there.

        Raises
        ------
        ComponentFailedError
            A container ended; carries its last log lines.
        StartTimeoutError
            All run, but the API server is not ready.
        """
        made: list[ApiProbe] = []

        def state() -> str:
            self._check()
            try:
                made[:] = made or [probe()]
            except OSError as error:
                return f"no certificates yet ({error.strerror})"
            return made[0].ready()

        self.wait("the API server", state, lambda said: said == "ok")
        return made[0]

    def settle(self, probe: ApiProbe) -> None:
        """Wait until controllers and KWOK are at work.

        Raises
        ------
        ComponentFailedError, StartTimeoutError
            As above.
        """
        self.wait("service accounts", probe.namespaces_without_account, _is_empty)
        port = self.ports.kwok_controller
        self.wait("KWOK", lambda: listens(port), bool)

    def wait(
        self, what: str, look: Callable[[], _T], holds: Callable[[_T], bool]
    ) -> None:
        """Wait for a condition."""
        try:
            wait_until(what, look, holds, timeout_s=self.timeout_s, poll_s=_POLL_S)
        except WaitTimeoutError as error:
            self._check()
            tail = [line for one in self.containers for line in one.tail()[-3:]]
            raise StartTimeoutError(
                self.workdir.name, self.timeout_s, str(error), tail
            ) from error

    def _check(self) -> None:
        for container in self.containers:
            if container.has_ended():
                raise self.failure(container)

    def failure(self, container: Container) -> ComponentFailedError:
        """Return the error that a container ended, with its log kept as a file."""
        log = container.save_log(self.workdir)
        return ComponentFailedError(
            self.workdir.name, container.component, log, log_tail(log)
        )

    def program_failure(self, program: str) -> ComponentFailedError:
        """Return the error that a program failed that should have made containers."""
        log = log_file(self.workdir, program)
        return ComponentFailedError(self.workdir.name, program, log, log_tail(log))


def _is_empty(things: Collection[str]) -> bool:
    return not things
