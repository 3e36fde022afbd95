"""The node that the pods run on: there, Ready, and with a fresh lease."""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass
from http import HTTPStatus

from stowage_testbed.api.client import MERGE_PATCH, ApiRefusedError, ApiUnreachableError
from stowage_testbed.hostpods.api import STRATEGIC_PATCH, ApiServer, Manifest
from stowage_testbed.hostpods.waiting import LoopClock, timestamp

HOST_LABEL = "stowage.dev/host"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
RENEW_S = 10.0
LEASE_S = 40
RETRY_S = 0.2
"""Pause after a failed renewal, so that a server that comes back sees the node soon."""

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class NodeHeartbeat:
    """Creates the node and keeps it Ready, also after it was deleted."""

    api: ApiServer
    name: str
    clock: LoopClock
    _since: str = ""

    async def run(self) -> None:
        """Renew for ever."""
        while True:
            pause_s = RENEW_S
            try:
                await self.renew()
            except (ApiRefusedError, ApiUnreachableError) as error:
                _log.warning("node %s cannot be renewed: %s", self.name, error)
                pause_s = RETRY_S
            await self.clock.pause(pause_s)

    async def renew(self) -> None:
        """Create what is missing, then report Ready and renew the lease."""
        await self._ensure("/api/v1/nodes", node_object(self.name))
        await self.api.call(
            "PATCH", f"/api/v1/nodes/{self.name}/status", {"status": self._status()}, content=STRATEGIC_PATCH
        )
        spec = {
            "holderIdentity": self.name,
            "leaseDurationSeconds": LEASE_S,
            "renewTime": timestamp(self.clock.wall(), "microseconds"),
        }
        lease = await self.api.call(
            "PATCH", f"{LEASES}/{self.name}", {"spec": spec}, content=MERGE_PATCH, allowed={HTTPStatus.NOT_FOUND}
        )
        if not lease:
            await self._ensure(LEASES, {"metadata": {"name": self.name}, "spec": spec})

    async def _ensure(self, path: str, body: Manifest) -> None:
        await self.api.call("POST", path, body, allowed={HTTPStatus.CONFLICT})

    def _status(self) -> Manifest:
        """Return this machine's CPUs and memory as the node's capacity, and that it is Ready."""
        now = timestamp(self.clock.wall())
        self._since = self._since or now
        memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        cpus = str(os.cpu_count() or 1)
        capacity = {"cpu": cpus, "memory": str(memory_bytes), "ephemeral-storage": "10Gi", "pods": "110"}
        return {
            "capacity": capacity,
            "allocatable": capacity,
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "nodeInfo": {"kubeletVersion": "v0.0.0-hostpods", "containerRuntimeVersion": "hostpods://1"},
            "conditions": [
                {
                    "type": "Ready",
                    "status": "True",
                    "reason": "HostPodsReady",
                    "message": "host pods run as local processes",
                    "lastHeartbeatTime": now,
                    "lastTransitionTime": self._since,
                }
            ],
        }


def node_object(name: str) -> Manifest:
    """Return the node: marked as host, and closed to pods that do not ask for it."""
    return {
        "metadata": {
            "name": name,
            "labels": {HOST_LABEL: "true", "kubernetes.io/hostname": name, "kubernetes.io/os": "linux"},
        },
        "spec": {"taints": [{"key": HOST_LABEL, "value": "true", "effect": "NoSchedule"}]},
    }
