"""A tenant of the cluster: an account with an editor's rights in its own namespace.

What it may do beyond that, the API server's own RBAC says.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from http import HTTPStatus

from benchmarks.faults.context import FaultContext
from stowage_testbed.api.client import ApiRefusedError, Manifest, new_api_client
from stowage_testbed.api.objects import Objects, make_manifest
from stowage_testbed.base.errors import StowageError
from stowage_testbed.cluster.service_account import write_account_kubeconfig
from stowage_testbed.run.environment import LONGEST_NAME, await_account, make_namespace

ACCOUNT = "default"
RBAC = "rbac.authorization.k8s.io"
PLANNER = "stowage-fault-planner"
"""Role of those who may ask for plans."""


def settle_tenant(context: FaultContext, *, plans: bool) -> None:
    """Give the tenant a namespace, which is gone with all in it when the fault ends.

    With ``plans`` it may also ask for plans.
    """
    run, namespace = context.run, tenant_namespace(context)
    context.on_end(partial(context.remove_namespace, namespace))
    make_namespace(run, namespace)
    await_account(run, namespace)
    context.objects.create(_binding("RoleBinding", "edit", namespace))
    if plans:
        rule = {
            "apiGroups": ["stowage.dev"],
            "resources": ["packingplans"],
            "verbs": ["create", "get", "list"],
        }
        role = make_manifest(f"{RBAC}/v1", "ClusterRole", PLANNER, rules=[rule])
        for one in (role, _binding("ClusterRoleBinding", PLANNER, namespace)):
            context.create(one)


def tenant_namespace(context: FaultContext) -> str:
    """Return the name of the tenant's namespace in this try."""
    return f"tenant-{context.namespace}"[:LONGEST_NAME].rstrip("-")


def tenant_objects(context: FaultContext) -> Objects:
    """Return requests with the tenant's own rights and no others."""
    namespace, cluster = tenant_namespace(context), context.run.cluster
    file = cluster.workdir / f"{namespace}.yaml"
    write_account_kubeconfig(
        context.run.api, cluster.kubeconfig, namespace, ACCOUNT, file
    )
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
    return make_manifest(
        f"{RBAC}/v1",
        kind,
        role,
        namespace if kind == "RoleBinding" else "",
        roleRef={"apiGroup": RBAC, "kind": "ClusterRole", "name": role},
        subjects=[account],
    )
