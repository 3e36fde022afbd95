"""Callers of the HTTP trigger, and what it answers them."""

from __future__ import annotations

import http.client
import json
import ssl
from dataclasses import dataclass
from typing import Any

from kubernetes.client import ApiClient, CoreV1Api

LOOPBACK = "127.0.0.1"
TIMEOUT_S = 20
TOKEN_S = 600


@dataclass(frozen=True, slots=True)
class Answer:
    """What the trigger said."""

    code: int
    content: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Trigger:
    """The trigger of a release on the loopback interface."""

    port: int

    def ask(self, token: str | None, body: str = "", *, method: str = "POST") -> Answer:
        """Send one request; a body is sent as JSON."""
        headers = {"Content-Type": "application/json"}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        connection = http.client.HTTPSConnection(
            LOOPBACK, self.port, timeout=TIMEOUT_S, context=_any_certificate()
        )
        try:
            connection.request(method, "/packingplans", body, headers)
            response = connection.getresponse()
            return Answer(response.status, json.loads(response.read()))
        finally:
            connection.close()


def trigger_of(pod: Any) -> Trigger:
    """Return the trigger that a release's pod serves."""
    (port,) = [
        port.container_port
        for container in pod.spec.containers
        for port in container.ports or ()
        if port.name == "https"
    ]
    return Trigger(port)


def token_of(client: ApiClient, account: str) -> str:
    """Return a token of a new ServiceAccount of namespace default."""
    core: Any = CoreV1Api(client)
    core.create_namespaced_service_account("default", {"metadata": {"name": account}})
    request = {"spec": {"expirationSeconds": TOKEN_S}}
    answer = core.create_namespaced_service_account_token(account, "default", request)
    return str(answer.status.token)


def _any_certificate() -> ssl.SSLContext:
    """Return a context for the certificate that the scheduler made for itself."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
