"""Pods, an API server in memory, and time for the tests of host pods."""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from stowage_testbed.api.client import JSON
from stowage_testbed.hostpods.container import PodSandbox
from stowage_testbed.hostpods.node import LONGEST_BACKOFF_S, ApiServer, LoopClock, Manifest
from stowage_testbed.hostpods.volumes import Volumes

API_URL = "https://127.0.0.1:6443"


def a_container(*command: str, name: str = "main", **more: Any) -> dict[str, Any]:
    """Return a container that runs a command."""
    return {"name": name, "image": "none", "command": list(command), **more}


def a_pod(*containers: Manifest, **spec: Any) -> dict[str, Any]:
    """Return a pod bound to the host node."""
    return {
        "metadata": {"name": "web", "namespace": "ns", "uid": "0123456789abcdef"},
        "spec": {
            "nodeName": "stowage-host",
            "serviceAccountName": "robot",
            "tolerations": [{"key": "stowage.dev/host", "operator": "Exists"}],
            "containers": list(containers),
            **spec,
        },
    }


class MemoryApi(ApiServer):
    """Objects by the end of their path, and numbered tokens."""

    url = API_URL

    def __init__(self, clock: LoopClock) -> None:
        self.objects: dict[str, Manifest] = {}
        self.asked: list[tuple[str, Manifest]] = []
        self._clock = clock

    async def call(
        self,
        method: str,
        path: str,
        body: Manifest | None = None,
        *,
        content: str = JSON,
        allowed: Collection[int] = (),
    ) -> Manifest:
        """Return an object or a token; take note of all else that is asked."""
        if method == "GET":
            return self.objects.get(path.removeprefix("/api/v1/namespaces/ns/"), {})
        asked = body or {}
        self.asked.append((f"{method} {path}", asked))
        if not path.endswith("/token"):
            return {}
        *_, account, _ = path.split("/")
        tokens = sum(path.endswith("/token") for path, _ in self.asked)
        lifetime = timedelta(seconds=asked["spec"]["expirationSeconds"])
        expires = (self._clock.wall() + lifetime).isoformat()
        return {"status": {"token": f"{account}-{tokens}", "expirationTimestamp": expires}}


@dataclass
class JumpingClock(LoopClock):
    """Lets no time pass: a pause is noted, and the clock jumps over it."""

    seconds: float = 0.0
    pauses: list[float] = field(default_factory=list)

    def now(self) -> float:
        """Return the seconds jumped over so far."""
        return self.seconds

    def wall(self) -> datetime:
        """Return a fixed day, moved by the jumps."""
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.seconds)

    async def pause(self, seconds: float) -> None:
        """Jump, and let the other tasks run."""
        self.pauses.append(seconds)
        self.seconds += seconds
        await asyncio.sleep(0)


def a_place(folder: Path, clock: LoopClock | None = None, pod: str = "01234567") -> PodSandbox:
    """Return a pod's place below a test's folder."""
    pod_folder, clock = folder / "hostpods" / pod, clock or LoopClock()
    pod_folder.mkdir(parents=True, exist_ok=True)
    api = MemoryApi(clock)
    volumes = Volumes(pod_folder / "volumes", folder / "mnt", api, clock)
    return PodSandbox(pod_folder, volumes, api, clock, LONGEST_BACKOFF_S)
