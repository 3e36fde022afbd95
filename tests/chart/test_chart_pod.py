"""The rendered pod: security, credentials, probes, paths."""

from __future__ import annotations

import pytest
from chart_render import PROFILES, Manifest, of_kind, pod_spec, render

from stowage_testbed.images.recipe import recipe_of
from stowage_testbed.toolchain.minors import built_minors, find_minor

pytestmark = pytest.mark.chart


def containers(*settings: str, kubernetes: str = "1.37.2") -> dict[str, Manifest]:
    objects = render(*settings, kubernetes=kubernetes)
    return {c["name"]: c for c in pod_spec(objects)["containers"]}


@pytest.mark.parametrize("name", ["scheduler", "optimizer"])
def test_every_container_meets_the_restricted_standard(name: str) -> None:
    """Namespaces that enforce it would refuse the pod."""
    context = containers()[name]["securityContext"]

    assert context == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "runAsNonRoot": True,
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def test_the_pod_runs_as_an_ordinary_user_without_the_hosts_namespaces() -> None:
    """RunAsNonRoot alone fails on images whose user has no number."""
    spec = pod_spec(render())

    assert spec["securityContext"]["runAsUser"] > 0
    assert not {"hostNetwork", "hostPID", "hostIPC"} & spec.keys()
    kinds = {kind for volume in spec["volumes"] for kind in volume if kind != "name"}
    assert kinds <= {"configMap", "projected", "emptyDir"}


def test_the_optimiser_holds_no_credentials() -> None:
    """It reads untrusted snapshots, so it must have nothing to steal."""
    objects = render()
    spec = pod_spec(objects)
    (account,) = of_kind(objects, "ServiceAccount")
    optimizer = containers()["optimizer"]

    assert account["automountServiceAccountToken"] is False
    assert spec["automountServiceAccountToken"] is False
    with_token = {
        volume["name"]
        for volume in spec["volumes"]
        if "serviceAccountToken" in str(volume)
    }
    assert with_token == {"credentials"}
    mounts = {mount["name"] for mount in optimizer["volumeMounts"]}
    assert mounts == {"socket", "temporary"}


def test_every_container_is_probed() -> None:
    """A readiness that nobody asks for is no readiness."""
    scheduler, optimizer = containers()["scheduler"], containers()["optimizer"]

    assert scheduler["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert scheduler["livenessProbe"]["httpGet"]["scheme"] == "HTTPS"
    for probe in ("startupProbe", "livenessProbe"):
        command = optimizer[probe]["exec"]["command"]
        assert command[1:3] == ["probe", "--socket=/run/stowage/optimizer.sock"]
    assert optimizer["startupProbe"]["exec"]["command"][3:] == [
        "--wait",
        "--timeout-s=4",
    ]


def test_the_plugin_and_the_optimiser_agree_on_the_socket() -> None:
    """Both sides derive it from one value."""
    objects = render("paths.socket=/somewhere/else")
    socket = "/somewhere/else/optimizer.sock"
    (config,) = of_kind(objects, "ConfigMap")
    (_, optimizer) = pod_spec(objects)["containers"]

    assert f"--socket={socket}" in optimizer["args"]
    assert f"socket: {socket}\n" in config["data"]["scheduler.yaml"]


def test_metrics_are_served_to_callers_that_the_api_server_knows() -> None:
    """Without the API server's word on its callers the scheduler would refuse all."""
    metrics = "scheduler.metrics.enabled=true"
    arguments = containers(metrics)["scheduler"]["args"]

    for what in ("authentication", "authorization"):
        assert f"--{what}-kubeconfig=/etc/stowage/kubeconfig.yaml" in arguments
    assert "extension-apiserver-authentication-reader" in [
        binding["roleRef"]["name"]
        for binding in of_kind(render(metrics), "RoleBinding")
    ]


def _network_policy(*settings: str) -> Manifest:
    objects = render("networkPolicy.enabled=true", *settings)
    (policy,) = of_kind(objects, "NetworkPolicy")
    (deployment,) = of_kind(objects, "Deployment")
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    spec: Manifest = policy["spec"]
    assert spec["podSelector"]["matchLabels"].items() <= labels.items()
    assert spec["policyTypes"] == ["Ingress", "Egress"]
    return spec


def test_a_network_policy_lets_metrics_be_scraped() -> None:
    """Both values together must not shut out those that the first lets in."""
    metrics = "scheduler.metrics.enabled=true"
    scraper = "networkPolicy.callers[0].namespaceSelector.matchLabels.team=monitoring"
    port = {"ports": [{"port": "https"}]}

    assert _network_policy()["ingress"] == []
    assert _network_policy(metrics)["ingress"] == [port]
    (limited,) = _network_policy(metrics, scraper)["ingress"]
    assert limited == port | {
        "from": [
            {"namespaceSelector": {"matchLabels": {"team": "monitoring"}}},
            {"podSelector": {"matchLabels": _labels_of_the_test(metrics)}},
        ]
    }


def _labels_of_the_test(*settings: str) -> Manifest:
    """Return those of the pod of ``helm test`` that tell it from all others."""
    (pod,) = of_kind(render(*settings, hooks=True), "Pod")
    labels: Manifest = pod["metadata"]["labels"]
    return {
        name: value
        for name, value in labels.items()
        if name.endswith(("/name", "/instance"))
    }


def test_a_network_policy_lets_the_pod_reach_the_api_server_and_dns_only() -> None:
    """A pod that may evict pods needs no way out of the cluster."""
    dns = [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}]
    address = (
        "networkPolicy.apiServer.cidrs={10.0.0.1/32}",
        "networkPolicy.apiServer.ports={6443}",
        "networkPolicy.dns=false",
    )

    assert _network_policy()["egress"] == [
        {"ports": [{"port": port, "protocol": "TCP"} for port in (443, 6443)]},
        {"ports": dns},
    ]
    assert _network_policy(*address)["egress"] == [
        {
            "ports": [{"port": 6443, "protocol": "TCP"}],
            "to": [{"ipBlock": {"cidr": "10.0.0.1/32"}}],
        }
    ]


