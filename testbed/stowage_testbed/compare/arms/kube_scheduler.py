"""What arms with kube-scheduler's flags and configuration file have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from stowage_testbed.cluster.base import Cluster
from stowage_testbed.cluster.ports import LOOPBACK, port_beside
from stowage_testbed.compare.arms.account import KUBECONFIG, Rights
from stowage_testbed.compare.arms.build import digest
from stowage_testbed.compare.arms.program import Program, http_readiness
from stowage_testbed.compare.arms.serving import own_folder, serving
from stowage_testbed.run.arm import ArmSettings, ClientLimits, PodOverrides, RunningArm
from stowage_testbed.toolchain import choose_minor, tool_build, tool_path
from stowage_testbed.toolchain.manifest import load_manifest

Config = dict[str, Any]

DEFAULT_LIMITS = ClientLimits(qps=50.0, burst=100)
DEFAULT_PARALLELISM = 16
BATCHING = "OpportunisticBatching"
"""The gate that lets a later pod take from the ranking made for an equal one before."""
WITHOUT_BATCHING = frozenset({"1.34"})
"""Minors that do not know the gate, and refuse to start with it."""


def installed_config(config: Mapping[str, Any], kubeconfig: Path, limits: ClientLimits | None) -> Config:
    """Return a configuration with what depends on the place where it is used.

    There is one instance of every arm, so none stands for election, which would cost
    seconds at the start and requests afterwards. Without client limits it keeps those
    that it states, or the defaults.
    """
    client = {**config.get("clientConnection", {}), "kubeconfig": str(kubeconfig)}
    if limits is not None:
        client |= {"qps": limits.qps, "burst": limits.burst}
    election = {**config.get("leaderElection", {}), "leaderElect": False}
    return {**config, "clientConnection": client, "leaderElection": election}


def settings_of(
    config: Mapping[str, Any],
    version: str,
    limits: ClientLimits | None,
    feature_gates: Mapping[str, bool],
    notes: tuple[str, ...],
) -> ArmSettings:
    """Return how a scheduler runs with a configuration, its defaults filled in."""
    client = config.get("clientConnection", {})
    stated = ClientLimits(
        float(client.get("qps") or DEFAULT_LIMITS.qps), int(client.get("burst") or DEFAULT_LIMITS.burst)
    )
    used = limits or stated
    return ArmSettings(
        version=version,
        qps=used.qps,
        burst=used.burst,
        parallelism=int(config.get("parallelism") or DEFAULT_PARALLELISM),
        # 0 means the adaptive default, as leaving it out does.
        sampled_percent=config.get("percentageOfNodesToScore") or None,
        feature_gates=feature_gates,
        notes=notes,
    )


LOG_LEVEL = 2
"""Of every arm with Kubernetes' own logging: enough to see each binding."""


@dataclass(frozen=True, slots=True)
class KubeSchedulerArm:
    """A scheduler with kube-scheduler's flags and configuration file.

    Attributes
    ----------
    tool
        Its binary's name in the toolchain.
    config
        Returns its configuration as its project ships it.
    rights
        Returns the rights that its project gives it.
    gates
        Feature gates as they are in effect, with its own limits and with given ones.
    minor
        Of Kubernetes, that its cluster is of, and the scheduler where it is stock.
    ready_path
        Where it answers once it schedules.
    flags
        Further flags.
    equal_flags
        Flags that are given with client limits only: they make arms equal.
    prepare
        Puts on the cluster what it needs, and removes what no other arm uses.
    """

    name: str
    tool: str
    pod_overrides: PodOverrides
    config: Callable[[], Mapping[str, Any]]
    rights: Callable[[], Rights]
    gates: Callable[[ClientLimits | None], Mapping[str, bool]]
    ready_path: str = "/readyz"
    flags: tuple[str, ...] = ()
    equal_flags: tuple[str, ...] = ()
    prepare: Callable[[Cluster], AbstractContextManager[object]] = nullcontext
    notes: tuple[str, ...] = ()
    minor: str = field(default_factory=choose_minor)

    @property
    def tools(self) -> tuple[str, ...]:
        """Its binary."""
        return (self.tool,)

    def build(self) -> str:
        """Return the program's build with a digest of its configuration."""
        config = yaml.safe_dump(dict(self.config()))
        return f"{tool_build(self.tool, self.minor)}+{digest([config, *self.flags])}"

    def settings(self, limits: ClientLimits | None) -> ArmSettings:
        """Return how it will run; without limits, with its own defaults."""
        version = load_manifest().tool(self.tool, self.minor).version
        gates = self.gates(limits)
        if self.minor in WITHOUT_BATCHING:
            gates = {**gates, BATCHING: False}
        return settings_of(self.config(), version, limits, gates, self.notes)

    @contextmanager
    def running(self, cluster: Cluster, folder: Path, limits: ClientLimits | None) -> Iterator[RunningArm]:
        """Start it and stop it at the end; on entry it serves."""
        folder = own_folder(folder)
        config = installed_config(self.config(), folder / KUBECONFIG, limits)
        text = yaml.safe_dump(config, sort_keys=False)
        (folder / "scheduler.yaml").write_text(text, "utf-8")
        with (
            self.prepare(cluster),
            serving(
                self.name,
                cluster,
                folder,
                self.rights(),
                programs=[self._program(folder, cluster, limits)],
                configuration=text,
            ) as running,
        ):
            yield running

    def _program(self, folder: Path, cluster: Cluster, limits: ClientLimits | None) -> Program:
        port = port_beside(cluster.name)
        known = self.minor not in WITHOUT_BATCHING
        command = [
            str(tool_path(self.tool, self.minor)),
            f"--config={folder / 'scheduler.yaml'}",
            f"--bind-address={LOOPBACK}",
            f"--secure-port={port}",
            # Readiness is answered without authentication.
            f"--authorization-always-allow-paths={self.ready_path}",
            f"--v={LOG_LEVEL}",
            *self.flags,
            *(self.equal_flags if limits and known else ()),
        ]
        ready = partial(http_readiness, f"https://{LOOPBACK}:{port}{self.ready_path}")
        return Program("scheduler", command, {}, ready)
