"""What a cluster's containers say and how they are."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from stowage_testbed.child import TAIL_LINES
from stowage_testbed.cluster.components import log_file
from stowage_testbed.docker.engine import container_log, docker
from stowage_testbed.docker.errors import DockerCommandError


@dataclass(frozen=True, slots=True)
class Container:
    """One component's container.

    Attributes
    ----------
    name
        As Docker knows it.
    component
        Names its log in the cluster's folder.
    """

    name: str
    component: str

    def has_ended(self) -> bool:
        """Return whether it ended, be it that Docker is about to start it again."""
        try:
            (state,) = json.loads(docker("inspect", "--format", _STATE, self.name))
        except DockerCommandError:
            return False  # not made yet
        return bool(state["Restarting"] or state["Status"] in {"exited", "dead"})

    def tail(self) -> Sequence[str]:
        """Return the last lines of its log."""
        try:
            return container_log(self.name, "--tail", str(TAIL_LINES)).splitlines()
        except DockerCommandError as error:
            return [error.said]

    def save_log(self, workdir: Path) -> Path:
        """Write its log, as far as Docker has it, and return the file."""
        file = log_file(workdir, self.component)
        try:
            file.write_text(container_log(self.name), encoding="utf-8")
        except DockerCommandError as error:
            file.write_text(error.said, encoding="utf-8")
        return file


_STATE = "[{{json .State}}]"
