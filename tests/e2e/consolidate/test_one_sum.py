"""What emptied nodes cost is the same sum wherever it is told, to the cent."""

from __future__ import annotations

import http.client
import json
import re
import secrets
import ssl
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from amounts import asked, size
from browsing import Page, headless_chromium
from kubernetes.client import CoreV1Api, CustomObjectsApi
from release_environment import ReleaseEnvironment
from selenium.webdriver.support.ui import Select
from typer.testing import CliRunner

from stowage_testbed.api.objects import Objects
from stowage_testbed.base.wait import HANG_S, wait_until
from stowage_testbed.cli import app
from stowage_testbed.cluster import KwokBinaryCluster, NodePool, create_nodes
from stowage_testbed.cluster.interruption import running_cluster
from stowage_testbed.cluster.ports import port_beside
from stowage_testbed.compare.arms.default import default_arm
from stowage_testbed.helm import install_release
from stowage_testbed.live.server import LiveServer, serving
from stowage_testbed.live.watching import LiveWatch
from stowage_testbed.scenario.manifests import make_controller
from stowage_testbed.scenario.model import Workload

pytestmark = [pytest.mark.e2e, pytest.mark.browser]

GIB = 2**30
KINDS = 27
POLICY, POLICIES = "every-cent", ("stowage.dev", "v1alpha1", "packingpolicies")
METRIC = re.compile(rf'stowage_packing_policy_hourly_saving{{policy="{POLICY}"}} (\S+)')
CENT = Decimal("0.01")


@dataclass(frozen=True, slots=True)
class PricedFleet(ReleaseEnvironment):
    """One whose scheduler serves metrics."""

    metrics_port: int


def price(kind: int) -> Decimal:
    """Return what a node of a kind costs; four decimals, as the clouds have them."""
    return Decimal("0.0416") + kind * Decimal("0.0379")


