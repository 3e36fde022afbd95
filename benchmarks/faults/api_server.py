"""Faults of the API server: killed, slow."""

import http.client
import json
import ssl
import sys
from collections.abc import Mapping
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from kubernetes import client

from benchmarks.faults import slow_api
from benchmarks.faults.context import FaultContext
from benchmarks.faults.processes import kill_scheduler, no_process
from stowage_testbed.api.client import ApiRefusedError, Manifest
from stowage_testbed.api.objects import make_manifest
from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.wait import HANG_S, wait_until
from stowage_testbed.cluster import KwokBinaryCluster
from stowage_testbed.cluster.base import Cluster
from stowage_testbed.cluster.components import (
    API_SERVER,
    CONTROLLER_MANAGER,
    ETCD,
    KWOK,
    component_process,
    kill_one,
    spawn_component,
)
from stowage_testbed.cluster.ports import listens, port_beside
from stowage_testbed.cluster.probes import NO_SPACE, ask_etcd
from stowage_testbed.cluster.supervision import expect_ends, watch_again
from stowage_testbed.helm.release import api_server_url


def restart(context: FaultContext) -> None:
    """Kill the API server; all reads and writes fail until the fault ends."""
    cluster = _local(context)
    context.on_end(cluster.start_again)
    # Its clients may give up meanwhile.
    expect_ends(cluster, API_SERVER, CONTROLLER_MANAGER, KWOK)
    if not _kill(cluster, API_SERVER):
        raise no_process(API_SERVER)


def forget(context: FaultContext) -> None:
    """Start every client of the API server anew.

    They wait for up to a minute after a few failures, and forget them only after two
    healthy minutes, which nobody has whose API server is killed every minute.
    """
    cluster = _local(context)
    expect_ends(cluster, CONTROLLER_MANAGER, KWOK)
    for component in (CONTROLLER_MANAGER, KWOK):
        _kill(cluster, component)
    cluster.start_again()
    kill_scheduler(context)
    context.end_fault()


def _kill(cluster: KwokBinaryCluster, component: str) -> bool:
    """Kill a component that runs, and wait for its end: what has not ended is not started again."""
    process = component_process(cluster.workdir, component)
    if process is not None:
        kill_one(process)
        process.wait()
    return process is not None


def _local(context: FaultContext) -> KwokBinaryCluster:
    cluster = context.run.cluster
    assert isinstance(cluster, KwokBinaryCluster)  # noqa: S101 - others have no processes
    return cluster


COMPONENT = "slow-api"
DELAY_S = "1"


def control_file(cluster: Cluster) -> Path:
    """Return the file that says for how long each call waits."""
    return cluster.workdir / COMPONENT


def slow_values(cluster: Cluster) -> dict[str, Any]:
    """Return the values of a release whose scheduler calls the API server by the proxy.

    The proxy is started if it does not run; it ends with the cluster.
    """
    return {"apiServer": {"url": f"https://127.0.0.1:{_proxy_port(cluster)}"}}


def slow_down(context: FaultContext) -> None:
    """Let every call of the scheduler wait for a second until the fault ends."""
    context.write_until_end(control_file(context.run.cluster), DELAY_S, "0")


def _proxy_port(cluster: Cluster) -> int:
    port_file = cluster.workdir / f"{COMPONENT}.port"
    if component_process(cluster.workdir, COMPONENT) is None:
        port = port_beside(COMPONENT + cluster.name)
        port_file.write_text(str(port), encoding="utf-8")
        flags = {
            "port": port,
            "upstream": api_server_url(cluster.kubeconfig),
            "pki": cluster.workdir / "pki",
            "control": control_file(cluster),
        }
        spawn_component(cluster.workdir, COMPONENT, [sys.executable, "-P", slow_api.__file__], flags)
        wait_until("the proxy of the API server to listen", lambda: listens(port), bool)
    return int(port_file.read_text("utf-8"))


_WORK_TIMEOUT_S = 30.0
"""Of a defragmentation, which copies the whole database."""

REMINDER = "stowage.dev/fault"
"""Annotation that says nothing; its coming is a change."""


def fill_etcd(context: FaultContext) -> None:
    """Have etcd refuse every write, whoever's, until the fault ends.

    It is compacted, defragmented and disarmed then, as by whoever looks after it.
    """
    cluster = context.run.cluster
    # A full etcd ends every other run.
    expect_ends(cluster, ETCD)
    context.on_end(partial(remind_kwok, context))
    context.on_end(partial(watch_again, cluster.workdir))
    context.on_end(partial(make_room, cluster.workdir))
    # The alarm that an etcd raises by itself when its database has grown too large.
    _alarm(cluster.workdir, "ACTIVATE")


