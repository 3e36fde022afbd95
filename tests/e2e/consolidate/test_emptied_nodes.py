"""Nodes are emptied beside the stock scheduler, of its pods and of the release's."""

import json
import os
import re
import secrets
import shlex
import ssl
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
import yaml
from amounts import asked, size
from figure_1_cluster import wait_for
from release_environment import ReleaseEnvironment, is_ready, processes_in
from typer.testing import CliRunner

from stowage_testbed.api.objects import Objects, make_manifest
from stowage_testbed.base.wait import HANG_S, wait_until
from stowage_testbed.cli import app
from stowage_testbed.cli.plan_control import PlanApi
from stowage_testbed.cluster import KwokBinaryCluster, NodePool, create_nodes
from stowage_testbed.cluster.components import start_stock_scheduler
from stowage_testbed.cluster.interruption import running_cluster
from stowage_testbed.cluster.ports import port_beside
from stowage_testbed.helm import Release, install_release, uninstall_release
from stowage_testbed.helm import release as release_values
from stowage_testbed.helm.install import CHART
from stowage_testbed.optimizer_service.compiled import compile_optimizer
from stowage_testbed.scenario.manifests import make_controller
from stowage_testbed.scenario.model import Workload
from stowage_testbed.toolchain import tool_path

pytestmark = pytest.mark.e2e

GUIDE = Path(__file__).parents[3] / "docs/how-to/defragment-a-cluster.md"
API = "stowage.dev/v1alpha1"
GIB = 2**30
SETTLED_S = 6.0
"""After that, no pod is too young to be moved by the chart's defaults."""
EMPTYING, EMPTIED = "stowage.dev/emptying", "stowage.dev/emptied"
EMPTIED_AT, PRICE_LABEL = "stowage.dev/emptied-at", "stowage.dev/hourly-price"


@pytest.fixture(scope="module")
def environment() -> Iterator[ReleaseEnvironment]:
    """Return a cluster without nodes, whose pods the stock scheduler places, as `stowage up` brings it up."""
    with running_cluster(KwokBinaryCluster(f"test-{secrets.token_hex(3)}")) as running, running.api_client() as client:
        start_stock_scheduler(running.workdir, running.kubeconfig, running.tool_path("stowage-scheduler"))
        yield ReleaseEnvironment(running, client)


def live_pods(environment: ReleaseEnvironment) -> list[Any]:
    listed = environment.core.list_namespaced_pod("default").items
    return [pod for pod in listed if pod.metadata.deletion_timestamp is None]


def deploy(
    environment: ReleaseEnvironment, names: Sequence[str], replicas: int, scheduler: str = "default-scheduler"
) -> None:
    """Create workloads, and return when none of their pods is too young to move."""
    for name in names:
        made = make_controller(Workload(name, replicas, requests=asked(1000, GIB)), "default")
        made["spec"]["template"]["metadata"]["labels"]["app"] = name
        made["spec"]["template"]["spec"]["schedulerName"] = scheduler
        Objects(environment.client).create(made)

    def settled(pod: Any) -> bool:
        age = datetime.now(UTC) - (pod.status.start_time or datetime.now(UTC))
        return is_ready(pod) and age.total_seconds() > SETTLED_S

    wait_until(
        "all pods to serve",
        lambda: live_pods(environment),
        lambda pods: len(pods) == replicas * len(names) and all(map(settled, pods)),
    )


def clear(environment: ReleaseEnvironment, nodes: Sequence[str]) -> None:
    objects = Objects(environment.client)
    objects.delete_all("ReplicaSet", "default")
    objects.delete_all("PodDisruptionBudget", "default")
    for kind in ("PackingPolicy", "PackingPlan"):
        objects.delete_all(kind)
    wait_until(
        "the pods to be gone", lambda: environment.core.list_namespaced_pod("default").items, lambda pods: not pods
    )
    for name in nodes:
        environment.core.delete_node(name)


