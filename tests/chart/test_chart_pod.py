"""The rendered pod: security, credentials, probes, paths."""

import pytest
from chart_render import Manifest, of_kind, pod_spec, render

from stowage_testbed.images.recipe import recipe_of
from stowage_testbed.toolchain.manifest import built_minors, find_minor

pytestmark = pytest.mark.chart


def containers(*settings: str, kubernetes: str = "1.37.2") -> dict[str, Manifest]:
    objects = render(*settings, kubernetes=kubernetes)
    return {c["name"]: c for c in pod_spec(objects)["containers"]}


def test_every_container_meets_the_restricted_standard() -> None:
    """Namespaces that enforce it would refuse the pod."""
    spec = pod_spec(render())
    restricted = {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "runAsNonRoot": True,
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    kinds = {kind for volume in spec["volumes"] for kind in volume if kind != "name"}

    assert {one["name"]: one["securityContext"] for one in spec["containers"]} == {
        "scheduler": restricted, "optimizer": restricted,
    }  # fmt: skip
    # RunAsNonRoot alone fails on images whose user has no number.
    assert spec["securityContext"]["runAsUser"] > 0
    assert not {"hostNetwork", "hostPID", "hostIPC"} & spec.keys()
    assert kinds <= {"configMap", "projected", "emptyDir"}


def test_the_optimiser_holds_no_credentials() -> None:
    """It reads untrusted snapshots, so it must have nothing to steal."""
    objects = render()
    spec = pod_spec(objects)
    (account,) = of_kind(objects, "ServiceAccount")
    with_token = {volume["name"] for volume in spec["volumes"] if "serviceAccountToken" in str(volume)}
    mounts = {mount["name"] for mount in containers()["optimizer"]["volumeMounts"]}

    assert account["automountServiceAccountToken"] is False
    assert spec["automountServiceAccountToken"] is False
    assert with_token == {"credentials"}
    assert mounts == {"socket", "temporary"}


def test_every_container_is_probed() -> None:
    """A readiness that nobody asks for is no readiness."""
    scheduler, optimizer = containers()["scheduler"], containers()["optimizer"]
    asked = ["probe", "--socket=/run/stowage/optimizer.sock"]

    assert scheduler["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert scheduler["livenessProbe"]["httpGet"]["scheme"] == "HTTPS"
    assert optimizer["livenessProbe"]["exec"]["command"][1:3] == asked
    assert optimizer["startupProbe"]["exec"]["command"][1:] == [
        *asked, "--wait", "--timeout-s=4",
    ]  # fmt: skip


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
        binding["roleRef"]["name"] for binding in of_kind(render(metrics), "RoleBinding")
    ]


def network_policy(*settings: str) -> Manifest:
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
    (test_pod,) = of_kind(render(metrics, hooks=True), "Pod")
    labels = test_pod["metadata"]["labels"].items()
    # Those that tell the pod of ``helm test`` from all others.
    own = {name: of for name, of in labels if name.endswith(("/name", "/instance"))}

    assert network_policy()["ingress"] == []
    assert network_policy(metrics)["ingress"] == [port]
    (limited,) = network_policy(metrics, scraper)["ingress"]
    assert limited == port | {
        "from": [{"namespaceSelector": {"matchLabels": {"team": "monitoring"}}}, {"podSelector": {"matchLabels": own}}]
    }


def test_a_network_policy_lets_the_pod_reach_the_api_server_and_dns_only() -> None:
    """A pod that may evict pods needs no way out of the cluster."""
    limited = network_policy(
        "networkPolicy.apiServer.cidrs={10.0.0.1/32}", "networkPolicy.apiServer.ports={6443}", "networkPolicy.dns=false"
    )

    def ports(*of: tuple[int, str]) -> list[Manifest]:
        return [{"port": port, "protocol": protocol} for port, protocol in of]

    assert network_policy()["egress"] == [
        {"ports": ports((443, "TCP"), (6443, "TCP"))},
        {"ports": ports((53, "UDP"), (53, "TCP"))},
    ]
    address = [{"ipBlock": {"cidr": "10.0.0.1/32"}}]
    assert limited["egress"] == [{"ports": ports((6443, "TCP")), "to": address}]


def test_the_secure_port_takes_its_certificate_from_a_secret() -> None:
    """Tokens are sent to it, so callers must be able to verify it."""
    spec = pod_spec(render("scheduler.tlsSecretName=serving"))
    scheduler, folder = spec["containers"][0], "/var/run/secrets/stowage"
    secrets = [
        (volume["name"], source["secret"]["name"])
        for volume in spec["volumes"]
        for source in volume.get("projected", {}).get("sources", ())
        if "secret" in source
    ]
    mount = {"name": "credentials", "mountPath": folder, "readOnly": True}

    assert f"--tls-cert-file={folder}/tls.crt" in scheduler["args"]
    assert f"--tls-private-key-file={folder}/tls.key" in scheduler["args"]
    assert secrets == [("credentials", "serving")]
    assert mount in scheduler["volumeMounts"]


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


def test_a_changed_configuration_restarts_the_scheduler() -> None:
    """The scheduler reads its configuration only once."""

    def checksum(*settings: str) -> str:
        (deployment,) = of_kind(render(*settings), "Deployment")
        annotations = deployment["spec"]["template"]["metadata"]["annotations"]
        return str(annotations["checksum/config"])

    assert checksum() == checksum()
    assert checksum() != checksum("schedulerName=other")


@pytest.mark.parametrize(
    ("version", "minor"),
    [
        *((find_minor(one).kubernetes, one) for one in built_minors()),
        # Upstream allows a scheduler that is older, and none that is newer.
        ("v1.34.1", "1.36"),
        ("v1.38.0-alpha.1", "1.37"),
    ],
)
def test_the_image_is_that_of_the_cluster_s_minor_or_the_newest_before_it(version: str, minor: str) -> None:
    """A scheduler that is newer than its API server never becomes ready."""
    found = containers(kubernetes=version.removeprefix("v"))

    assert {name: one["image"] for name, one in found.items()} == {
        name: recipe_of(name, minor).reference for name in ("scheduler", "optimizer")
    }
