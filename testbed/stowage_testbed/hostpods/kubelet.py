"""The kubelet of one node: a runner for each of its pods."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from stowage_testbed.base.clock import SystemClock
from stowage_testbed.hostpods.api import ApiServer, Manifest, PodWatch, pod_key, short_uid
from stowage_testbed.hostpods.container import PodSandbox
from stowage_testbed.hostpods.node import NodeHeartbeat
from stowage_testbed.hostpods.pod import PodRunner
from stowage_testbed.hostpods.supported import unenforced_settings
from stowage_testbed.hostpods.volumes import Mounts, Volumes, remove_tree
from stowage_testbed.hostpods.waiting import BackoffLimits, LoopClock, cancel_and_wait

KEPT_FOLDERS = 20
"""Of pods that are gone: their logs stay for a while."""
SHUTDOWN_GRACE_S = 3.0
"""What containers get when the daemon ends, whatever their pods say."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class HostNode:
    """The node, and what its kubelet works with."""

    api: ApiServer
    name: str
    workdir: Path
    clock: LoopClock
    backoff: BackoffLimits


class HostKubelet:
    """Runs the pods of one node, one runner each."""

    def __init__(self, node: HostNode) -> None:
        self._node = node
        self._heartbeat = NodeHeartbeat(node.api, node.name, node.clock)
        self._runners: dict[str, PodRunner] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._pods = node.workdir / "hostpods"

    async def run(self, stop: asyncio.Event) -> None:
        """Work until asked to stop; no process of a pod is left then."""
        self._pods.mkdir(parents=True, exist_ok=True)
        (self._node.workdir / "mnt").mkdir(exist_ok=True)
        keeping = asyncio.create_task(self._heartbeat.run())
        keeping.add_done_callback(lambda _: stop.set())
        self._start_watching(stop)
        await stop.wait()
        keeping.cancel()
        runners = list(self._runners.values())
        await asyncio.gather(*(runner.abandon(SHUTDOWN_GRACE_S) for runner in runners))
        _log.info("all pods of %s are stopped", self._node.name)
        await cancel_and_wait(keeping)

    def _start_watching(self, stop: asyncio.Event) -> None:
        """Watch in a thread, as the client's streams block; a daemon that has gone blind stops."""
        loop = asyncio.get_running_loop()
        watch = PodWatch(
            self._node.api,
            self._node.name,
            lambda pods: loop.call_soon_threadsafe(self._listed, pods),
            lambda kind, pod: loop.call_soon_threadsafe(self._seen, kind, pod),
        )

        def watch_or_stop() -> None:
            try:
                watch.run(SystemClock())
            finally:
                loop.call_soon_threadsafe(stop.set)

        threading.Thread(target=watch_or_stop, name="pod-watch", daemon=True).start()

    def _listed(self, pods: list[Manifest]) -> None:
        """Compare with the whole list: pods may have gone unseen."""
        present = {str(pod["metadata"]["uid"]) for pod in pods}
        for uid in self._runners.keys() - present:
            self._runners[uid].vanished()
        _forget_old_folders(self._pods, keep={short_uid(pod) for pod in pods})
        for pod in pods:
            self._seen("ADDED", pod)

    def _seen(self, kind: str, pod: Manifest) -> None:
        uid = str(pod["metadata"]["uid"])
        runner = self._runners.get(uid)
        if kind == "DELETED":
            if runner is not None:
                runner.vanished()
        elif runner is not None:
            runner.update(pod)
        elif pod.get("status", {}).get("phase") not in ("Succeeded", "Failed"):
            self._begin(uid, pod)

    def _begin(self, uid: str, pod: Manifest) -> None:
        node, folder = self._node, self._pods / short_uid(pod)
        _log.info("pod %s begins in %s", pod_key(pod), folder.name)
        if ignored := unenforced_settings(pod):
            _log.info("not enforced on the host: %s", ", ".join(ignored))
        folder.mkdir(exist_ok=True)
        volumes = Volumes(folder / "volumes", node.api, node.clock)
        mounts = Mounts(node.workdir / "mnt", volumes.folder)
        sandbox = PodSandbox(folder, mounts, node.api.url, node.clock, node.backoff)
        runner = self._runners[uid] = PodRunner(pod, node.api, sandbox, volumes)
        runner.update(pod)
        task = self._tasks[uid] = asyncio.create_task(runner.run(), name=pod_key(pod))
        task.add_done_callback(lambda done: self._ended(uid, done))

    def _ended(self, uid: str, task: asyncio.Task[None]) -> None:
        self._runners.pop(uid, None)
        self._tasks.pop(uid, None)
        if not task.cancelled() and (error := task.exception()):
            _log.error("pod %s failed the daemon", task.get_name(), exc_info=error)


def _forget_old_folders(pods: Path, *, keep: Collection[str]) -> None:
    """Remove all but the newest of the folders whose pods do not exist any more."""
    old = [folder for folder in pods.iterdir() if folder.name not in keep]
    old.sort(key=lambda folder: folder.stat().st_mtime, reverse=True)
    for folder in old[KEPT_FOLDERS:]:
        remove_tree(folder)
