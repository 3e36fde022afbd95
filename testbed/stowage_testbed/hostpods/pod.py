"""One pod's life: whether it is played, volumes, containers, an orderly end, and what the API server learns of it."""

import asyncio
import logging
from collections.abc import Iterator
from http import HTTPStatus

from stowage_testbed.api.client import JSON, STRATEGIC_MERGE_PATCH, ApiRefusedError, ApiUnreachableError
from stowage_testbed.hostpods import HOST_LABEL
from stowage_testbed.hostpods.container import DEFAULT_GRACE_S, ContainerRunner, PodSandbox
from stowage_testbed.hostpods.node import Backoff, HostPodsError, Manifest, cancel_and_wait, pod_key, timestamp
from stowage_testbed.hostpods.status import ContainerRecord, PodStatus, first_record, running, waiting
from stowage_testbed.hostpods.volumes import remove_tree

VOLUME_REFRESH_S = 30.0
"""How often tokens and ConfigMaps are looked at again."""
RETRY_S = 0.5
COMPONENT = "stowage-hostpods"

_GONE = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT})
"""Answers about a pod that is not there, or whose name is another's."""
_NO_EVENT = frozenset({"ContainerCreating", "PodInitializing"})

_log = logging.getLogger(__name__)


class PodRunner:
    """Runs one pod until it is deleted.

    The API server gets the newest status, where several changes in a row may become one message, and each new state of
    a container as an event. The pod's UID is a precondition of every message.
    """

    def __init__(self, pod: Manifest, sandbox: PodSandbox) -> None:
        self._pod, self._sandbox = pod, sandbox
        self._api, self._volumes = sandbox.api, sandbox.volumes
        self._path = f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"
        self._clock = sandbox.clock
        self._deleted, self._changes = asyncio.Event(), asyncio.Event()
        self._sent: Manifest | None = None
        self._reported: dict[str, Manifest] = {}
        self._events: set[asyncio.Task[None]] = set()
        former = {status["name"]: status for status in pod.get("status", {}).get("containerStatuses", ())}
        self._runners = [
            ContainerRunner(
                pod, container, first_record(container, former.get(container["name"])), sandbox, changed=self._changed
            )
            for container in pod["spec"]["containers"]
        ]
        self._status = PodStatus(self._clock.wall(), [runner.record for runner in self._runners])

    def update(self, pod: Manifest) -> None:
        """Take note of a newer version: labels, annotations, or its deletion."""
        self._pod = pod
        if "deletionTimestamp" in pod["metadata"]:
            self._deleted.set()

    def vanished(self) -> None:
        """Take note that the API server does not have the pod any more."""
        self._deleted.set()

    async def run(self) -> None:
        """Return when the pod has been deleted, here and on the API server."""
        reporting = asyncio.create_task(self._report())
        living = asyncio.create_task(self._live())
        await self._deleted.wait()
        default_s = self._pod["spec"].get("terminationGracePeriodSeconds")
        grace_s = self._pod["metadata"].get("deletionGracePeriodSeconds", default_s)
        grace_s = DEFAULT_GRACE_S if grace_s is None else grace_s
        _log.info("pod %s ends, grace %g s", pod_key(self._pod), grace_s)
        await asyncio.gather(*(runner.stop(grace_s) for runner in self._runners))
        await cancel_and_wait(living)
        self._status.finished = True
        self._volumes.unlink()
        remove_tree(self._volumes.folder)
        await cancel_and_wait(reporting)
        await self._flush()
        body = {"gracePeriodSeconds": 0, "preconditions": {"uid": self._pod["metadata"]["uid"]}}
        await self._insist("deleted", "DELETE", self._path, body)
        _log.info("pod %s is gone", pod_key(self._pod))

    async def abandon(self, grace_s: float) -> None:
        """Stop the containers without a word to the API server: the daemon ends."""
        await asyncio.gather(*(runner.stop(grace_s) for runner in self._runners))
        self._volumes.unlink()

    async def _live(self) -> None:
        """Bring the pod up and keep it, unless it asks for what is not played here."""
        if not asks_for_the_host(self._pod):
            _log.info("nothing is started of pod %s, which is ready as on a fake node", pod_key(self._pod))
            self._status.volumes_ready = True
            for record in self._status.containers:
                record.state = running(self._clock.wall())
                record.started = record.ready = True
            self._changed()
            return
        if refused := unsupported_fields(self._pod):
            message = (
                f"host pods do not play {', '.join(refused)}; leave that out, or run "
                "the release in containers with --backend kind"
            )
            _log.warning("pod %s is refused: %s", pod_key(self._pod), message)
            self._all_wait(waiting("NotSupportedOnHost", message))
            return
        self._changes.set()
        async with asyncio.TaskGroup() as keeping:
            await self._fill_volumes(keeping)

    async def _fill_volumes(self, keeping: asyncio.TaskGroup) -> None:
        """Fill the volumes again and again; the containers start once nothing is missing, which may still come."""
        backoff = Backoff(self._sandbox.longest_backoff_s)
        while True:
            try:
                await self._volumes.fill(self._pod)
            except (HostPodsError, ApiRefusedError, ApiUnreachableError) as error:
                _log.warning("volumes of %s are not filled: %s", pod_key(self._pod), error)
                if not self._status.volumes_ready:
                    refused = "ApiServerRefused" if isinstance(error, ApiRefusedError) else "ApiServerUnreachable"
                    reason = error.reason if isinstance(error, HostPodsError) else refused
                    self._all_wait(waiting(reason, str(error)))
            else:
                if not self._status.volumes_ready:
                    self._status.volumes_ready = True
                    self._all_wait(waiting("PodInitializing"))
                    for runner in self._runners:
                        keeping.create_task(runner.run())
            await self._clock.pause(VOLUME_REFRESH_S if self._status.volumes_ready else backoff.after_run(0.0))

    def _all_wait(self, state: Manifest) -> None:
        for record in self._status.containers:
            record.state = state
        self._changed()

    def _changed(self) -> None:
        for record in self._status.containers:
            self._report_event(record)
        self._changes.set()

    async def _report(self) -> None:
        while True:
            await self._changes.wait()
            self._changes.clear()
            await self._flush()

    async def _flush(self) -> None:
        """Send the status as it is now, unless the server has it already."""
        while (status := self._status.manifest(self._pod, self._clock.wall())) != self._sent:
            body = {"metadata": {"uid": self._pod["metadata"]["uid"]}, "status": status}
            await self._insist("updated", "PATCH", f"{self._path}/status", body, STRATEGIC_MERGE_PATCH)
            self._sent = status

    async def _insist(self, done: str, method: str, path: str, body: Manifest, content: str = JSON) -> None:
        """Ask the server until it answers."""
        while True:
            try:
                if not await self._api.call(method, path, body, content=content, allowed=_GONE):
                    _log.info("%s is gone, so it is not %s", pod_key(self._pod), done)
                return
            except ApiUnreachableError as error:
                _log.warning("%s not %s: %s", pod_key(self._pod), done, error)
                await self._clock.pause(RETRY_S)

    def _report_event(self, record: ContainerRecord) -> None:
        """Report a container's state once, as `kubectl describe` shows it; best effort, as events are."""
        if self._reported.get(record.name) == record.state:
            return
        self._reported[record.name] = record.state
        match record.state:
            case {"waiting": {"reason": reason, "message": message}} if reason not in _NO_EVENT:
                said = ("Warning", reason, message)
            case {"running": _}:
                said = ("Normal", "Started", "container started")
            case {"terminated": {"exitCode": code, "message": message}} if code or message:
                said = ("Warning", "Ended", f"container ended with {code}. {message}".rstrip(". "))
            case _:
                return
        task = asyncio.create_task(self._post_event(record.name, *said))
        self._events.add(task)
        task.add_done_callback(self._events.discard)

    async def _post_event(self, container: str, kind: str, reason: str, message: str) -> None:
        metadata = self._pod["metadata"]
        now = timestamp(self._clock.wall())
        event = {
            "metadata": {"generateName": f"{metadata['name']}."},
            "involvedObject": {
                "apiVersion": "v1",
                "kind": "Pod",
                "name": metadata["name"],
                "namespace": metadata["namespace"],
                "uid": metadata["uid"],
                "fieldPath": f"spec.containers{{{container}}}",
            },
            "type": kind,
            "reason": reason,
            "message": message,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
            "source": {"component": COMPONENT},
        }
        try:
            await self._api.call("POST", f"/api/v1/namespaces/{metadata['namespace']}/events", event)
        except (ApiRefusedError, ApiUnreachableError) as error:
            _log.info("no event for %s: %s", pod_key(self._pod), error)


