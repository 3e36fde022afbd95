"""A cluster's metrics: what is asked of the components, and what they may do."""

from __future__ import annotations

import stat
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from amounts import size
from cryptography import x509

from stowage_testbed.base.errors import StowageError
from stowage_testbed.cluster.kwok_binary import KwokBinaryCluster
from stowage_testbed.cluster.metrics_server import server
from stowage_testbed.cluster.metrics_server.fake_kubelet import FakeKubelet
from stowage_testbed.cluster.metrics_server.objects import read_manifests, usage_object
from stowage_testbed.cluster.node_pool import NodePool, metrics_path
from stowage_testbed.cluster.service_account import write_private
from stowage_testbed.toolchain import ToolMissingError


def test_a_missing_metrics_server_is_reported_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STOWAGE_CACHE", str(tmp_path))
    cluster = KwokBinaryCluster("one", resolution_s=15)

    with pytest.raises(
        ToolMissingError, match="kwokctl and metrics-server are not installed"
    ):
        cluster.up()

    assert not cluster.workdir.exists()


def test_metrics_server_may_read_nodes_and_pods_and_nothing_else() -> None:
    """It serves everybody, so what it may read everybody can."""
    manifests = read_manifests("metrics-server")
    (role,) = [m for m in manifests if m["kind"] == "ClusterRole"]

    assert {
        (resource, verb)
        for rule in role["rules"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    } == {
        ("nodes/metrics", "get"),
        *product(("nodes", "pods"), ("get", "list", "watch")),
    }
    (service,) = [m for m in manifests if m["kind"] == "Service"]
    assert service["spec"]["externalName"] == "127.0.0.1"


def test_the_api_server_checks_metrics_server_s_certificate() -> None:
    (registration,) = [
        m for m in read_manifests("metrics-server") if m["kind"] == "APIService"
    ]

    assert "insecureSkipTLSVerify" not in registration["spec"]


def test_the_certificate_is_made_out_to_the_service(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And its key is nobody else's to read."""

    def written(api: object, admin: Path, namespace: str, name: str, to: Path) -> None:
        assert (namespace, name) == ("kube-system", "metrics-server")
        write_private(to, b"{}")

    monkeypatch.setattr(server, "write_account_kubeconfig", written)
    api: Any = object()

    made = server.make_identity(api, tmp_path / "admin", tmp_path / "metrics-server")

    certificate = x509.load_pem_x509_certificate(made.certificate.read_bytes())
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    found = names.value.get_values_for_type(x509.DNSName)
    assert found == ["metrics-server.kube-system.svc"]
    for file in (made.key, made.kubeconfig):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(made.key.parent.stat().st_mode) == 0o700


def test_every_node_says_where_its_usage_is() -> None:
    """One KWOK answers for all of them, on one port."""
    (node,) = NodePool("n", 1, size(1000, 1 << 30)).manifests()

    path = node["metadata"]["annotations"]["metrics.k8s.io/resource-metrics-path"]
    assert path == metrics_path("n-0")
    (metric,) = read_manifests("kubelet-metrics")
    assert metric["spec"]["path"].format(nodeName="n-0") == path


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
        FakeKubelet.of(tmp_path / "one")
