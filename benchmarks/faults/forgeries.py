"""Faults by a tenant that forges the identity of others, to get their room.

A plan knows the pods that it expects by their UID or their controller's, a reservation
its owners by labels, names and namespaces, and an annotation tells both which pod has
taken what. A tenant can write all of that except the UID and the namespace.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from http import HTTPStatus

from benchmarks.faults.context import FaultContext, NothingToHitError
from benchmarks.faults.workloads import reservation_manifest
from stowage_testbed.amounts.resources import Resources
from stowage_testbed.api.client import ApiRefusedError, Manifest, new_api_client
from stowage_testbed.api.objects import Objects, make_manifest
from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.wait import HANG_S
from stowage_testbed.cluster.metrics_server import write_account_kubeconfig
from stowage_testbed.observe.change import JsonObject
from stowage_testbed.observe.condition import ConditionResult
from stowage_testbed.observe.pod import ALLOCATED, WORKLOAD_LABEL
from stowage_testbed.observe.state import State
from stowage_testbed.run.environment import make_namespace
from stowage_testbed.scenario.manifests import make_controller
from stowage_testbed.scenario.model import Workload
from stowage_testbed.scenario.steps.context import await_account

ACCOUNT = "default"
RBAC = "rbac.authorization.k8s.io"
PLANNER = "stowage-fault-planner"
"""Role of those who may ask for plans."""


def settle_tenant(context: FaultContext, *, plans: bool) -> None:
    """Give the tenant a namespace, which is gone with all in it when the fault ends.

    With ``plans`` it may also ask for plans.
    """
    run, namespace = context.run, context.beside("tenant")
    context.on_end(partial(context.remove_namespace, namespace))
    make_namespace(run, namespace)
    await_account(run.observer, namespace)
    context.objects.create(_binding("RoleBinding", "edit", namespace))
    if plans:
        rule = {"apiGroups": ["stowage.dev"], "resources": ["packingplans"], "verbs": ["create", "get", "list"]}
        role = make_manifest(f"{RBAC}/v1", "ClusterRole", PLANNER, rules=[rule])
        for one in (role, _binding("ClusterRoleBinding", PLANNER, namespace)):
            context.create(one)


def tenant_objects(context: FaultContext) -> Objects:
    """Return requests with the tenant's own rights and no others."""
    namespace, cluster = context.beside("tenant"), context.run.cluster
    file = cluster.workdir / f"{namespace}.yaml"
    write_account_kubeconfig(context.run.api, cluster.kubeconfig, namespace, ACCOUNT, file)
    context.on_end(file.unlink)
    client = new_api_client(file)
    context.on_end(client.close)
    return Objects(client)


def must_be_forbidden(what: str, act: Callable[[], object]) -> None:
    """Do what the tenant has no right to."""
    try:
        act()
    except ApiRefusedError as error:
        if error.status != HTTPStatus.FORBIDDEN:
            raise
        return
    raise StowageError(f"a tenant could {what}; look at the roles of the chart")


def _binding(kind: str, role: str, namespace: str) -> Manifest:
    account = {"kind": "ServiceAccount", "name": ACCOUNT, "namespace": namespace}
    roles = {"roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": role}, "subjects": [account]}
    return make_manifest(f"{RBAC}/v1", kind, role, namespace if kind == "RoleBinding" else "", **roles)


PLAN, RESERVATION, STATUS = "plan", "reservation", "status"
WAYS = (PLAN, RESERVATION, STATUS)
EXPECTED = "expected"
"""For whom room is reserved; it does not come."""

RESERVED = "3G"
REPLICAS = 2
SIZE = Workload("forged", REPLICAS, requests=Resources(cpu=100, memory=2 * 10**9))
"""Fits nowhere but into room that is held for others."""


def prepare(context: FaultContext) -> None:
    """Let there be a tenant, and a reservation for others."""
    way = context.way(*WAYS)
    settle_tenant(context, plans=way == STATUS)
    context.create(_reservation(context))
    available = partial(_is_available, _reserved(context))
    context.run.observer.wait_for("room to be reserved", available, timeout_s=HANG_S)


def forge(context: FaultContext) -> None:
    """Try to take room that a plan or a reservation holds, with its owner's labels."""
    way, tenant = context.way(*WAYS), tenant_objects(context)
    context.on_end(partial(_nothing_taken, context))
    if way == RESERVATION:
        _as_owners(context, tenant)
        return
    plan = context.plan()
    _as_planned(context, tenant, plan)
    if context.status().get("phase") != "Executing":
        raise NothingToHitError("step left once the forged pods have come")
    if way == STATUS:
        _as_scheduler(context, tenant, plan)


