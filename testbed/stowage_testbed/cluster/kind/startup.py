"""Until the control plane on kind's node is at work, with the failing part named."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from stowage_testbed.base.wait import WaitTimeoutError, wait_until
from stowage_testbed.cluster.api_probe import ApiProbe
from stowage_testbed.cluster.components import KWOK, component_failed, has_ended, log_file
from stowage_testbed.cluster.ports import Ports, listens
from stowage_testbed.cluster.startup import is_empty, start_timeout
from stowage_testbed.images.docker_engine import DockerCommandError, docker

KIND = "kind"
"""The tool, and the name of its log."""

_POLL_S = 0.1
_TAIL_LINES = 3
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class NodeStartup:
    """The waits of one cluster whose control plane is on ``node``, a container.

    Each may take ``timeout_s``.
    """

    workdir: Path
    node: str
    ports: Ports
    timeout_s: float

    def settle(self, probe: ApiProbe) -> None:
        """Wait until API server, controllers and KWOK are at work."""
        self._wait("the API server", probe.ready, lambda said: said == "ok")
        self._wait("service accounts", probe.namespaces_without_account, is_empty)
        try:
            wait_until("KWOK", self._kwok_listens, bool, timeout_s=self.timeout_s, poll_s=_POLL_S)
        except WaitTimeoutError as error:
            raise start_timeout(self.workdir, error, KWOK) from error

    def _kwok_listens(self) -> bool:
        self._check_node()
        if has_ended(self.workdir, KWOK):
            raise component_failed(self.workdir, KWOK)
        return listens(self.ports.kwok_controller)

    def _wait(self, what: str, look: Callable[[], _T], holds: Callable[[_T], bool]) -> None:
        def seen() -> _T:
            self._check_node()
            return look()

        try:
            wait_until(what, seen, holds, timeout_s=self.timeout_s, poll_s=_POLL_S)
        except WaitTimeoutError as error:
            tail = self._log("--tail", str(_TAIL_LINES)).splitlines()
            raise start_timeout(self.workdir, error, self.node, tail) from error

    def _check_node(self) -> None:
        state = json.loads(docker("inspect", "--format", "{{json .State}}", self.node))
        # Docker may be about to start it again.
        if state["Restarting"] or state["Status"] in {"exited", "dead"}:
            log_file(self.workdir, KIND).write_text(self._log(), encoding="utf-8")
            raise component_failed(self.workdir, KIND)

    def _log(self, *options: str) -> str:
        try:
            return docker("logs", *options, self.node, merge=True)
        except DockerCommandError as error:
            return error.said