def test_the_secure_port_takes_its_certificate_from_a_secret() -> None:
    """Tokens are sent to it, so callers must be able to verify it."""
    objects = render("scheduler.tlsSecretName=serving")
    scheduler = containers("scheduler.tlsSecretName=serving")["scheduler"]
    folder = "/var/run/secrets/stowage"

    assert f"--tls-cert-file={folder}/tls.crt" in scheduler["args"]
    assert f"--tls-private-key-file={folder}/tls.key" in scheduler["args"]
    assert [
        (volume["name"], source["secret"]["name"])
        for volume in pod_spec(objects)["volumes"]
        for source in volume.get("projected", {}).get("sources", ())
        if "secret" in source
    ] == [("credentials", "serving")]
    assert {"name": "credentials", "mountPath": folder, "readOnly": True} in (
        scheduler["volumeMounts"]
    )


def test_without_the_optimiser_the_scheduler_is_alone() -> None:
    """The deterministic baseline must not carry what it does not use."""
    spec = pod_spec(render("profile=deterministic", "optimizer.enabled=false"))

    assert [c["name"] for c in spec["containers"]] == ["scheduler"]
    assert {v["name"] for v in spec["volumes"]} == {"config", "credentials"}


def test_large_numbers_are_written_out() -> None:
    """Helm reads numbers as floats: 2 GiB must not become 2.147483648e+09."""
    arguments = containers("optimizer.maxRequestBytes=1073741824")["optimizer"]["args"]

    assert "--memory-limit-bytes=2147483648" in arguments
    assert "--max-request-bytes=1073741824" in arguments


@pytest.mark.parametrize("profile", PROFILES)
def test_a_changed_configuration_restarts_the_scheduler(profile: str) -> None:
    """The scheduler reads its configuration only once."""

    def checksum(*settings: str) -> str:
        (deployment,) = of_kind(render(*settings), "Deployment")
        annotations = deployment["spec"]["template"]["metadata"]["annotations"]
        return str(annotations["checksum/config"])

    before = checksum(f"profile={profile}")

    assert before == checksum(f"profile={profile}")
    assert before != checksum(f"profile={profile}", "schedulerName=other")


def test_names_of_cluster_wide_objects_carry_the_namespace() -> None:
    """Two releases of one name in two namespaces must not share a role."""
    names = {o["metadata"]["name"] for o in of_kind(render(), "ClusterRole")}

    assert names == {"ns:stowage"}


@pytest.mark.parametrize("minor", built_minors())
def test_the_image_is_that_of_the_cluster_s_minor(minor: str) -> None:
    """A scheduler that is newer than its API server never becomes ready."""
    version = find_minor(minor).kubernetes.removeprefix("v")

    images = {n: c["image"] for n, c in containers(kubernetes=version).items()}

    assert images == {
        name: recipe_of(name, minor).reference for name in ("scheduler", "optimizer")
    }


@pytest.mark.parametrize(
    ("version", "minor"), [("1.34.1", "1.36"), ("1.38.0-alpha.1", "1.37")]
)
def test_a_cluster_of_another_minor_gets_the_newest_before_it(
    version: str, minor: str
) -> None:
    """Upstream allows a scheduler that is older, and none that is newer."""
    image = containers(kubernetes=version)["scheduler"]["image"]

    assert image.endswith(f"-k8s{minor}")
