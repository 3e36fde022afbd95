"""Pods, objects and time for the tests of host pods."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from stowage_testbed.hostpods.backoff import BackoffLimits
from stowage_testbed.hostpods.clock import LoopClock, SystemLoopClock
from stowage_testbed.hostpods.environment import NodeEnvironment
from stowage_testbed.hostpods.manifest import Manifest
from stowage_testbed.hostpods.mounts import Mounts
from stowage_testbed.hostpods.objects import Token
from stowage_testbed.hostpods.sandbox import PodSandbox

API_URL = "https://127.0.0.1:6443"
CAPACITY = {"cpu": "4", "memory": "8Gi"}


def a_container(*command: str, name: str = "main", **more: Any) -> dict[str, Any]:
    """Return a container that runs a command."""
    return {"name": name, "image": "none", "command": list(command), **more}


def a_pod(*containers: Manifest, **spec: Any) -> dict[str, Any]:
    """Return a pod bound to the host node."""
    return {
        "metadata": {
            "name": "web",
            "namespace": "ns",
            "uid": "0123456789abcdef",
            "labels": {"app": "web", "tier": "front"},
            "annotations": {"note": 'a "quoted" word'},
        },
        "spec": {
            "nodeName": "stowage-host",
            "serviceAccountName": "robot",
            "containers": list(containers),
            **spec,
        },
    }


@dataclass(slots=True)
class MemoryObjects:
    """ConfigMaps and Secrets by name, and numbered tokens."""

    config_maps: dict[str, Mapping[str, bytes]] = field(default_factory=dict)
    secrets: dict[str, Mapping[str, bytes]] = field(default_factory=dict)
    clock: LoopClock = field(default_factory=SystemLoopClock)
    tokens: list[tuple[str | None, int]] = field(default_factory=list)

    async def config_map(self, namespace: str, name: str) -> Mapping[str, bytes] | None:
        """Return a ConfigMap of the pod's namespace."""
        return self.config_maps.get(name) if namespace == "ns" else None

    async def secret(self, namespace: str, name: str) -> Mapping[str, bytes] | None:
        """Return a Secret of the pod's namespace."""
        return self.secrets.get(name) if namespace == "ns" else None

    async def token(
        self, pod: Manifest, audience: str | None, lifetime_s: int
    ) -> Token:
        """Return the next token."""
        self.tokens.append((audience, lifetime_s))
        account = pod["spec"]["serviceAccountName"]
        expires = self.clock.wall() + timedelta(seconds=lifetime_s)
        return Token(f"{account}-{len(self.tokens)}", expires)


@dataclass(slots=True)
class JumpingClock:
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


def surroundings(objects: MemoryObjects | None = None) -> NodeEnvironment:
    """Return a node's surroundings."""
    return NodeEnvironment(objects or MemoryObjects(), API_URL, CAPACITY)


def a_place(folder: Path, clock: LoopClock | None = None) -> PodSandbox:
    """Return a pod's place below a test's folder."""
    pod_folder = folder / "hostpods" / "01234567"
    pod_folder.mkdir(parents=True)
    return PodSandbox(
        folder=pod_folder,
        mounts=Mounts(folder / "mnt", pod_folder / "volumes"),
        node=surroundings(),
        clock=clock or SystemLoopClock(),
        backoff=BackoffLimits(),
    )
