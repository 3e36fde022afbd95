"""A large run without a cluster: what its watches and its audit log would have shown.

Pods of ReplicaSets with a budget each come, are bound and become ready; then plans move
some of them, in waves, by reservations and evictions, and replacements come. Nothing in
it breaks a rule. Objects have the fields, and so about the size, that an API server
gives them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from stowage_testbed.invariants import History
from stowage_testbed.observe.audit import NS_PER_US, read_audit_entries
from stowage_testbed.observe.change import Change, Verb
from stowage_testbed.observe.raw_body import BodyStore, Names
from stowage_testbed.observe.receipt import NS_PER_S, Receipt

STEP_NS = 1_000_000
NAMESPACE = "tenants"
SCHEDULER = "system:serviceaccount:stowage-system:stowage"
REPLICAS = 50
WAVE = 50
"""Moves after which a plan's status is written."""


@dataclass(frozen=True, slots=True)
class Size:
    """How large a run is; ``moves`` are those of each plan."""

    nodes: int
    pods: int
    plans: int
    moves: int


@dataclass(slots=True)
class _Pod:
    number: int
    owner: int
    node: int | None = None
    ready: bool = False
    granted: bool = False
    leaves: bool = False

    @property
    def uid(self) -> str:
        return f"00000000-0000-4000-8000-{self.number:012}"

    @property
    def name(self) -> str:
        return f"web-{self.number}"