def emptied_prices(environment: ReleaseEnvironment) -> list[Decimal]:
    """Return what each emptied node costs, by its own label."""
    labelled = (one.metadata.labels for one in environment.core.list_node().items)
    return [Decimal(labels[PRICE_LABEL]) for labels in labelled if EMPTIED in labels]


USED, LEFT = 8, 2
"""Nodes with a pod, and those that all of the pods fit on."""


def price(kind: int) -> Decimal:
    """Return what a node of a kind costs; four decimals, as the clouds have them."""
    return Decimal("0.0416") + kind * Decimal("0.0379")


SAVED = sum(map(price, range(LEFT, USED)), Decimal(0))


@pytest.fixture
def priced(environment: ReleaseEnvironment) -> Iterator[ReleaseEnvironment]:
    """Return a node of each price with a pod, and idle ones, which are dear.

    The stock scheduler likes the idle ones best.
    """

    def pool(name: str, count: int, hourly: Decimal) -> NodePool:
        labels = {PRICE_LABEL: str(hourly)}
        return NodePool(name, count, size(4000, 16 * GIB), labels=labels)

    pools = [pool(f"kind-{kind}", 1, price(kind)) for kind in range(USED)]
    nodes = list(create_nodes(environment.client, pools))
    deploy(environment, ["web"], USED)
    assert {pod.spec.node_name for pod in live_pods(environment)} == set(nodes)
    nodes += create_nodes(environment.client, [pool("idle", 3, Decimal(1))])
    yield environment
    uninstall_release(Release(environment.cluster, "stowage", "stowage-system"))
    clear(environment, nodes)


def told(environment: ReleaseEnvironment, command: str) -> dict[str, Any]:
    """Return what a command says of the cluster as JSON."""
    limits = ("--cluster", environment.cluster.name, "--time-limit-s", "5", "--json")
    result = CliRunner().invoke(app, [command, *limits])
    assert result.exit_code == 0, result.output
    answer: dict[str, Any] = json.loads(result.stdout)
    return answer


