"""The resource metrics API of a cluster, from KWOK's simulated usage.

The real metrics-server runs as a local process. It scrapes KWOK, which plays every fake node's kubelet, and serves
``metrics.k8s.io`` behind the API server, where the HorizontalPodAutoscaler and ``kubectl top`` find it.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from stowage_testbed.api.client import Manifest, ask
from stowage_testbed.api.manifests import read_manifests
from stowage_testbed.api.objects import Objects
from stowage_testbed.base.errors import StowageError
from stowage_testbed.cluster.components import HOST_NODE, METRICS_SERVER, await_state, spawn_component, write_private
from stowage_testbed.cluster.kwokctl_config import arguments_of
from stowage_testbed.cluster.listing import read_owner
from stowage_testbed.cluster.node_pool import metrics_path
from stowage_testbed.cluster.ports import port_beside
from stowage_testbed.cluster.probes import ApiProbe
from stowage_testbed.toolchain import tool_path

if TYPE_CHECKING:
    from kubernetes.client import ApiClient

_HERE = Path(__file__).parent
NAMESPACE = "kube-system"
HOST = f"{METRICS_SERVER}.{NAMESPACE}.svc"
"""The name that the API server expects in its certificate."""
_API_SERVICE = "v1beta1.metrics.k8s.io"
USAGE = "usage"
CPU_ANNOTATION = "kwok.x-k8s.io/usage-cpu"
MEMORY_ANNOTATION = "kwok.x-k8s.io/usage-memory"
TOKEN_LIFE_S = 7 * 24 * 3600
"""No cluster on fake nodes lives longer; a token dies with its account anyway."""
MEMORY = "64Mi"
"""What every pod uses; metrics-server takes a container without memory for gone."""


class FakeKubelet:
    """The kubelets of all fake nodes of the cluster in ``workdir``: KWOK.

    KWOK adds up CPU seconds only when it is asked, and then as if the usage of that moment had lasted since it was
    asked before. Whoever changes the usage therefore reads the meters first, so that what was used until then is booked
    as it was.
    """

    def __init__(self, workdir: Path) -> None:
        owner = read_owner(workdir)
        if owner is None or not (workdir / METRICS_SERVER).is_dir():
            raise StowageError(
                f"cluster {workdir.name!r} measures no usage; bring one up that does with: stowage up NAME --metrics"
            )
        self._probe = ApiProbe(workdir, owner.ports.kwok_controller)

    def read_meters(self, nodes: Iterable[str]) -> None:
        """Scrape these nodes, so that their usage until now is booked."""
        for node in nodes:
            status, body = self._probe.ask(metrics_path(node))
            if status != HTTPStatus.OK:
                answer = f"{status or ''} {body.strip()[:200]}".strip()
                raise StowageError(
                    f"the fake kubelet of node {node!r} gave no reading ({answer}); "
                    "see logs/kwok-controller.log in the cluster's folder"
                )


def serve_usage_api(objects: Objects, timeout_s: float) -> None:
    """Create the kinds, wait until they are served, and describe a fake kubelet.

    Pods use no CPU, unless their annotations say so, until it is set.

    To be done before KWOK asks for them: it repeats a failed list only after seconds.
    """
    definitions = read_manifests("usage-crds.yaml", _HERE)
    for definition in definitions:
        objects.create(definition)
    for definition in definitions:
        objects.await_definition(definition["metadata"]["name"], timeout_s)
    for manifest in (*read_manifests("kubelet-metrics.yaml", _HERE), usage_object({})):
        objects.create(manifest)


def usage_object(cpu_milli: Mapping[str, int]) -> Manifest:
    """Return what KWOK simulates, given each pod's CPU by namespace; others use none.

    KWOK takes the first of several objects that match a pod, in an order that means nothing. So there is one for the
    whole cluster: what a pod's annotations say, else what is set for its namespace, else nothing.
    """
    cpu = 'Quantity("0")'
    for namespace, milli in cpu_milli.items():
        mine = f'pod.metadata.namespace == "{namespace}"'
        cpu = f'{mine} ? Quantity("{milli}m") : {cpu}'
    usage = {
        "cpu": {"expression": _annotated(CPU_ANNOTATION, cpu)},
        "memory": {"expression": _annotated(MEMORY_ANNOTATION, f'Quantity("{MEMORY}")')},
    }
    return {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "ClusterResourceUsage",
        "metadata": {"name": USAGE},
        "spec": {"usages": [{"usage": usage}]},
    }


def _annotated(annotation: str, otherwise: str) -> str:
    annotations = "pod.metadata.annotations"
    return f'"{annotation}" in {annotations} ? Quantity({annotations}["{annotation}"]) : ({otherwise})'


def make_identity(api: ApiClient, admin: Path, folder: Path) -> str:
    """Write what metrics-server starts with into a new ``folder``, readable by this user only.

    Its certificate is checked with the bundle that is returned, in base64; ``admin`` is an administrator's kubeconfig.
    """
    import trustme  # noqa: PLC0415 - it takes long to import, and few clusters need it

    folder.mkdir(mode=0o700)
    authority = trustme.CA()
    issued = authority.issue_cert(HOST)
    write_private(folder / "tls.crt", issued.cert_chain_pems[0].bytes())
    write_private(folder / "tls.key", issued.private_key_pem.bytes())
    write_account_kubeconfig(api, admin, NAMESPACE, METRICS_SERVER, folder / "kubeconfig.yaml")
    return base64.b64encode(authority.cert_pem.bytes()).decode()


def write_account_kubeconfig(api: ApiClient, admin: Path, namespace: str, name: str, target: Path) -> None:
    """Write the administrator's kubeconfig with a ServiceAccount's token as its user, for this user's eyes only."""
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
    request = {"spec": {"expirationSeconds": TOKEN_LIFE_S}}
    answer = ask(api, "POST", path, f"give a token of ServiceAccount {name}", request)
    kubeconfig = yaml.safe_load(admin.read_text(encoding="utf-8"))
    (account,) = kubeconfig["users"]
    account["user"] = {"token": answer["status"]["token"]}
    write_private(target, yaml.safe_dump(kubeconfig).encode())