def remind_kwok(context: FaultContext) -> None:
    """Change every pod of the scenario, so that KWOK looks at it again.

    It drops for good what the API server answers with 500, as to start a pod or to
    remove one, where a kubelet would try again.
    """
    namespace, change = context.namespace, {"metadata": {"annotations": {REMINDER: ""}}}
    for body in context.objects.list_all("Pod", namespace):
        name = body["metadata"]["name"]
        try:
            context.objects.patch("Pod", name, change, namespace=namespace)
        except ApiRefusedError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise


def make_room(workdir: Path) -> None:
    """End the alarm as etcd's manual says: compact, defragment, disarm."""
    # Any key will do: every answer tells the revision.
    now = _call(workdir, "kv/range", {"key": "AA=="})["header"]["revision"]
    _call(workdir, "kv/compaction", {"revision": now, "physical": True})
    _call(workdir, "maintenance/defragment", {})
    _alarm(workdir, "DEACTIVATE")


def _alarm(workdir: Path, action: str) -> None:
    # Member 0 is every member.
    _call(workdir, "maintenance/alarm", {"action": action, "memberID": "0", "alarm": NO_SPACE})


def _call(workdir: Path, method: str, request: Mapping[str, Any]) -> dict[str, Any]:
    """Call a method of etcd's API through its JSON gateway."""
    try:
        return ask_etcd(workdir, "POST", f"/v3/{method}", request, _WORK_TIMEOUT_S)
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise StowageError(f"etcd did not do {method} ({error}); see its log in {workdir / 'logs'}") from error


FLOW_CONTROL = "flowcontrol.apiserver.k8s.io/v1"

NAME = "stowage-fault"
NEIGHBOUR = "stowage-fault-neighbour"
_NEIGHBOUR: Manifest = {"kind": "User", "user": {"name": NEIGHBOUR}}
SCHEMA_HEADER = "X-Kubernetes-PF-FlowSchema-UID"
WRITES = ("create", "update", "patch", "delete", "deletecollection")
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
"""Every authenticated user may write there."""

BODY_BYTES = 1 << 20
"""Announced, and never sent. A server that refuses a request waits for the end of a shorter body before it says so."""
ANSWERED_WITHIN_S = 0.02
"""A request that is refused is so within a millisecond; one that waits for its body is not answered at all."""
LOOKS = 3
"""So often in a row writes must have been refused."""


def spend_budget(context: FaultContext) -> None:
    """Make a priority level of which the only seat is taken; nothing uses it yet."""
    context.create(_priority_level())
    schema = context.create(_flow_schema())
    neighbour = Neighbour(context.run.api.configuration)
    context.on_end(neighbour.let_go)
    wait_until(
        "the API server to take the neighbour's writes by the new flow schema",
        lambda: neighbour.write()[1],
        lambda uid: uid == schema["metadata"]["uid"],
        clock=context.clock,
    )
    wait_until("the API server to refuse writes", neighbour.refusals, lambda looks: looks >= LOOKS, clock=context.clock)


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
            self._address.hostname or "", self._address.port, timeout=HANG_S, context=self._trusted
        )


def _rule(*subjects: Manifest) -> Manifest:
    every = ["*"]
    rule = {"verbs": list(WRITES), "apiGroups": every, "resources": every, "namespaces": every, "clusterScope": True}
    return {"subjects": list(subjects), "resourceRules": [rule]}


def _priority_level() -> Manifest:
    shares = ("nominalConcurrencyShares", "lendablePercent", "borrowingLimitPercent")
    limited = {**dict.fromkeys(shares, 0), "limitResponse": {"type": "Reject"}}
    spec = {"type": "Limited", "limited": limited}
    return make_manifest(FLOW_CONTROL, "PriorityLevelConfiguration", NAME, spec=spec)


def _flow_schema() -> Manifest:
    # Before every other but the one that nothing limits.
    spec = {"matchingPrecedence": 2, "priorityLevelConfiguration": {"name": NAME}, "rules": [_rule(_NEIGHBOUR)]}
    return make_manifest(FLOW_CONTROL, "FlowSchema", NAME, spec=spec)
