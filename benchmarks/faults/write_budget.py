"""The fault of a spent write budget: the API server's own limits refuse every write.

A priority level without seats of its own serves one request at a time, and another
account has one there that does not end: its body never comes. Whatever else belongs to
the level is refused with 429 for as long.
"""

from __future__ import annotations

import http.client
import json
import ssl
from http import HTTPStatus
from urllib.parse import urlsplit

from kubernetes import client

from benchmarks.faults.context import FaultContext
from stowage_testbed.api.client import Manifest
from stowage_testbed.api.objects import make_manifest
from stowage_testbed.base.wait import HANG_S, wait_until

FLOW_CONTROL = "flowcontrol.apiserver.k8s.io/v1"

NAME = "stowage-fault"
NEIGHBOUR = "stowage-fault-neighbour"
_NEIGHBOUR: Manifest = {"kind": "User", "user": {"name": NEIGHBOUR}}
SCHEMA_HEADER = "X-Kubernetes-PF-FlowSchema-UID"
WRITES = ("create", "update", "patch", "delete", "deletecollection")
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
"""Every authenticated user may write there."""

BODY_BYTES = 1 << 20
"""Announced, and never sent. A server that refuses a request waits for the end of a
shorter body before it says so."""
ANSWERED_WITHIN_S = 0.02
"""A request that is refused is so within a millisecond; one that waits for its body is
not answered at all."""
LOOKS = 3
"""So often in a row writes must have been refused."""


def spend(context: FaultContext) -> None:
    """Make a priority level of which the only seat is taken; nothing uses it yet."""
    context.create(_priority_level())
    schema = context.create(_flow_schema())
    neighbour = Neighbour(context.run.api.configuration)
    context.on_end(neighbour.let_go)
    wait_until(
        "the API server to take the neighbour's writes by the new flow schema",
        lambda: neighbour.write()[1],
        lambda uid: uid == schema["metadata"]["uid"],
        timeout_s=HANG_S,
        clock=context.clock,
    )
    wait_until(
        "the API server to refuse writes",
        neighbour.refusals,
        lambda looks: looks >= LOOKS,
        timeout_s=HANG_S,
        clock=context.clock,
    )


def refuse_writes(context: FaultContext) -> None:
    """Have every write of the scheduler refused with 429 until the fault ends."""
    release = context.release
    account = {"name": release.name, "namespace": release.namespace}
    scheduler = {"kind": "ServiceAccount", "serviceAccount": account}
    rules = [_rule(scheduler, _NEIGHBOUR)]
    context.objects.patch("FlowSchema", NAME, {"spec": {"rules": rules}})


class Neighbour:
    """An account that shares the priority level, and never finishes what it asks.

    Requests are made as that account, with an administrator's ``configuration``.
    """

    def __init__(self, configuration: client.Configuration) -> None:
        self._address = urlsplit(configuration.host)
        self._trusted = ssl.create_default_context(cafile=configuration.ssl_ca_cert)
        certificate = configuration.cert_file
        assert certificate is not None  # noqa: S101 - an administrator has one
        self._trusted.load_cert_chain(certificate, configuration.key_file)
        self._held: http.client.HTTPSConnection | None = None
        self._refusals = 0

    def write(self) -> tuple[int, str]:
        """Return the status of a write, and the UID of the flow schema it came by."""
        connection = self._connection()
        try:
            review = {"spec": {"nonResourceAttributes": {"verb": "get", "path": "/"}}}
            connection.request("POST", REVIEWS, json.dumps(review), self._headers)
            response = connection.getresponse()
            response.read()
            return response.status, response.getheader(SCHEMA_HEADER) or ""
        finally:
            connection.close()

    def refusals(self) -> int:
        """Return how many writes were refused in a row while the endless one lasts."""
        if not self._holds():
            self._hold()
        status, _ = self.write()
        if status == HTTPStatus.TOO_MANY_REQUESTS and self._holds():
            self._refusals += 1
        else:
            self._refusals = 0
            self.let_go()
        return self._refusals

    def let_go(self) -> None:
        """End the endless request; harmless if there is none."""
        if self._held is not None:
            self._held.close()
            self._held = None

    def _hold(self) -> None:
        """Begin a write without an end."""
        self.let_go()
        self._held = self._connection()
        self._held.putrequest("POST", REVIEWS)
        for name, value in {**self._headers, "Content-Length": f"{BODY_BYTES}"}.items():
            self._held.putheader(name, value)
        self._held.endheaders(b"{")

    def _holds(self) -> bool:
        """Return whether the endless write goes on: it has not been answered."""
        if self._held is None or self._held.sock is None:
            return False
        self._held.sock.settimeout(ANSWERED_WITHIN_S)
        try:
            self._held.sock.recv(1)
        except TimeoutError:
            return True
        return False

    @property
    def _headers(self) -> dict[str, str]:
        return {"Content-Type": "application/json", "Impersonate-User": NEIGHBOUR}

    def _connection(self) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection(
            self._address.hostname or "",
            self._address.port,
            timeout=HANG_S,
            context=self._trusted,
        )


def _priority_level() -> Manifest:
    limited = {
        "nominalConcurrencyShares": 0,
        "lendablePercent": 0,
        "borrowingLimitPercent": 0,
        "limitResponse": {"type": "Reject"},
    }
    spec = {"type": "Limited", "limited": limited}
    return make_manifest(FLOW_CONTROL, "PriorityLevelConfiguration", NAME, spec=spec)


def _rule(*subjects: Manifest) -> Manifest:
    everything = {
        "verbs": list(WRITES),
        "apiGroups": ["*"],
        "resources": ["*"],
        "namespaces": ["*"],
        "clusterScope": True,
    }
    return {"subjects": list(subjects), "resourceRules": [everything]}


def _flow_schema() -> Manifest:
    spec = {
        # Before every other but the one that nothing limits.
        "matchingPrecedence": 2,
        "priorityLevelConfiguration": {"name": NAME},
        "rules": [_rule(_NEIGHBOUR)],
    }
    return make_manifest(FLOW_CONTROL, "FlowSchema", NAME, spec=spec)