def _as_planned(context: FaultContext, tenant: Objects, plan: JsonObject) -> None:
    """Come as the replacements of pods that the plan moves, to where they go."""
    moves = (plan.get("status") or {}).get("moves") or ()
    if not moves:
        raise NothingToHitError("moves")
    taken = _taken(plan)
    for number, move in enumerate(moves):
        owner = move["pod"].partition("/")[2].rpartition("-")[0]
        labels = {WORKLOAD_LABEL: owner}
        pod = _pod(context, f"{owner}-{number}", labels, taken, move["toNode"])
        reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner, "uid": move["ownerUID"]}
        pod["metadata"]["ownerReferences"] = [{**reference, "controller": True}]
        tenant.create(pod)
    tenant.create(_namesake(context, context.moved_owner(), {}, taken))


def _as_owners(context: FaultContext, tenant: Objects) -> None:
    """Come as those for whom room is reserved, to where it is."""
    body = context.objects.read("Reservation", _reserved(context))
    taken, node = _taken(body), body["status"]["nodeName"]
    labels = {"app": EXPECTED}
    tenant.create(_pod(context, EXPECTED, labels, taken, node))
    tenant.create(_namesake(context, EXPECTED, labels, taken))


def _as_scheduler(context: FaultContext, tenant: Objects, plan: JsonObject) -> None:
    """Write a plan as the scheduler does, with the tenant's pods in it."""
    name, status = plan["metadata"]["name"], dict(plan.get("status") or {})
    labels = dict(plan["metadata"].get("labels") or {})
    forged = {
        "apiVersion": "stowage.dev/v1alpha1",
        "kind": "PackingPlan",
        "metadata": {"generateName": "plan-", "labels": labels},
        "spec": {"executionMode": "Execute", "trigger": "Manual", "timeLimitSeconds": 1},
        "status": {**status, "phase": "Executing", "moves": [], "placements": []},
    }
    made = tenant.create(forged)
    if made.get("status"):
        raise StowageError("the API server took the status of a plan from a tenant")
    executing, failed = ({"status": {"phase": phase}} for phase in ("Executing", "Failed"))
    for what, kind, of, change, part in (
        ("write the status of a plan", "PackingPlan", name, executing, "status"),
        ("write the status of a plan", "PackingPlan", made["metadata"]["name"], executing, "status"),
        ("abort the plan of another", "PackingPlan", name, {"spec": {"abort": True}}, ""),
        ("write the status of a reservation", "Reservation", _reserved(context), failed, "status"),
    ):
        must_be_forbidden(what, partial(tenant.patch, kind, of, change, subresource=part))


def _nothing_taken(context: FaultContext) -> None:
    """Look whether any forged pod has got a node: there is no room but others'."""
    namespace = context.beside("tenant")
    pods = context.run.observer.read(lambda state: state.all_pods(namespace))
    placed = [f"{pod.key} on {pod.node}" for pod in pods if pod.bound]
    if placed:
        raise StowageError(f"forged pods got room of others: {', '.join(placed)}")


def _pod(context: FaultContext, name: str, labels: dict[str, str], taken: str, node: str) -> Manifest:
    """Return a forged pod that may only go to one node."""
    template = make_controller(SIZE, "")["spec"]["template"]
    field = {"key": "metadata.name", "operator": "In", "values": [node]}
    terms = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
    spec = {**template["spec"], "affinity": {"nodeAffinity": required}}
    made = make_manifest("v1", "Pod", name, context.beside("tenant"), spec=spec)
    made["metadata"] |= {"labels": labels, "annotations": {ALLOCATED: taken}}
    return made


def _namesake(context: FaultContext, name: str, labels: dict[str, str], taken: str) -> Manifest:
    """Return a controller that has the name of another one."""
    made = make_controller(replace(SIZE, name=name), context.beside("tenant"))
    template = made["spec"]["template"]["metadata"]
    template["labels"] |= labels
    template["annotations"] = {ALLOCATED: taken}
    return made


def _taken(of: JsonObject) -> str:
    """Return what the scheduler writes into a pod that took room from an object."""
    metadata = of["metadata"]
    return json.dumps({"name": metadata["name"], "uid": metadata["uid"]})


def _reserved(context: FaultContext) -> str:
    """Return the name of the reservation."""
    return f"{EXPECTED}-{context.namespace}"


def _reservation(context: FaultContext) -> Manifest:
    controller = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": EXPECTED, "namespace": context.namespace}
    pod = {"kind": "Pod", "name": EXPECTED, "namespace": context.namespace}
    labelled = {"controller": controller, "labelSelector": {"matchLabels": {"app": EXPECTED}}}
    requests = {"cpu": "100m", "memory": RESERVED}
    return reservation_manifest(_reserved(context), requests, [labelled, {"object": pod}])


def _is_available(name: str, state: State) -> ConditionResult:
    bodies = state.bodies("Reservation")
    phases = {body["metadata"]["name"]: (body.get("status") or {}).get("phase", "") for body in bodies}
    return ConditionResult(phases.get(name) == "Available", f"reservations are {phases}")
