"""Pods that arrive at a real cluster one after the other, and where they end up."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Any

from agreement_instances import Case, Pod
from kubernetes import client, watch
from scheduler_process import SchedulerProcess

from stowage_testbed.api.pod_templates import LIFETIME, spell_duration
from stowage_testbed.cluster import NodePool, create_nodes
from stowage_testbed.observe.pod import Pod as ObservedPod
from stowage_testbed.observe.pod import read_pod
from stowage_testbed.simulate.instance import Instance

NAMESPACE = "default"


class RealCluster:
    """A cluster on which one case after the other is played through."""

    def __init__(self, api: client.ApiClient, scheduler: SchedulerProcess) -> None:
        self._api = api
        # Its stubs want models where it takes plain objects, and allow None everywhere.
        self._core: Any = client.CoreV1Api(api)
        self._scheduler = scheduler

    def play(self, case: Case) -> tuple[Instance, Mapping[str, str | None]]:
        """Play a case; return the instance that it was, and where its pods are."""
        with self.standing(case.pools):
            for service in case.objects:
                self._core.create_namespaced_service(NAMESPACE, service)
            instance = self._instance(case)
            for pod in case.pods:
                self.arrive(pod)
            return instance, self.placements()

    @contextmanager
    def standing(self, pools: Sequence[NodePool]) -> Iterator[None]:
        """Have nodes while the block lasts; pods and services go with them."""
        nodes = create_nodes(self._api, pools)
        try:
            self._let_scheduler_see(nodes)
            self._arrived, self._bound_before = 0, self._scheduler.counts().get("AssignedPodAdd", 0)
            version = self._core.list_namespaced_pod(NAMESPACE).metadata.resource_version
            follow: Any = watch.Watch()  # type: ignore[no-untyped-call]
            stream = follow.stream(self._core.list_namespaced_pod, NAMESPACE, resource_version=version)
            with closing(stream) as self._events:
                yield
        finally:
            self._clear(nodes)

    def arrive(self, pod: Pod) -> None:
        """Create a pod; return when it has a node or has none, and the scheduler is at rest."""
        self._core.create_namespaced_pod(NAMESPACE, pod)
        self._arrived += 1
        _await_outcome(self._events, pod["metadata"]["name"])
        self._scheduler.wait_for_rest(self._arrived, self._bound_before)

    def finish(self, name: str) -> None:
        """Have a pod succeed that runs; return when those that waited for its room have had their turn."""
        before = self._scheduler.counts()
        at_once = {"metadata": {"annotations": {LIFETIME: spell_duration(0)}}}
        self._core.patch_namespaced_pod(name, NAMESPACE, at_once)
        self._wait_for("AssignedPodDelete", before, 1)
        self._scheduler.wait_for_rest(self._arrived, self._bound_before)

    def placements(self) -> dict[str, str | None]:
        """Return the node of each pod, done or not, by ``namespace/name``."""
        return {f"{NAMESPACE}/{pod.name}": pod.node or None for pod in self._list_pods()}

    def _let_scheduler_see(self, nodes: Sequence[str]) -> None:
        """Return when the scheduler itself takes every node for ready.

        It learns of nodes and of pods on separate ways, so it is asked: a pod that
        asks for nothing but one node is bound as soon as it may be.
        """
        before = self._scheduler.counts()
        for node in nodes:
            self._core.create_namespaced_pod(NAMESPACE, _probe(node))
        self._wait_for("AssignedPodAdd", before, len(nodes))
        self._delete_pods(before, len(nodes))

    def _instance(self, case: Case) -> Instance:
        listed = self._core.list_node(_preload_content=False).data
        return as_instance(case, nodes=json.loads(listed)["items"])

    def _list_pods(self) -> list[ObservedPod]:
        listed = self._core.list_namespaced_pod(NAMESPACE, _preload_content=False).data
        return [read_pod(one) for one in json.loads(listed)["items"]]

    def _clear(self, nodes: Sequence[str]) -> None:
        before = self._scheduler.counts()
        for service in self._core.list_namespaced_service(NAMESPACE).items:
            if service.metadata.name != "kubernetes":
                self._core.delete_namespaced_service(service.metadata.name, NAMESPACE)
        # To the scheduler a pod that is done went when it was done.
        self._delete_pods(before, sum(pod.bound and not pod.finished for pod in self._list_pods()))
        for node in nodes:
            self._core.delete_node(node)
        self._wait_for("NodeDelete", before, len(nodes))

    def _delete_pods(self, before: Mapping[str, int], bound: int) -> None:
        self._core.delete_collection_namespaced_pod(NAMESPACE, grace_period_seconds=0)
        self._wait_for("AssignedPodDelete", before, bound)
        seen = self._scheduler.counts().get("AssignedPodAdd", 0)
        self._scheduler.wait_for_rest(0, seen)

    def _wait_for(self, event: str, before: Mapping[str, int], more: int) -> None:
        self._scheduler.wait_for_event(event, before.get(event, 0) + more)


def as_instance(case: Case, nodes: Sequence[Mapping[str, Any]] | None = None) -> Instance:
    """Return a case for the simulation, with the nodes as the cluster has them."""
    manifests = [node for pool in case.pools for node in pool.manifests()]
    return Instance(
        case.name,
        nodes=tuple(manifests if nodes is None else nodes),
        pods=tuple(_with_priority(pod) for pod in case.pods),
        objects=case.objects,
    )


def _await_outcome(events: Iterator[Any], name: str) -> None:
    for event in events:
        pod = event["object"]
        if pod.metadata.name != name:
            continue
        conditions = {c.type: c for c in pod.status.conditions or []}
        scheduled = conditions.get("PodScheduled")
        if pod.spec.node_name or (scheduled and scheduled.status == "False"):
            return
    raise AssertionError(f"the watch ended before pod {name} had an outcome")


def _probe(node: str) -> Pod:
    tolerations = [{"key": key, "operator": "Exists"} for key in ("example.com/gpu", "example.com/old")]
    return {
        "metadata": {"name": f"probe-{node}"},
        "spec": {
            "containers": [{"name": "c", "image": "image"}],
            "nodeSelector": {"kubernetes.io/hostname": node},
            "tolerations": tolerations,
        },
    }


def _with_priority(pod: Pod) -> Pod:
    """Return the pod with what admission adds to it: the value of its class."""
    priority = int(pod["spec"]["priorityClassName"].removeprefix("p"))
    return {**pod, "spec": {**pod["spec"], "priority": priority}}
