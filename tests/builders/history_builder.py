"""Histories in a few words: what the watches saw, and what the audit log says."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from stowage_testbed.invariants import History
from stowage_testbed.observe.audit import AuditEntry
from stowage_testbed.observe.change import Change, Receipt, Verb

STEP_NS = 10_000_000
ACCOUNT = "system:serviceaccount:stowage-system:stowage"
IN_NS: Mapping[str, Any] = {"namespace": "ns"}
IN_NO_NS: Mapping[str, Any] = {}
ALLOCATED = "stowage.dev/reservation-allocated"
PLAN_STATUS = {"resource": "packingplans", "subresource": "status"}


@dataclass(slots=True)
class HistoryBuilder:
    """Collects changes and requests, one every 10 ms; every method returns it.

    The UID of an object is ``uid-<name>``, that of the second of a name ``uid-<name>-2``.
    """

    changes: list[Change] = field(default_factory=list)
    audit: list[AuditEntry] = field(default_factory=list)
    _now_ns: int = 1_000_000_000
    _known: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    _born: Counter[tuple[str, str]] = field(default_factory=Counter)

    def history(self) -> History:
        return History(tuple(self.changes), tuple(self.audit))

    def node(self, name: str = "n1", cpu: str | int = "4") -> Self:
        allocatable = {"cpu": str(cpu), "pods": "10"}
        return self._seen("Node", name, status={"allocatable": allocatable})

    def pod(self, name: str, node: str = "", cpu: str | int = "1", **more: Any) -> Self:
        """Add a pod of ReplicaSet ``rs``, or change it.

        Further are ``priority``, ``phase``, ``kind`` of the controller ("" for none), ``labels``, ``annotations``,
        ``namespace``, ``terminating``, ``volumes``, ``granted``: the server has granted an eviction of it, ``refused``:
        why the scheduler found no node for it, ``took``: the reservation whose room it took, ``group``: its PodGroup,
        ``preempted``: the scheduler makes it leave for another pod.
        """
        owner = {"kind": more.get("kind", "ReplicaSet"), "name": "rs", "uid": "uid-rs"}
        metadata: dict[str, Any] = {
            "namespace": more.get("namespace", "ns"),
            "labels": more.get("labels", {"app": "a"}),
            "annotations": more.get("annotations", {}),
            "ownerReferences": [{**owner, "controller": True}] if owner["kind"] else [],
        }
        if reservation := more.get("took"):
            held = {"name": reservation, "uid": f"uid-{reservation}"}
            metadata["annotations"] = {ALLOCATED: json.dumps(held)}
        if more.get("terminating"):
            metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        phase = more.get("phase", "Running" if node else "Pending")
        conditions = [{"type": "Ready", "status": str(phase == "Running")}]
        if more.get("granted"):
            target = {"type": "DisruptionTarget", "reason": "EvictionByEvictionAPI"}
            conditions.append({**target, "status": "True"})
        if more.get("preempted"):
            metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
            conditions.append({"type": "DisruptionTarget", "reason": "PreemptionByScheduler", "status": "True"})
        if why := more.get("refused"):
            refused = {"type": "PodScheduled", "status": "False", "message": why}
            conditions.append(refused)
        spec = {
            "nodeName": node,
            "priority": more.get("priority", 0),
            "containers": [{"resources": {"requests": {"cpu": str(cpu)}}}],
            "volumes": more.get("volumes", []),
            "terminationGracePeriodSeconds": 5,
        }
        if group := more.get("group"):
            spec["schedulingGroup"] = {"podGroupName": group}
        status = {"phase": phase, "conditions": conditions}
        return self._seen("Pod", name, metadata, spec=spec, status=status)

    def group(self, name: str, least: int) -> Self:
        """Add a gang that needs so many pods at once, or change it; 0 makes it no gang."""
        policy = {"gang": {"minCount": least}} if least else {"basic": {}}
        return self._seen("PodGroup", name, IN_NS, spec={"schedulingPolicy": policy})

    def replica_set(self, replicas: int) -> Self:
        return self._seen("ReplicaSet", "rs", IN_NS, spec={"replicas": replicas})

    def budget(self, healthy: int, name: str = "pdb", app: str = "a", **spec: Any) -> Self:
        """Add a budget over an app that demands so many healthy pods."""
        whole = {"selector": {"matchLabels": {"app": app}}, **spec}
        status = {"desiredHealthy": healthy}
        return self._seen("PodDisruptionBudget", name, IN_NS, spec=whole, status=status)

    def plan(
        self,
        name: str,
        phase: str,
        *moved: str,
        execution_mode: str = "Execute",
        to: str = "",
        placed: Sequence[str] = (),
    ) -> Self:
        """Write a plan that moves and places pods of a CPU each to the node ``to``."""

        def arrival(pod: str, **more: str) -> dict[str, str]:
            return {"pod": f"ns/{pod}", "podUID": f"uid-{pod}", "class": "k", **more}

        self._request("update", name, **PLAN_STATUS)
        status = {
            "phase": phase,
            "classes": [{"id": "k", "priority": 0, "requests": {"cpu": "1"}}],
            "moves": [arrival(pod, ownerUID="uid-rs", toNode=to) for pod in moved],
            "placements": [arrival(pod, node=to) for pod in placed],
        }
        spec = {"executionMode": execution_mode}
        return self._seen("PackingPlan", name, spec=spec, status=status)

    def planned(self, *pods: str) -> Self:
        """Store a plan that moves some pods, and end it."""
        self.plan("p", "Solving").plan("p", "Proposed", *pods)
        return self.plan("p", "Completed", *pods)

    def plan_refused(self, name: str) -> Self:
        """Refuse to write a plan's status, as after a change by somebody else."""
        return self._request("update", name, **PLAN_STATUS, code=409)

    def reservation(self, name: str, allocated: str | int = "", phase: str = "Available") -> Self:
        """Add a reservation on node ``n1`` for app ``a``, or change it."""
        held = {"cpu": str(allocated)} if allocated else None
        status = {"phase": phase, "nodeName": "n1", "allocated": held}
        owners = [{"labelSelector": {"matchLabels": {"app": "a"}}}]
        return self._seen("Reservation", name, spec={"owners": owners}, status=status)

    def slice(self, node: str, **devices: Mapping[str, Any]) -> Self:
        """List the devices of a node, with ``memory`` that is shared, or counters that each ``takes``, one of each."""
        listed, counters = [], dict[str, Any]()
        for name, of in devices.items():
            one: dict[str, Any] = {"name": name}
            if "memory" in of:
                one |= {"allowMultipleAllocations": True, "capacity": {"memory": {"value": of["memory"]}}}
            if "takes" in of:
                taken = {counter: {"value": "1"} for counter in of["takes"]}
                one["consumesCounters"] = [{"counterSet": "gpu", "counters": taken}]
                counters |= taken
            listed.append(one)
        spec = {"driver": "gpu.example.com", "pool": {"name": node, "generation": 1}, "nodeName": node}
        shared = [{"name": "gpu", "counters": counters}] if counters else []
        return self._seen("ResourceSlice", node, spec={**spec, "devices": listed, "sharedCounters": shared})

    def claim(self, name: str, *devices: str, node: str = "n1", admin: bool = False, **memory: str) -> Self:
        """Allocate devices of a node to a claim, or ``memory`` of them; without any, deallocate what it has."""
        shares = {device: {"consumedCapacity": {"memory": of}, "shareID": name} for device, of in memory.items()}
        results = [
            {"driver": "gpu.example.com", "pool": node, "device": device, "adminAccess": admin, **more}
            for device, more in (*((one, {}) for one in devices), *shares.items())
        ]
        status = {"allocation": {"devices": {"results": results}}} if results else {}
        return self._seen("ResourceClaim", name, IN_NS, status=status)

    def evict(self, name: str, user: str = ACCOUNT, code: int = 201, uid: str = "") -> Self:
        """Put an eviction into the audit log, of whoever has the name without a UID."""
        asked = {"resource": "pods", "subresource": "eviction", "namespace": "ns"}
        return self._request("create", name, **asked, user=user, code=code, uid=uid)

    def there_before(self) -> Self:
        """Have all until now happened before the run: a list shows what came of it."""
        self.audit.clear()
        self.changes = [replace(one, verb=Verb.LISTED) for one in self.changes]
        return self

    def listed_together(self, count: int = 1) -> Self:
        """Have the last changes been seen in one list, after a watch that broke off."""
        for at in range(-count, 0):
            last = self.changes[-1].receipt
            self.changes[at] = replace(self.changes[at], verb=Verb.LISTED, receipt=last)
        return self

    def later(self, seconds: int) -> Self:
        self._now_ns += seconds * 1_000_000_000
        return self

    def gone(self, kind: str, name: str) -> Self:
        return self._add(kind, Verb.DELETED, self._known.pop((kind, name)))

    def _seen(self, kind: str, name: str, more: Mapping[str, Any] = IN_NO_NS, **parts: Any) -> Self:
        new = (kind, name) not in self._known
        self._born[kind, name] += new
        nth = self._born[kind, name]
        uid = f"uid-{name}" if nth == 1 else f"uid-{name}-{nth}"
        metadata = {**more, "name": name, "uid": uid}
        self._known[kind, name] = {**parts, "metadata": metadata}
        verb = Verb.ADDED if new else Verb.MODIFIED
        return self._add(kind, verb, self._known[kind, name])

    def _add(self, kind: str, verb: Verb, body: dict[str, Any]) -> Self:
        self._now_ns += STEP_NS
        receipt = Receipt(self._now_ns, self._now_ns)
        self.changes.append(Change(kind, verb, receipt, body))
        return self

    def _request(self, verb: str, name: str, **entry: Any) -> Self:
        self._now_ns += STEP_NS
        known = {"namespace": "", "user": ACCOUNT, "code": 200, **entry}
        self.audit.append(AuditEntry(verb=verb, name=name, stage_ns=self._now_ns, **known))
        return self
