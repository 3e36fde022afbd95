"""Waiting until a release serves, by a watch as Helm's own wait looks every 2 s, and sees nodes; why one does not."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from math import ceil
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from stowage_testbed.api.client import ApiRefusedError, ApiUnreachableError, Manifest, send
from stowage_testbed.api.objects import Objects, is_observed, make_manifest
from stowage_testbed.base import health
from stowage_testbed.base.wait import SystemClock, wait_until
from stowage_testbed.helm.release import Release, last_lines

if TYPE_CHECKING:
    from kubernetes.client import ApiClient

LOOK_EVERY_S = 1.0
"""So often it is asked whether there is still hope, which takes requests."""

_BUSY = (
    *(HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.INTERNAL_SERVER_ERROR),
    *(HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT),
)
"""What a server answers that has much to do, or has only just started."""
_AGAIN_S = 0.2
LOG_LINES = 15
RESTARTS = 3
"""Ends by themselves after which a container counts as broken."""

_ERROR = re.compile(r'^[EF]\d{4} .*\berr="(?P<said>(?:[^"\\]|\\.)*)"')
_QUOTED = re.compile(r'"([^"]+)"')


def await_serving(release: Release, timeout_s: float, hopeless: Callable[[], bool]) -> bool:
    """Return whether the release serves as it was asked to: not once the time is over, or waiting is ``hopeless``.

    Raises `ApiRefusedError` or `ApiUnreachableError` if it cannot be watched.
    """
    ends = monotonic() + timeout_s
    with release.cluster.api_client() as api:
        while not _watch(api, release, min(LOOK_EVERY_S, ends - monotonic())):
            health.check()
            if hopeless() or monotonic() >= ends:
                return False
    return True


def _watch(api: ApiClient, release: Release, lasting_s: float) -> bool:
    """Watch for so long at most; return whether its Deployment was seen to serve."""
    # Who has a client has imported it already; `stowage --help` has not.
    from urllib3.exceptions import HTTPError  # noqa: PLC0415

    what = f"watch release {release.name}"
    query = {
        "labelSelector": f"app.kubernetes.io/instance={release.name}",
        "watch": "true",
        "timeoutSeconds": str(max(1, ceil(lasting_s))),
    }
    path = f"/apis/apps/v1/namespaces/{release.namespace}/deployments"
    try:
        response = send(api, "GET", path, what, query=list(query.items()))
    except ApiRefusedError as error:
        if error.status not in _BUSY:
            raise
        SystemClock().pause(_AGAIN_S)
        return False
    try:
        events = map(json.loads, response)
        return any(one["type"] != "ERROR" and serves(one["object"]) for one in events)
    except (HTTPError, OSError) as error:
        raise ApiUnreachableError(what, str(error)) from error
    finally:
        response.close()


def serves(deployment: Manifest) -> bool:
    """Return whether all pods of a Deployment are new ones and available."""
    status: dict[str, Any] = deployment.get("status") or {}
    wanted = deployment["spec"]["replicas"]
    counts = (status.get(f"{name}eplicas", 0) for name in ("r", "updatedR", "availableR"))
    return is_observed(deployment) and all(count == wanted for count in counts)


def await_node_seen(release: Release, node: str, scheduler_name: str) -> None:
    """Wait until the release's scheduler has seen a node, and with it all nodes that were created before.

    A scheduler hears of nodes and of pods by two watches, and after a pause takes what has come in any order: pods that
    were created after a node may be placed before it is seen. The pod that is placed on the node here cannot be.
    Raises a WaitTimeoutError if the scheduler does not place it.
    """
    name, namespace = f"node-probe-{secrets.token_hex(3)}", release.namespace
    here = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    container = {
        "name": "probe",
        "image": "none",
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }
    spec = {
        "schedulerName": scheduler_name,
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [here]}}},
        "tolerations": [{"operator": "Exists"}],
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [container],
    }
    with release.cluster.api_client() as api:
        objects = Objects(api)
        objects.create(make_manifest("v1", "Pod", name, namespace, spec=spec))
        try:
            wait_until(
                f"the scheduler to see node {node}",
                lambda: objects.read("Pod", name, namespace=namespace),
                lambda pod: "nodeName" in pod["spec"],
            )
        finally:
            objects.delete("Pod", name, namespace=namespace, at_once=True)


@dataclass(slots=True)
class CrashLoop:
    """Looks for a container that ends again and again: ``container`` is the first that has, and empty before."""

    release: Release
    container: str = field(default="", init=False)
    _before: dict[tuple[str, str], int] = field(default_factory=dict, init=False)

    def found(self) -> bool:
        """Look at the newest pod, which may be an old one that goes, for what has ended since the first look at it."""
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
        lines.append(f"  last lines of {name} ({log.where}):")
        lines += [f"    {line}" for line in last_lines(log, LOG_LINES)]
    return "\n".join(lines)


def said_last(log: list[str]) -> str:
    """Return the last error in a log of klog's; empty if there is none."""
    for line in reversed(log):
        if match := _ERROR.match(line):
            return re.sub(r"\\(.)", r"\1", match["said"])
    return ""


def profile_issue(profile: Path, said: str) -> str:
    """Return ``file:line: error`` if the error quotes a field's path or a plugin's name of the profile."""
    lines = profile.read_text("utf-8").splitlines()
    for quoted in _QUOTED.findall(said):
        name = re.escape(quoted.rpartition(".")[2])
        for number, line in enumerate(lines, start=1):
            if re.search(rf"\b{name}\b", line.partition("#")[0]):
                return f"{profile}:{number}: {said}; fix the profile"
    return ""