@dataclass(slots=True)
class GeneratedRun:
    """Writes a run down as it would have been seen.

    Parameters
    ----------
    size
        How large it is.
    folder
        Where its audit log is written.
    """

    size: Size
    folder: Path
    _store: BodyStore = field(default_factory=BodyStore)
    _changes: list[Change] = field(default_factory=list)
    _now_ns: int = 1_767_225_600 * NS_PER_S
    _born: int = 0

    def history(self) -> History:
        """Return the whole run."""
        log = self.folder / "audit.log"
        with log.open("wb") as file:
            for entry in self._run():
                file.write(msgspec.json.encode(entry) + b"\n")
        return History(tuple(self._changes), tuple(read_audit_entries(log)))

    def _run(self) -> Iterator[dict[str, Any]]:
        """See every change, and yield the entries of the audit log."""
        for number in range(self.size.nodes):
            self._see("Node", Verb.LISTED, _node(number))
        owners = self.size.pods // REPLICAS
        for owner in range(owners):
            self._see("ReplicaSet", Verb.ADDED, _replica_set(owner))
            self._see("PodDisruptionBudget", Verb.ADDED, _budget(owner, REPLICAS))
        pods = [self._new_pod(n % owners) for n in range(owners * REPLICAS)]
        for number, pod in enumerate(pods):
            yield from self._arrive(pod, number % self.size.nodes)
        for plan in range(self.size.plans):
            yield from self._move(plan, pods)

    def _new_pod(self, owner: int) -> _Pod:
        self._born += 1
        return _Pod(self._born, owner)

    def _arrive(self, pod: _Pod, node: int) -> Iterator[dict[str, Any]]:
        yield self._request("create", "pods", "", "", "replicaset-controller")
        self._see("Pod", Verb.ADDED, _pod(pod))
        pod.node = node
        yield self._request("create", "pods", "binding", pod.name, SCHEDULER)
        self._see("Pod", Verb.MODIFIED, _pod(pod))
        pod.ready = True
        yield self._request("patch", "pods", "status", pod.name, "kwok")
        self._see("Pod", Verb.MODIFIED, _pod(pod))

    def _move(self, number: int, pods: list[_Pod]) -> Iterator[dict[str, Any]]:
        """Move as many pods as a plan does, each to the next node."""
        plan, first = f"plan-{number}", number * self.size.moves
        places = [n % len(pods) for n in range(first, first + self.size.moves)]
        uids = [pods[place].uid for place in places]
        self._see("PackingPlan", Verb.ADDED, _plan(plan, "", []))
        yield from self._status(plan, "Solving", [])
        yield from self._status(plan, "Executing", uids)
        for done, place in enumerate(places, start=1):
            replacement = self._new_pod(pods[place].owner)
            yield from self._replace(plan, pods[place], replacement)
            pods[place] = replacement
            if not done % WAVE:
                yield from self._status(plan, "Executing", uids)
        yield from self._status(plan, "Completed", uids)

    def _replace(self, plan: str, pod: _Pod, by: _Pod) -> Iterator[dict[str, Any]]:
        node = ((pod.node or 0) + 1) % self.size.nodes
        reservation = f"{plan}-{by.name}"
        self._see("Reservation", Verb.ADDED, _reservation(reservation, plan, node))
        pod.granted = True
        self._see("Pod", Verb.MODIFIED, _pod(pod))
        yield self._request("create", "pods", "eviction", pod.name, SCHEDULER, pod.uid)
        pod.leaves = True
        self._see("Pod", Verb.MODIFIED, _pod(pod))
        budget = _budget(pod.owner, REPLICAS - 1)
        self._see("PodDisruptionBudget", Verb.MODIFIED, budget)
        yield from self._arrive(by, node)
        self._see("Pod", Verb.DELETED, _pod(pod))
        self._see("Reservation", Verb.DELETED, _reservation(reservation, plan, node))
        budget = _budget(pod.owner, REPLICAS)
        self._see("PodDisruptionBudget", Verb.MODIFIED, budget)

    def _status(
        self, plan: str, phase: str, uids: list[str]
    ) -> Iterator[dict[str, Any]]:
        yield self._request("update", "packingplans", "status", plan, SCHEDULER)
        self._see("PackingPlan", Verb.MODIFIED, _plan(plan, phase, uids))

    def _see(self, kind: str, verb: Verb, body: dict[str, Any]) -> None:
        self._now_ns += STEP_NS
        metadata = {**_BOOKKEEPING, **body["metadata"]}
        raw = msgspec.json.encode({**body, "metadata": metadata})
        names = msgspec.convert(metadata, Names)
        receipt = Receipt(self._now_ns, self._now_ns)
        self._changes.append(Change(kind, verb, receipt, self._store.keep(raw, names)))

    def _request(  # noqa: PLR0917 - an entry has as many parts
        self,
        verb: str,
        resource: str,
        subresource: str,
        name: str,
        user: str,
        uid: str = "",
    ) -> dict[str, Any]:
        self._now_ns += STEP_NS
        moment = datetime.fromtimestamp(self._now_ns // NS_PER_S, tz=UTC)
        stamp = moment.replace(microsecond=self._now_ns // NS_PER_US % 1_000_000)
        return {
            "kind": "Event",
            "apiVersion": "audit.k8s.io/v1",
            "level": "Request",
            "auditID": "3a1c1d6e-54c4-4be5-8ad6-26b0fd2e4b6c",
            "stage": "ResponseComplete",
            "requestURI": f"/api/v1/namespaces/{NAMESPACE}/{resource}/{name}",
            "verb": verb,
            "user": {"username": user, "groups": ["system:authenticated"]},
            "sourceIPs": ["127.0.0.1"],
            "objectRef": {
                "resource": resource,
                "namespace": "" if resource == "packingplans" else NAMESPACE,
                "name": name,
                "subresource": subresource,
            },
            "responseStatus": {"code": 200 if verb == "update" else 201},
            "requestObject": {"deleteOptions": {"preconditions": {"uid": uid}}},
            "stageTimestamp": stamp.isoformat(timespec="microseconds"),
        }


_BOOKKEEPING = {
    "resourceVersion": "1000000",
    "creationTimestamp": "2026-01-01T00:00:00Z",
    "managedFields": [
        {
            "manager": manager,
            "operation": "Update",
            "apiVersion": "v1",
            "time": "2026-01-01T00:00:00Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": {f"f:field-{n}": {".": {}, "f:inner": {}} for n in range(20)},
        }
        for manager in ("kube-controller-manager", "kwok")
    ],
}
"""What an API server adds to the metadata of every object."""


def _pod(pod: _Pod) -> dict[str, Any]:
    owner = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "name": f"web-{pod.owner}",
        "uid": f"uid-web-{pod.owner}",
        "controller": True,
    }
    metadata: dict[str, Any] = {
        "name": pod.name,
        "namespace": NAMESPACE,
        "uid": pod.uid,
        "labels": {"app": f"web-{pod.owner}"},
        "ownerReferences": [owner],
    }
    if pod.leaves:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    mount = {"name": f"kube-api-access-{pod.name}", "mountPath": "/var/run/secrets"}
    container = {
        "name": "main",
        "image": "registry.example/web:1",
        "resources": {"requests": {"cpu": "250m", "memory": "512Mi"}},
        "volumeMounts": [mount],
    }
    conditions = [_condition("Ready", pod.ready), _condition("PodScheduled", True)]
    if pod.granted:
        target = _condition("DisruptionTarget", True)
        conditions.append({**target, "reason": "EvictionByEvictionAPI"})
    return {
        "metadata": metadata,
        "spec": {
            "containers": [container],
            "priority": pod.owner % 3,
            "schedulerName": "stowage",
            **({} if pod.node is None else {"nodeName": f"node-{pod.node}"}),
            "tolerations": [
                {"key": f"node.kubernetes.io/{why}", "operator": "Exists"}
                for why in ("not-ready", "unreachable")
            ],
        },
        "status": {
            "phase": "Running" if pod.ready else "Pending",
            "conditions": conditions,
            "podIP": "10.0.0.1",
        },
    }


def _condition(kind: str, holds: bool) -> dict[str, Any]:
    moment = "2026-01-01T00:00:00Z"
    return {"type": kind, "status": str(holds), "lastTransitionTime": moment}


def _node(number: int) -> dict[str, Any]:
    gives = {"cpu": "16", "memory": "64Gi", "pods": "110"}
    conditions = [_condition(f"Condition{n}", True) for n in range(5)]
    return {
        "metadata": {"name": f"node-{number}", "uid": f"uid-node-{number}"},
        "spec": {},
        "status": {"allocatable": gives, "capacity": gives, "conditions": conditions},
    }


def _replica_set(owner: int) -> dict[str, Any]:
    metadata = {"name": f"web-{owner}", "namespace": NAMESPACE}
    return {
        "metadata": {**metadata, "uid": f"uid-web-{owner}"},
        "spec": {"replicas": REPLICAS},
    }


def _budget(owner: int, healthy: int) -> dict[str, Any]:
    metadata = {"name": f"web-{owner}", "namespace": NAMESPACE}
    return {
        "metadata": {**metadata, "uid": f"uid-budget-{owner}"},
        "spec": {
            "maxUnavailable": 1,
            "selector": {"matchLabels": {"app": f"web-{owner}"}},
        },
        "status": {"desiredHealthy": REPLICAS - 1, "currentHealthy": healthy},
    }


def _plan(name: str, phase: str, uids: list[str]) -> dict[str, Any]:
    moves = [
        {"podUID": uid, "namespace": NAMESPACE, "from": "node-1", "to": "node-2"}
        for uid in uids
    ]
    return {
        "metadata": {"name": name, "uid": f"uid-{name}"},
        "spec": {"executionMode": "Execute", "trigger": "Automatic"},
        "status": {"phase": phase, "moves": moves} if phase else {},
    }


def _reservation(name: str, plan: str, node: int) -> dict[str, Any]:
    return {
        "metadata": {
            "name": name,
            "uid": f"uid-{name}",
            "labels": {"stowage.dev/plan": plan},
        },
        "status": {"phase": "Available", "nodeName": f"node-{node}"},
    }
