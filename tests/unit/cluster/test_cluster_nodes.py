"""Node pools from YAML, with every issue named, and what measures them."""

import stat
from pathlib import Path
from typing import Any

import pytest
import yaml
from amounts import size
from cryptography import x509

from stowage_testbed.amounts.resources import Resources
from stowage_testbed.api.manifests import read_manifests
from stowage_testbed.base.errors import StowageError
from stowage_testbed.cluster import metrics_server as server
from stowage_testbed.cluster.components import write_private
from stowage_testbed.cluster.devices import Devices
from stowage_testbed.cluster.metrics_server import FakeKubelet, usage_object
from stowage_testbed.cluster.node_pool import ZONE_LABEL, NodePool, NodePoolError, Taint, parse_node_specs

HERE = Path(server.__file__).parent
BAD = yaml.safe_load(Path(__file__).with_name("node_specs.yaml").read_text("utf-8"))


def test_a_full_spec_is_read_from_a_line_or_a_file(tmp_path: Path) -> None:
    """Everything that a pool can have, as the documentation writes it."""
    spec = (
        "{prefix: gpu, count: 3, cpu: 1500m, memory: 8Gi, pods: 20, labels: {zone: a, x.io/y: 1}, "
        "taints: [{key: gpu, value: big, effect: NoSchedule}, {key: spare, effect: NoExecute}], zones: [a, b], "
        "resources: {nvidia.com/gpu: 4}, devices: {model: H100, count: 8, memory: 80Gi, partitions: mig, shares: true}}"
    )
    (tmp_path / "nodes.yaml").write_text(f"- {spec}\n")
    wanted = NodePool(
        name_prefix="gpu",
        count=3,
        resources=size(1500, 8 << 30, 20, {"nvidia.com/gpu": 4}),
        labels={"zone": "a", "x.io/y": "1"},
        taints=(Taint("gpu", "NoSchedule", "big"), Taint("spare", "NoExecute")),
        zones=("a", "b"),
        devices=(Devices(model="H100", count=8, memory="80Gi", partitions="mig", shares=True),),
    )

    assert parse_node_specs([spec]) == [wanted]
    assert parse_node_specs([str(tmp_path / "nodes.yaml")]) == [wanted]
    assert parse_node_specs(["cpu: 1, memory: 1Gi"]) == [NodePool("node", 1, size(1000, 1 << 30))]


@pytest.mark.parametrize(("spec", "issues"), BAD.items())
def test_issues_are_all_named_by_field_and_value(spec: str, issues: list[str]) -> None:
    """One issue a run would take many runs."""
    with pytest.raises(NodePoolError) as caught:
        parse_node_specs([spec])

    assert len(caught.value.issues) == len(issues)
    for issue in issues:
        assert issue in str(caught.value)


def test_pools_of_one_name_or_without_room_are_refused() -> None:
    """Nodes would have the same names; scenarios build pools too, as clearly."""
    with pytest.raises(NodePoolError, match="a second pool is called 'node'"):
        parse_node_specs(["{cpu: 1, memory: 1Gi}", "{cpu: 2, memory: 1Gi}"])
    with pytest.raises(NodePoolError, match=r"count is 0.*cpu is -1"):
        NodePool("node", 0, size(-1, 1))


def test_nodes_are_named_zoned_and_sized_exactly() -> None:
    """Ties go to the first by name, and a byte can decide whether a pod fits."""
    offered = size(1001, 2**33 + 1, more={"nvidia.com/gpu": 2})
    nodes = NodePool("node", 11, offered, zones=("a", "b")).manifests()
    sizes = {"cpu": "1001m", "memory": "8589934593", "pods": "110"}
    sizes["nvidia.com/gpu"] = "2"

    names = [node["metadata"]["name"] for node in nodes]
    assert names[0] == "node-00"
    assert names == sorted(names)
    zones = [node["metadata"]["labels"][ZONE_LABEL] for node in nodes[:3]]
    assert zones == ["a", "b", "a"]
    assert nodes[0]["status"]["allocatable"] == sizes
    assert nodes[0]["status"]["capacity"] == sizes


def test_a_node_offers_its_devices_as_extended_resources() -> None:
    """A pod that requests them is not larger than the node, although the node's status does not list them."""
    gpus = Devices(model="T4", count=2, resource="nvidia.com/gpu"), Devices(model="A100", count=3, name="big")
    pool = NodePool("node", 1, size(4000, 2**33), devices=gpus)

    prefix = "deviceclass.resource.kubernetes.io/"
    assert pool.offers - pool.resources == Resources({"nvidia.com/gpu": 2, f"{prefix}t4": 2, f"{prefix}big": 3})
    assert pool.manifests()[0]["status"]["allocatable"].keys() == {"cpu", "memory", "pods"}


def test_the_certificate_is_made_out_to_the_service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And its key is nobody else's to read."""

    def written(api: object, admin: Path, namespace: str, name: str, to: Path) -> None:
        assert (namespace, name) == ("kube-system", "metrics-server")
        write_private(to, b"{}")

    monkeypatch.setattr(server, "write_account_kubeconfig", written)
    api: Any = object()

    folder = tmp_path / "metrics-server"
    server.make_identity(api, tmp_path / "admin", folder)

    certificate = x509.load_pem_x509_certificate((folder / "tls.crt").read_bytes())
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    found = names.value.get_values_for_type(x509.DNSName)
    assert found == ["metrics-server.kube-system.svc"]
    for name in ("tls.key", "kubeconfig.yaml"):
        assert stat.S_IMODE((folder / name).stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    # The API server holds it against that name.
    (registration,) = [one for one in read_manifests("metrics-server.yaml", HERE) if one["kind"] == "APIService"]
    assert "insecureSkipTLSVerify" not in registration["spec"]


def test_a_pod_s_annotation_goes_before_its_namespace_s_usage() -> None:
    usage = usage_object({"shop": 417})["spec"]["usages"][0]["usage"]

    assert usage["cpu"]["expression"] == (
        '"kwok.x-k8s.io/usage-cpu" in pod.metadata.annotations '
        '? Quantity(pod.metadata.annotations["kwok.x-k8s.io/usage-cpu"]) '
        ': (pod.metadata.namespace == "shop" ? Quantity("417m") : Quantity("0"))'
    )


def test_a_cluster_without_metrics_is_distinguished(tmp_path: Path) -> None:
    """A run on it would wait for a reading that never comes."""
    with pytest.raises(StowageError, match="stowage up NAME --metrics"):
        FakeKubelet(tmp_path / "one")
