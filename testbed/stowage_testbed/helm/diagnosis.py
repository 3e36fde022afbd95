"""What can be said about a release that does not become ready."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from stowage_testbed.helm.release import Release, last_lines

LOG_LINES = 15
RESTARTS = 3
"""Ends by themselves after which a container counts as broken."""

_ERROR = re.compile(r'^[EF]\d{4} .*\berr="(?P<said>(?:[^"\\]|\\.)*)"')
_QUOTED = re.compile(r'"([^"]+)"')


@dataclass(slots=True)
class CrashLoop:
    """Looks for a container that ends again and again: ``container`` is the first that has, and empty before."""

    release: Release
    container: str = field(default="", init=False)
    _before: dict[tuple[str, str], int] = field(default_factory=dict, init=False)

    def found(self) -> bool:
        """Look at the newest pod, for what has ended since the first look at it.

        While the new pod is yet to come, the newest is one that other people may have
        restarted often, and that goes.
        """
        for pod in self.release.pods()[:1]:
            for status in pod.status.container_statuses or ():
                key = (pod.metadata.uid, status.name)
                ended = status.restart_count - self._before.setdefault(key, status.restart_count)
                if not status.ready and ended >= RESTARTS:
                    self.container = status.name
        return bool(self.container)


def diagnose(release: Release) -> str:
    """Return pods, their containers' states and the last lines of their logs."""
    lines: list[str] = []
    for pod in release.pods():
        status = pod.status
        lines.append(f"  {pod.metadata.name}: {status.phase} on node {pod.spec.node_name}")
        lines += [
            f"  not ready: {one.message}" for one in status.conditions or () if one.type == "Ready" and one.message
        ]
        for container in status.container_statuses or ():
            shown = container.state.waiting or container.state.terminated
            why = f"{shown.reason}: {shown.message or ''}" if shown else "running"
            ended = container.last_state.terminated if container.last_state else None
            former = f", last ended with {ended.exit_code}" if ended else ""
            lines.append(
                f"  container {container.name}: {why.rstrip(': ')}, ready: "
                f"{container.ready}, restarts: {container.restart_count}{former}"
            )
    if not lines:
        lines.append(f"  none in namespace {release.namespace}; see the events there")
    for name, log in sorted(release.logs().items()):
        lines.append(f"  last lines of {name} ({log}):")
        lines += [f"    {line}" for line in last_lines(log, LOG_LINES)]
    return "\n".join(lines)


def said_last(log: list[str]) -> str:
    """Return the last error in a log of klog's; empty if there is none."""
    for line in reversed(log):
        if match := _ERROR.match(line):
            return re.sub(r"\\(.)", r"\1", match["said"])
    return ""


def profile_issue(profile: Path, said: str) -> str:
    """Return ``file:line: error`` if the error names something of the profile.

    The scheduler quotes fields as paths, as in ``profiles[0].plugins``, and plugins by name.
    """
    lines = profile.read_text("utf-8").splitlines()
    for quoted in _QUOTED.findall(said):
        name = re.escape(quoted.rpartition(".")[2])
        for number, line in enumerate(lines, start=1):
            if re.search(rf"\b{name}\b", line.partition("#")[0]):
                return f"{profile}:{number}: {said}; fix the profile"
    return ""
