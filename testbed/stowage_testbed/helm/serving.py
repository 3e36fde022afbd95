"""Waiting until a release serves, by a watch: Helm's own wait looks every 2 s."""

from __future__ import annotations

import json
from collections.abc import Callable
from http import HTTPStatus
from math import ceil
from time import monotonic
from typing import TYPE_CHECKING, Any

from stowage_testbed.api.client import ApiRefusedError, ApiUnreachableError, Manifest, send
from stowage_testbed.api.objects import is_observed
from stowage_testbed.base import health
from stowage_testbed.base.clock import SystemClock
from stowage_testbed.helm.release import Release

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
