"""The kubelet of one node, which it keeps Ready: a runner for each of its pods."""

import asyncio
import logging
import math
import os
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from string import Template

import yaml
from urllib3.exceptions import HTTPError

from stowage_testbed.api.client import MERGE_PATCH, STRATEGIC_MERGE_PATCH, ApiRefusedError, ApiUnreachableError
from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.wait import SystemClock
from stowage_testbed.hostpods.container import PodSandbox
from stowage_testbed.hostpods.node import ApiServer, LoopClock, Manifest, cancel_and_wait, pod_key, short_uid, timestamp
from stowage_testbed.hostpods.pod import PodRunner, unenforced_settings
from stowage_testbed.hostpods.volumes import Volumes, remove_tree
from stowage_testbed.observe.change import Change
from stowage_testbed.observe.source import PODS, Source
from stowage_testbed.observe.watches import SILENCE_S, Relisted, Watches

KEPT_FOLDERS = 20
"""Of pods that are gone: their logs stay for a while."""
SHUTDOWN_GRACE_S = 3.0
"""What containers get when the daemon ends, whatever their pods say."""
_NODE = Path(__file__).with_name("node.yaml")
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
RENEW_S = 10.0
RETRY_S = 0.2
"""Pause after a failed renewal, so that a server that comes back sees the node soon."""

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class HostKubelet:
    """Runs the pods of one node, one runner each."""

    api: ApiServer
    name: str
    workdir: Path
    clock: LoopClock
    longest_backoff_s: float
    _runners: dict[str, PodRunner] = field(default_factory=dict)
    _tasks: dict[str, asyncio.Task[None]] = field(default_factory=dict)

    @property
    def _pods(self) -> Path:
        return self.workdir / "hostpods"

    async def run(self, stop: asyncio.Event) -> None:
        """Work until asked to stop; no process of a pod is left then."""
        self._pods.mkdir(parents=True, exist_ok=True)
        (self.workdir / "mnt").mkdir(exist_ok=True)
        keeping = asyncio.create_task(keep_ready(self.api, self.name, self.clock))
        keeping.add_done_callback(lambda _: stop.set())
        self._start_watching(stop)
        await stop.wait()
        keeping.cancel()
        await asyncio.gather(*(runner.abandon(SHUTDOWN_GRACE_S) for runner in self._runners.values()))
        _log.info("all pods of %s are stopped", self.name)
        await cancel_and_wait(keeping)

    def _start_watching(self, stop: asyncio.Event) -> None:
        """Watch in a thread, as streams block, and ask a server that is away again; a daemon that is blind stops."""
        loop = asyncio.get_running_loop()
        source = Source(PODS.kind, PODS.path, f"spec.nodeName={self.name}")

        def show(listed: Iterable[Change]) -> None:
            pods: list[Manifest] = [dict(change.body) for change in listed]
            loop.call_soon_threadsafe(self._listed, pods)

        def watch() -> None:
            # With endless patience no watch counts as broken.
            watches, first = Watches(self.api.client, patience_s=math.inf, silence_s=SILENCE_S), None
            try:
                while first is None:
                    try:
                        first = watches.list_source(source)
                    except (StowageError, HTTPError, OSError) as error:
                        _log.warning("pods cannot be watched, trying again: %s", error)
                        SystemClock().pause(RETRY_S)
                show(first)
                watches.follow()
                while True:
                    for arrival in watches.take_all():
                        match arrival:
                            case Change(verb=verb, body=body):
                                loop.call_soon_threadsafe(self._seen, verb.value, dict(body))
                            case Relisted(listed=listed):
                                show(listed)
            finally:
                loop.call_soon_threadsafe(stop.set)

        threading.Thread(target=watch, name="pod-watch", daemon=True).start()

    def _listed(self, pods: list[Manifest]) -> None:
        """Compare with the whole list: pods may have gone unseen."""
        present = {str(pod["metadata"]["uid"]) for pod in pods}
        for uid in self._runners.keys() - present:
            self._runners[uid].vanished()
        in_use = {short_uid(pod) for pod in pods}
        old = [folder for folder in self._pods.iterdir() if folder.name not in in_use]
        old.sort(key=lambda folder: folder.stat().st_mtime, reverse=True)
        for folder in old[KEPT_FOLDERS:]:
            remove_tree(folder)
        for pod in pods:
            self._seen("ADDED", pod)

    def _seen(self, kind: str, pod: Manifest) -> None:
        uid = str(pod["metadata"]["uid"])
        runner = self._runners.get(uid)
        if runner and kind == "DELETED":
            runner.vanished()
        elif runner:
            runner.update(pod)
        elif kind != "DELETED" and pod.get("status", {}).get("phase") not in ("Succeeded", "Failed"):
            self._begin(uid, pod)

    def _begin(self, uid: str, pod: Manifest) -> None:
        folder = self._pods / short_uid(pod)
        _log.info("pod %s begins in %s", pod_key(pod), folder.name)
        if ignored := unenforced_settings(pod):
            _log.info("not enforced on the host: %s", ", ".join(ignored))
        folder.mkdir(exist_ok=True)
        volumes = Volumes(folder / "volumes", self.workdir / "mnt", self.api, self.clock)
        sandbox = PodSandbox(folder, volumes, self.api, self.clock, self.longest_backoff_s)
        runner = self._runners[uid] = PodRunner(pod, sandbox)
        runner.update(pod)
        task = self._tasks[uid] = asyncio.create_task(runner.run(), name=pod_key(pod))
        task.add_done_callback(lambda done: self._ended(uid, done))

    def _ended(self, uid: str, task: asyncio.Task[None]) -> None:
        del self._runners[uid], self._tasks[uid]
        if not task.cancelled() and (error := task.exception()):
            _log.error("pod %s failed the daemon", task.get_name(), exc_info=error)


async def keep_ready(api: ApiServer, name: str, clock: LoopClock) -> None:
    """Create a node, and keep it Ready and its lease fresh for ever, also after it was deleted."""
    since = timestamp(clock.wall())
    while True:
        pause_s = RENEW_S
        try:
            await _renew(api, name, clock, since)
        except (ApiRefusedError, ApiUnreachableError) as error:
            _log.warning("node %s cannot be renewed: %s", name, error)
            pause_s = RETRY_S
        await clock.pause(pause_s)


async def _renew(api: ApiServer, name: str, clock: LoopClock, since: str) -> None:
    """Create what is missing, then report this machine's CPUs and memory, and Ready, and renew the lease."""
    filled = Template(_NODE.read_text("utf-8")).substitute(
        name=name,
        cpus=os.cpu_count() or 1,
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        now=timestamp(clock.wall()),
        exactly_now=timestamp(clock.wall(), "microseconds"),
        since=since,
    )
    node, status, lease = yaml.safe_load_all(filled)
    await api.call("POST", "/api/v1/nodes", node, allowed={HTTPStatus.CONFLICT})
    await api.call("PATCH", f"/api/v1/nodes/{name}/status", status, content=STRATEGIC_MERGE_PATCH)
    renewed = await api.call("PATCH", f"{LEASES}/{name}", lease, content=MERGE_PATCH, allowed={HTTPStatus.NOT_FOUND})
    if not renewed:
        await api.call("POST", LEASES, lease, allowed={HTTPStatus.CONFLICT})
