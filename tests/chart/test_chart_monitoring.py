"""What lets Prometheus and Grafana see the scheduler, read from the rendered chart."""

import json
from typing import Any

import pytest
import yaml
from chart_render import ChartRefusedError, Manifest, of_kind, pod_spec, render
from go_module import go_module
from jsonschema import Draft202012Validator

from stowage_testbed.helm.install import CHART

pytestmark = pytest.mark.chart

METRICS = "scheduler.metrics.enabled=true"
MONITOR = "scheduler.metrics.serviceMonitor.enabled=true"
RULE = "scheduler.metrics.prometheusRule.enabled=true"
DASHBOARD = "scheduler.metrics.dashboard.enabled=true"
OPERATOR = ("ServiceMonitor", "PrometheusRule")
ALERTS = (CHART / "rules/alerts.yaml").read_text("utf-8")
DEFINITIONS = "github.com/prometheus-operator/prometheus-operator"


def endpoint(*settings: str) -> Manifest:
    (monitor,) = of_kind(render(METRICS, MONITOR, *settings), "ServiceMonitor")
    (only,) = monitor["spec"]["endpoints"]
    described: Manifest = only
    return described


def dashboard_of(objects: list[Manifest]) -> Manifest:
    maps = of_kind(objects, "ConfigMap")
    (only,) = [one for one in maps if "stowage.json" in one["data"]]
    return only


def test_nothing_that_needs_the_operator_is_installed_unasked() -> None:
    """Helm would fail on a cluster without its CRDs."""
    assert not of_kind(render(), "Service", *OPERATOR)
    assert not of_kind(render(METRICS), *OPERATOR)
    assert of_kind(render(METRICS), "Service")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        *(
            (
                [f"scheduler.metrics.{name}.enabled=true"],
                rf"{name} needs metrics, .* set scheduler\.metrics\.enabled=true",
            )
            for name in ("serviceMonitor", "prometheusRule", "dashboard")
        ),
        # A certificate of the scheduler's own making has no authority.
        ([METRICS, MONITOR, "scheduler.metrics.serviceMonitor.caSecret.name=mine"], r"set scheduler\.tlsSecretName"),
    ],
)
def test_a_scrape_that_would_always_fail_says_what_to_set(settings: list[str], said: str) -> None:
    """A monitor of a port that refuses every scrape would be down for ever."""
    with pytest.raises(ChartRefusedError, match=said):
        render(*settings)


def test_the_monitor_reaches_the_schedulers_port_through_the_service() -> None:
    """Monitor, Service, pod and container name each other by labels and ports."""
    objects = render(METRICS, MONITOR, "scheduler.securePort=12345")
    (monitor,) = of_kind(objects, "ServiceMonitor")
    (service,) = of_kind(objects, "Service")
    (deployment,) = of_kind(objects, "Deployment")
    pod = deployment["spec"]["template"]["metadata"]["labels"]
    (port,) = service["spec"]["ports"]
    scheduler = pod_spec(objects)["containers"][0]

    wanted = monitor["spec"]["selector"]["matchLabels"]
    assert wanted.items() <= service["metadata"]["labels"].items()
    assert monitor["spec"]["namespaceSelector"]["matchNames"] == ["ns"]
    assert monitor["spec"]["endpoints"][0]["port"] == port["name"]
    assert service["spec"]["selector"].items() <= pod.items()
    assert {"name": port["targetPort"], "containerPort": 12345} in scheduler["ports"]


SECRETS = (
    "scheduler.metrics.serviceMonitor.tokenSecret.name=scraper",
    "scheduler.tlsSecretName=mine",
    "scheduler.metrics.serviceMonitor.caSecret.name=authority",
)


def test_a_scrape_brings_a_token_over_an_encrypted_connection() -> None:
    """The secure port refuses who does not say who he is."""
    plain, given = endpoint(), endpoint(*SECRETS)

    assert (plain["scheme"], plain["path"]) == ("https", "/metrics")
    assert plain["bearerTokenFile"].endswith("/serviceaccount/token")
    assert plain["tlsConfig"] == {"insecureSkipVerify": True}
    assert "bearerTokenFile" not in given
    assert given["authorization"]["credentials"] == {"name": "scraper", "key": "token"}
    assert given["tlsConfig"] == {
        "serverName": "stowage-metrics.ns.svc",
        "ca": {"secret": {"name": "authority", "key": "ca.crt"}},
    }


def test_readers_get_the_right_to_metrics_and_nothing_else() -> None:
    """A scraper is the last one that should be able to do anything."""
    reader = "scheduler.metrics.readers[0]"
    objects = render(METRICS, f"{reader}.name=prom", f"{reader}.namespace=monitoring")
    named = "ns:stowage:metrics-reader"
    roles = {one["metadata"]["name"]: one["rules"] for one in of_kind(objects, "ClusterRole")}
    subjects = {one["roleRef"]["name"]: one["subjects"] for one in of_kind(objects, "ClusterRoleBinding")}

    assert roles[named] == [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]
    assert subjects[named] == [{"kind": "ServiceAccount", "name": "prom", "namespace": "monitoring"}]
    assert len(of_kind(render(METRICS), "ClusterRole")) == 1


def test_objects_are_found_by_their_labels_and_arrive_as_they_were_tested() -> None:
    """Helm's templates and Prometheus's look alike: none may be taken for another."""
    objects = render(
        METRICS,
        *(MONITOR, RULE, DASHBOARD, "fullnameOverride=mine"),
        "scheduler.metrics.serviceMonitor.labels.release=prom",
        "scheduler.metrics.prometheusRule.labels.release=prom",
    )
    (rule,) = of_kind(objects, "PrometheusRule")
    dashboard = dashboard_of(objects)

    (monitor,) = of_kind(objects, "ServiceMonitor")
    (scraped,) = monitor["spec"]["endpoints"]

    for one in (monitor, rule):
        assert one["metadata"]["labels"]["release"] == "prom"
    # Else ``up`` of a release with another name would be nobody's.
    job = {"targetLabel": "job", "replacement": "stowage"}
    assert scraped["relabelings"] == [job]
    assert 'up{job="stowage"}' in ALERTS
    assert dashboard["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert rule["spec"] == yaml.safe_load(ALERTS)
    shown = json.loads(dashboard["data"]["stowage.json"])
    assert shown == json.loads((CHART / "dashboards/stowage.json").read_text("utf-8"))


def closed(schema: Any) -> Any:
    """Return a schema that knows all fields, as the API server warns of others."""
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: closed(value) for key, value in schema.items()}
    if isinstance(schema.get("properties"), dict):
        inner.setdefault("additionalProperties", False)
    return inner


@pytest.mark.parametrize("settings", [(), SECRETS], ids=["default", "secrets"])
@pytest.mark.parametrize("kind", OPERATOR)
def test_the_operator_takes_its_objects(kind: str, settings: tuple[str, ...]) -> None:
    """Judged by the operator's own definitions; an unknown field would be dropped."""
    folder = go_module(DEFINITIONS) / "example/prometheus-operator-crd"
    file = folder / f"monitoring.coreos.com_{kind.lower()}s.yaml"
    (version,) = yaml.safe_load(file.read_text("utf-8"))["spec"]["versions"]
    (written,) = of_kind(render(METRICS, MONITOR, RULE, *settings), kind)

    assert written["apiVersion"] == f"monitoring.coreos.com/{version['name']}"
    schema = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    Draft202012Validator(closed(schema)).validate(written["spec"])