# A field that would change what the containers do, and is not played, is refused: a pod that ran without it would prove
# nothing.
_POD = (
    *("initContainers", "ephemeralContainers", "readinessGates"),
    *("activeDeadlineSeconds", "hostAliases", "resourceClaims"),
)
_CONTAINER = ("envFrom", "lifecycle", "restartPolicy", "volumeDevices")
_PROBES = ("startupProbe", "livenessProbe", "readinessProbe")
_PROBED_BY = ("exec", "httpGet")
_VOLUMES = ("emptyDir", "configMap", "secret", "projected")
_PROJECTED = ("configMap", "secret", "serviceAccountToken")
_PROBE_SETTINGS = frozenset(
    f"{one}Seconds" for one in ("initialDelay", "timeout", "period", "terminationGracePeriod")
) | {"successThreshold", "failureThreshold"}


def asks_for_the_host(pod: Manifest) -> bool:
    """Return whether a pod names the host's taint; daemons that tolerate any may be anybody's."""
    return any(one.get("key") == HOST_LABEL for one in pod["spec"].get("tolerations", ()))


def unsupported_fields(pod: Manifest) -> list[str]:
    """Return the fields of a pod that are not played, with a container's or volume's name in place of its number."""
    spec = pod["spec"]
    found = [f"spec.{field}" for field in _POD if spec.get(field)]
    if (policy := spec.get("restartPolicy", "Always")) != "Always":
        found.append(f"spec.restartPolicy: {policy}")
    for container in spec["containers"]:
        found += _of_container(container, f"spec.containers[{container['name']}]")
    for volume in spec.get("volumes", ()):
        path = f"spec.volumes[{volume['name']}]"
        found += (f"{path}.{kind}" for kind in volume if kind not in ("name", *_VOLUMES))
        for source in volume.get("projected", {}).get("sources", ()):
            found += (f"{path}.projected.sources.{kind}" for kind in source if kind not in _PROJECTED)
    return found


