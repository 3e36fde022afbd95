"""What can be said about a release that does not become ready."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from stowage_testbed.helm.logs import last_lines
from stowage_testbed.helm.release import Release

LOG_LINES = 15


def diagnose(release: Release) -> str:
    """Return pods, their containers' states and the last lines of their logs."""
    lines: list[str] = []
    pods = release.pods()
    for pod in pods:
        lines += _pod_lines(pod)
    for container, log in sorted(release.logs().items()):
        lines.append(f"  last lines of {container} ({log}):")
        lines += [f"    {line}" for line in last_lines(log, LOG_LINES)]
    if not pods:
        lines.append(f"  none in namespace {release.namespace}; see the events there")
    return "\n".join(lines)


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