@pytest.fixture
def production(environment: ReleaseEnvironment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the shell's kubeconfig name the cluster, and its PATH Helm."""
    config = yaml.safe_load(environment.cluster.kubeconfig.read_text("utf-8"))
    config["contexts"][0]["name"] = config["current-context"] = "production"
    file = tmp_path / "kubeconfig"
    file.write_text(yaml.safe_dump(config), "utf-8")
    monkeypatch.setenv("KUBECONFIG", str(file))
    monkeypatch.setenv("PATH", str(tool_path("helm").parent), prepend=os.pathsep)


def run(command: str) -> str:
    """Return what a command prints; it must succeed."""
    done = subprocess.run(shlex.split(command), capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout + done.stderr


@pytest.mark.usefixtures("production")
def test_the_commands_of_the_guide_lead_to_the_saving_that_was_told(priced: ReleaseEnvironment, tmp_path: Path) -> None:
    """Each as it stands there; only here the release's containers are processes.

    Whoever pays adds up the nodes' own prices: it is one sum wherever it is told.
    """
    block = GUIDE.read_text("utf-8").split("```sh", 1)[1].split("```", 1)[0]
    way = [line.split("#", 1)[0].strip() for line in block.splitlines()[1:] if line]
    values = tmp_path / "processes.yaml"
    needed = release_values.testbed_values(priced.cluster, profile="optimizer", optimizer_enabled=True)
    needed.pop("schedulerName")
    values.write_text(yaml.safe_dump(needed), "utf-8")
    compile_optimizer()
    said = list[str]()

    for written in way:
        command = written.replace("charts/stowage", str(CHART))
        if command.startswith("helm install"):
            command += f" --values {values} --wait --timeout {HANG_S:.0f}s"
        if "NAME" in command:
            (name,) = re.findall(r"plan (defragment-\w+) is asked for", "\n".join(said))
            command = command.replace("NAME", name)
        said.append(run(command))
        if " approve " in command:
            wait_for(priced, name, "Completed")

    left = sum(map(price, range(LEFT)))
    assert f"{USED} of" in said[0].split("\n")[0]
    assert f"saves {SAVED:.2f} an hour" in said[0]
    assert sum(emptied_prices(priced)) == SAVED
    (plan,) = Objects(priced.client).list_all("PackingPlan")
    assert Decimal(plan["status"]["consolidation"]["hourlySaving"]) == SAVED
    assert f"in use, which cost {left:.2f} an hour" in said[-1].split("\n")[0]
    assert Decimal(told(priced, "defragment")["hourlyPriceBefore"]) == left
    assert told(priced, "whatif")["hourly_price"]["used_micros"] == left * 10**6


def served_metrics(environment: ReleaseEnvironment, port: int) -> str:
    """Return the scheduler's metrics, read with a token as Prometheus does."""
    token = environment.core.create_namespaced_service_account_token("default", "default", {"spec": {}}).status.token
    request = Request(f"https://127.0.0.1:{port}/metrics", headers={"Authorization": f"Bearer {token}"})
    # Its certificate is one that it made for itself a moment ago.
    context = ssl._create_unverified_context()  # noqa: S323
    with urlopen(request, timeout=HANG_S, context=context) as answer:  # noqa: S310
        text: str = answer.read().decode()
    return text


def test_a_policy_tells_the_same_sum_in_its_status_and_metrics(priced: ReleaseEnvironment) -> None:
    """Nobody looks at a plan that was made at night."""
    port, objects = port_beside(priced.cluster.name), Objects(priced.client)
    reader = {"name": "default", "namespace": "default"}
    metrics = {"enabled": True, "readers": [reader]}
    install_release(
        priced.cluster,
        profile="optimizer",
        optimizer_enabled=True,
        values={"schedulerName": "stowage", "scheduler": {"securePort": port, "metrics": metrics}},
    )
    spec = {
        "windows": [{"schedule": "* * * * *", "durationSeconds": 3600}],
        "schedulerNames": ["default-scheduler"],
        "approval": "Automatic",
        "timeLimitSeconds": 5,
    }
    objects.create(make_manifest(API, "PackingPolicy", "nightly", spec=spec))

    def status() -> dict[str, Any]:
        found: dict[str, Any] = objects.read("PackingPolicy", "nightly").get("status", {})
        return found

    wait_until(
        "a plan that finds nothing more to do",
        status,
        lambda seen: "changed nothing" in str(seen) and seen["windows"][0]["nodesEmptied"],
    )
    objects.patch("PackingPolicy", "nightly", {"spec": {"suspend": True}})
    closed = wait_until("the window to close", status, lambda seen: seen["windows"][0]["phase"] == "Closed")

    saved = sum(emptied_prices(priced), Decimal(0))
    assert saved > 0
    assert Decimal(closed["windows"][0]["hourlySaving"]) == saved
    assert Decimal(closed["hourlySaving"]) == saved
    (shown,) = re.findall(
        r'stowage_packing_policy_hourly_saving\{policy="nightly"\} (\S+)', served_metrics(priced, port)
    )
    assert Decimal(shown) == saved


@dataclass(frozen=True, slots=True)
class Case:
    """Who places the pods, and what is to become of the nodes."""

    name: str
    scheduler: str
    certainty: str
    emptied: str
    killed: bool = False
    """Whether the release's scheduler is, once the first pod has left."""


WORKLOADS = ("api", "jobs", "queue", "web")
REPLICAS = 10
ALLOWED = 3
"""Pods of `web` that its budget lets go at a time."""
CASES = [
    Case("killed", "default-scheduler", "Rehearsed", "Taint", killed=True),
    Case("own", "stowage", "Reserved", "Cordon"),
]


@pytest.fixture(params=CASES, ids=lambda case: case.name)
def case(environment: ReleaseEnvironment, request: pytest.FixtureRequest) -> Iterator[Case]:
    """Return it once the nodes have two pods each, none too young to be moved."""
    nodes = create_nodes(environment.client, [NodePool("node", 20, size(4000, 8 * GIB))])
    install_release(
        environment.cluster, profile="optimizer", optimizer_enabled=True, values={"schedulerName": "stowage"}
    )
    budget = {"minAvailable": REPLICAS - ALLOWED, "selector": {"matchLabels": {"app": "web"}}}
    Objects(environment.client).create(make_manifest("policy/v1", "PodDisruptionBudget", "web", "default", spec=budget))
    deploy(environment, WORKLOADS, REPLICAS, request.param.scheduler)
    yield request.param
    clear(environment, nodes)


def kept_off(environment: ReleaseEnvironment, case: Case) -> set[str]:
    """Return the nodes that the plan keeps new pods off, in the way asked for."""
    taint = (EMPTYING, case.name, "NoSchedule")
    return {
        node.metadata.name
        for node in environment.core.list_node().items
        if any((t.key, t.value, t.effect) == taint for t in node.spec.taints or ()) == (case.emptied == "Taint")
        and bool(node.spec.unschedulable) == (case.emptied == "Cordon")
    }


def kill_scheduler(environment: ReleaseEnvironment) -> None:
    (scheduler,) = (
        process for process in processes_in(environment.cluster.workdir) if process.name().startswith("stowage-schedul")
    )
    scheduler.kill()


def test_half_empty_nodes_are_emptied_within_the_budgets(environment: ReleaseEnvironment, case: Case) -> None:
    """A dry run does nothing; approved, the pods' own scheduler places all of them."""
    objects, plans = Objects(environment.client), PlanApi(environment.client)
    before = {pod.metadata.name for pod in live_pods(environment)}
    spec = {
        "objective": "Consolidate",
        "schedulerNames": [case.scheduler],
        "emptiedNodes": case.emptied,
        "timeLimitSeconds": 10,
    }
    objects.create(make_manifest(API, "PackingPlan", case.name, spec=spec))
    about = wait_for(environment, case.name, "Proposed")["status"]["consolidation"]
    planned = {one["name"] for one in about["nodes"] if one["state"] == "Planned"}
    assert about["certainty"] == case.certainty
    assert about["nodesBefore"] - about["nodesAfter"] == len(planned)
    assert len(planned) >= about["nodesBefore"] - about["nodesLowerBound"] - 1
    assert {pod.metadata.name for pod in live_pods(environment)} == before
    assert not kept_off(environment, case)

    plans.approve(case.name)
    fewest = dict.fromkeys(WORKLOADS, REPLICAS)

    def look() -> dict[str, Any]:
        for one in objects.list_all("ReplicaSet", "default"):
            name, ready = one["metadata"]["name"], one["status"].get("readyReplicas", 0)
            fewest[name] = min(fewest[name], ready)
        status: dict[str, Any] = plans.plan(case.name)["status"]
        return status

    if case.killed:
        wait_until("a pod to have left", look, lambda seen: any(one["state"] != "Waiting" for one in seen["moves"]))
        kill_scheduler(environment)
        assert look()["phase"] == "Executing"
    done = wait_until("the nodes to be empty", look, lambda seen: seen["phase"] in {"Completed", "Aborted", "Failed"})

    assert done["phase"] == "Completed", done["message"]
    nodes = done["consolidation"]["nodes"]
    assert {one["name"] for one in nodes if one["state"] == "Emptied"} == planned, nodes
    assert not planned & {pod.spec.node_name for pod in live_pods(environment)}
    assert fewest["web"] >= REPLICAS - ALLOWED
    assert min(fewest.values()) >= REPLICAS - 1
    assert kept_off(environment, case) == planned
    for node in environment.core.list_node().items:
        name, labels = node.metadata.name, node.metadata.labels
        assert labels.get(EMPTIED) == (case.name if name in planned else None)
        assert (EMPTIED_AT in (node.metadata.annotations or {})) == (name in planned)
    names = {pod.metadata.name for pod in live_pods(environment)}
    assert {
        one.reporting_component
        for one in environment.core.list_namespaced_event("default").items
        if one.reason == "Scheduled" and one.involved_object.name in names
    } == {case.scheduler}