def _of_container(container: Manifest, path: str) -> Iterator[str]:
    yield from (f"{path}.{field}" for field in _CONTAINER if container.get(field))
    for variable in container.get("env", ()):
        if "valueFrom" in variable:
            yield f"{path}.env[{variable['name']}].valueFrom"
    for mount in container.get("volumeMounts", ()):
        mounted = f"{path}.volumeMounts[{mount['name']}]"
        yield from (f"{mounted}.{field}" for field in ("subPath", "subPathExpr") if mount.get(field))
    for kind in _PROBES:
        probe = container.get(kind, {})
        yield from (f"{path}.{kind}.{field}" for field in probe.keys() - _PROBE_SETTINGS - {*_PROBED_BY})
        if probe.get("httpGet", {}).get("httpHeaders"):
            yield f"{path}.{kind}.httpGet.httpHeaders"


def unenforced_settings(pod: Manifest) -> list[str]:
    """Return what isolates a container elsewhere and not here, to be taken note of."""
    spec = pod["spec"]
    found = [f"pod.{setting}" for setting in spec.get("securityContext", {})]
    for container in spec["containers"]:
        name = container["name"]
        found += [f"{name}.{one}" for one in container.get("securityContext", {})]
        if "limits" in container.get("resources", {}):
            found.append(f"{name}.resources.limits")
    return sorted(found)