def start_metrics_server(
    api: ApiClient, kubeconfig: Path, *, kubelet_port: int, resolution_s: int, timeout_s: float
) -> None:
    """Start metrics-server on the cluster of ``kubeconfig``, and return when the API server serves ``metrics.k8s.io``.

    KWOK answers on ``kubelet_port`` for every fake node, and is scraped every ``resolution_s``: a new pod has a reading
    after its second scrape, or after its first if it is more than 10 s old then.
    """
    workdir = kubeconfig.parent
    port = port_beside(workdir.name)
    *account, registration = read_manifests("metrics-server.yaml", _HERE)
    objects = Objects(api)
    for manifest in account:
        objects.create(manifest)
    ca_bundle = make_identity(api, kubeconfig, workdir / METRICS_SERVER)
    arguments = arguments_of(
        "metrics-server",
        workdir=workdir,
        port=port,
        kubelet_port=kubelet_port,
        resolution_s=resolution_s,
        timeout_s=resolution_s // 2,
        host_node=HOST_NODE,
    )
    spawn_component(workdir, METRICS_SERVER, [str(tool_path(METRICS_SERVER))], arguments[METRICS_SERVER])
    registration["spec"]["service"]["port"] = port
    registration["spec"]["caBundle"] = ca_bundle
    objects.create(registration)

    def availability() -> str:
        status = objects.read("APIService", _API_SERVICE).get("status") or {}
        found = (one for one in status.get("conditions") or () if one["type"] == "Available")
        return next((f"{one['status']}: {one['message']}" for one in found), "not looked at")

    await_state(
        workdir,
        "the API server to reach metrics-server",
        availability,
        lambda seen: seen.startswith("True"),
        of=METRICS_SERVER,
        timeout_s=timeout_s,
    )