@pytest.fixture(scope="module")
def environment(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[PricedFleet]:
    """Return a node of each kind, with a pod of the stock scheduler."""
    folder = tmp_path_factory.mktemp("stock")
    with (
        running_cluster(KwokBinaryCluster(f"prices-{secrets.token_hex(3)}")) as made,
        made.api_client() as api,
        default_arm().running(made, folder, None),
    ):
        pools = [
            NodePool(
                f"kind-{kind:02}",
                1,
                size(4000, 16 * GIB),
                labels={
                    "stowage.dev/hourly-price": str(price(kind)),
                    "node.kubernetes.io/instance-type": f"kind-{kind:02}",
                },
            )
            for kind in range(KINDS)
        ]
        create_nodes(api, pools)
        objects = Objects(api)
        objects.create(
            make_controller(Workload("web", KINDS, asked(900, GIB)), "default")
        )
        port = port_beside(made.name)
        reader = {"name": "default", "namespace": "default"}
        install_release(
            made,
            profile="optimizer",
            optimizer_enabled=True,
            values={
                "schedulerName": "stowage",
                "scheduler": {
                    "securePort": port,
                    "metrics": {"enabled": True, "readers": [reader]},
                },
            },
        )
        wait_until(
            "a pod on each node",
            lambda: objects.list_all("Pod", "default"),
            lambda pods: len(pods) == KINDS and all(map(_is_ready, pods)),
            timeout_s=HANG_S,
        )
        yield PricedFleet(made, api, port)


def _is_ready(pod: dict[str, Any]) -> bool:
    conditions = pod["status"].get("conditions") or ()
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def run_policy(environment: ReleaseEnvironment) -> dict[str, Any]:
    """Have a policy empty nodes, and return its status once its window has closed."""
    api = CustomObjectsApi(environment.client)
    spec = {
        "windows": [{"schedule": "* * * * *", "durationSeconds": 3600}],
        "schedulerNames": ["default-scheduler"],
        "approval": "Automatic",
        "timeLimitSeconds": 5,
    }
    api.create_cluster_custom_object(
        *POLICIES,
        {
            "apiVersion": "stowage.dev/v1alpha1",
            "kind": "PackingPolicy",
            "metadata": {"name": POLICY},
            "spec": spec,
        },
    )

    def window() -> dict[str, Any]:
        policy: Any = api.get_cluster_custom_object(*POLICIES, POLICY)
        windows = policy.get("status", {}).get("windows") or [{}]
        return {**windows[0], "of": policy["status"] if windows[0] else {}}

    wait_until(
        "a plan that finds nothing more to do",
        window,
        lambda seen: (
            "changed nothing" in seen.get("message", "") and seen["nodesEmptied"] > 0
        ),
        timeout_s=HANG_S,
    )
    suspended = {"spec": {"suspend": True}}
    api.patch_cluster_custom_object(*POLICIES, POLICY, suspended)
    closed = wait_until(
        "the window to close",
        window,
        lambda seen: seen.get("phase") == "Closed",
        timeout_s=HANG_S,
    )
    status: dict[str, Any] = closed["of"]
    return status


def emptied_prices(environment: ReleaseEnvironment) -> list[Decimal]:
    """Return what each emptied node costs, by its own label."""
    labelled = (one.metadata.labels for one in environment.core.list_node().items)
    return [
        Decimal(labels["stowage.dev/hourly-price"])
        for labels in labelled
        if "stowage.dev/emptied" in labels
    ]


def told_by_the_page(environment: ReleaseEnvironment, profile: Path) -> Decimal:
    """Return what the live page says of all plans together."""
    watch = LiveWatch(environment.client)
    watch.begin()
    try:
        with (
            headless_chromium(profile) as browser,
            serving(LiveServer(watch, "prices", None)) as address,
        ):
            browser.get(address)
            page = Page(browser)
            page.until("plans", "return document.getElementById('plan-choice')")
            names = [
                option.get_attribute("value") or ""
                for option in Select(page.find("#plan-choice")).options
            ]
            total = Decimal(0)
            for name in names:
                Select(page.find("#plan-choice")).select_by_value(name)
                said = page.find("#plan").text
                total += sum(map(Decimal, re.findall(r"saved: ([\d.]+)", said)))
            browser.get("about:blank")
            return total
    finally:
        watch.stop()


def told_by_metrics(environment: PricedFleet) -> Decimal:
    """Return the gauge of the policy, read with a token as Prometheus does."""
    core: Any = CoreV1Api(environment.client)
    token = core.create_namespaced_service_account_token(
        "default", "default", {"spec": {}}
    ).status.token
    context = ssl.create_default_context()
    # Its certificate is one that it made for itself a moment ago.
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with closing(
        http.client.HTTPSConnection(
            "127.0.0.1",
            environment.metrics_port,
            timeout=HANG_S,
            context=context,
        )
    ) as connection:
        connection.request(
            "GET", "/metrics", headers={"Authorization": f"Bearer {token}"}
        )
        said = connection.getresponse().read().decode()
    (value,) = METRIC.findall(said)
    return Decimal(value).quantize(CENT)


@dataclass(frozen=True, slots=True)
class Told:
    """What an hour of the nodes in use costs, by two commands."""

    savings: Decimal
    whatif: Decimal


def ask(environment: ReleaseEnvironment) -> Told:
    """Ask both commands of the cluster."""
    name = environment.cluster.name

    def said(*command: str) -> dict[str, Any]:
        limits = ("--cluster", name, "--time-limit-s", "5", "--json")
        result = CliRunner().invoke(app, [*command, *limits])
        assert result.exit_code == 0, result.output
        answer: dict[str, Any] = json.loads(result.stdout)
        return answer

    return Told(
        Decimal(said("savings")["hourlyPriceBefore"]),
        Decimal(said("whatif")["hourly_price"]["used_micros"]) / 10**6,
    )


def test_emptied_nodes_cost_the_same_sum_everywhere(
    environment: PricedFleet, tmp_path: Path
) -> None:
    """A fleet of 27 kinds: whoever pays adds up the nodes' own prices."""
    before = ask(environment)
    assert before.savings == before.whatif == sum(map(price, range(KINDS)))

    status = run_policy(environment)

    prices = emptied_prices(environment)
    saved = sum(prices, Decimal(0))
    assert len(prices) >= KINDS - (KINDS + 3) // 4 - 1
    assert Decimal(status["windows"][0]["hourlySaving"]) == saved
    assert Decimal(status["hourlySaving"]) == saved
    after = ask(environment)
    assert before.savings - after.savings == before.whatif - after.whatif == saved
    assert told_by_the_page(environment, tmp_path / "profile") == saved
    assert told_by_metrics(environment) == saved.quantize(CENT)
