"""What can be said about a release that does not become ready."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from testbed.helm.release import Release

LOG_LINES = 15
TAIL_BYTES = 16_384


def diagnose(release: Release) -> str:
    """Return pods, their containers' states and the last lines of their logs."""
    lines: list[str] = []
    pods = release.pods()
    for pod in pods:
        lines += _pod_lines(pod)
    for container, file in sorted(release.log_files().items()):
        lines.append(f"  last lines of {container} ({file}):")
        lines += [f"    {line}" for line in last_lines(file)]
    if not pods:
        lines.append(f"  none in namespace {release.namespace}; see the events there")
    return "\n".join(lines)


def last_lines(file: Path, count: int = LOG_LINES) -> list[str]:
    """Return the last lines of a log, without the flags that klog lists."""
    with file.open("rb") as log:
        log.seek(max(0, file.stat().st_size - TAIL_BYTES))
        lines = log.read().decode(errors="replace").splitlines()
    return [line for line in lines if "] FLAG: " not in line][-count:]


def _pod_lines(pod: Any) -> Iterator[str]:
    status = pod.status
    yield f"  {pod.metadata.name}: {status.phase} on node {pod.spec.node_name}"
    for condition in status.conditions or ():
        if condition.type == "Ready" and condition.message:
            yield f"  not ready: {condition.message}"
    statuses = [
        *(status.init_container_statuses or ()),
        *(status.container_statuses or ()),
    ]
    for container in statuses:
        state = container.state
        shown = state.waiting or state.terminated
        why = f"{shown.reason}: {shown.message or ''}" if shown else "running"
        ended = container.last_state.terminated if container.last_state else None
        former = f", last ended with {ended.exit_code}" if ended else ""
        yield (
            f"  container {container.name}: {why.rstrip(': ')}, ready: "
            f"{container.ready}, restarts: {container.restart_count}{former}"
        )
