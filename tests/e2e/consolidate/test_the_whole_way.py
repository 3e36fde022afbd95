"""A platform engineer's way from a look to a saving, by the commands of the guide."""

from __future__ import annotations

import os
import re
import secrets
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest
import yaml
from amounts import asked, size

from stowage_testbed.api.objects import Objects
from stowage_testbed.base.wait import HANG_S, wait_until
from stowage_testbed.cluster import Cluster, KwokBinaryCluster, NodePool, create_nodes
from stowage_testbed.cluster.interruption import running_cluster
from stowage_testbed.compare.arms.default import default_arm
from stowage_testbed.helm import values as release_values
from stowage_testbed.helm.install import CHART
from stowage_testbed.optimizer_service.compiled import compile_optimizer
from stowage_testbed.scenario.manifests import make_controller
from stowage_testbed.scenario.model import Workload
from stowage_testbed.toolchain import tool_path

pytestmark = pytest.mark.e2e

GUIDE = Path(__file__).parents[3] / "docs/how-to/defragment-a-cluster.md"
MOST = 10
"""Commands that the way may take."""

GIB = 2**30
NODES, USED, PRICE = 11, 8, "0.192"
"""Nodes, and those with a pod; the others are idle, and the stock scheduler likes them
best."""

CONTEXT = "production"
MIN_AGE_S = 6.0
"""The chart's default leaves younger pods alone."""


def commands() -> list[str]:
    """Return those of the guide's first block, without what they are said to do."""
    block = GUIDE.read_text("utf-8").split("```sh", 1)[1].split("```", 1)[0]
    lines = block.splitlines()[1:]
    return [line.split("#", 1)[0].strip() for line in lines if line.strip()]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Yield nodes on which the stock scheduler has spread pods, without Stowage."""
    folder = tmp_path_factory.mktemp("stock")
    with (
        running_cluster(KwokBinaryCluster(f"way-{secrets.token_hex(3)}")) as made,
        closing(made.api_client()) as api,
        default_arm().running(made, folder, None),
    ):
        labels = {"stowage.dev/hourly-price": PRICE}
        create_nodes(
            api, [NodePool("node", NODES, size(4000, 16 * GIB), labels=labels)]
        )
        web = Workload("web", USED, asked(1000, GIB))
        objects = Objects(api)
        objects.create(make_controller(web, "default"))
        wait_until(
            "the pods to be old enough to be moved",
            lambda: objects.list_all("Pod", "default"),
            lambda pods: len(pods) == USED and all(map(_is_old_enough, pods)),
            timeout_s=HANG_S,
        )
        yield made


def _is_old_enough(pod: dict[str, dict[str, str]]) -> bool:
    started = pod["status"].get("startTime")
    if started is None:
        return False
    age = datetime.now(UTC) - datetime.fromisoformat(started)
    return age.total_seconds() > MIN_AGE_S


@pytest.fixture
def shell(cluster: Cluster, tmp_path: Path) -> dict[str, str]:
    """Return the environment of a shell whose kubeconfig names the cluster."""
    config = yaml.safe_load(cluster.kubeconfig.read_text("utf-8"))
    config["contexts"][0]["name"] = config["current-context"] = CONTEXT
    file = tmp_path / "kubeconfig"
    file.write_text(yaml.safe_dump(config), "utf-8")
    helm = tool_path("helm").parent
    return {
        **os.environ,
        "KUBECONFIG": str(file),
        "PATH": f"{helm}{os.pathsep}{os.environ['PATH']}",
    }


def run(command: str, shell: dict[str, str]) -> str:
    """Return what a command prints; it must succeed."""
    done = subprocess.run(
        shlex.split(command),
        env=shell,
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def test_the_commands_of_the_guide_lead_to_the_saving(
    cluster: Cluster, shell: dict[str, str], tmp_path: Path
) -> None:
    """Each as it stands there; only here the release's containers are processes."""
    way, said = commands(), list[str]()
    assert len(way) <= MOST
    values = tmp_path / "processes.yaml"
    needed = release_values.testbed_values(
        cluster, profile="optimizer", optimizer_enabled=True
    )
    needed.pop("schedulerName", None)
    values.write_text(yaml.safe_dump(needed), "utf-8")
    compile_optimizer()

    for written in way:
        command = written.replace("charts/stowage", str(CHART))
        if command.startswith("helm install"):
            command += f" --values {values} --wait --timeout {HANG_S:.0f}s"
        if "NAME" in command:
            (name,) = re.findall(r"plan (defragment-\w+) is asked for", "\n".join(said))
            command = command.replace("NAME", name)
        said.append(run(command, shell))
        if " approve " in command:
            _await_completed(cluster)

    first, last = said[0], said[-1]
    assert f"{USED} of" in first.split("\n")[0]
    emptied = _emptied(cluster)
    assert len(emptied) == USED - USED // 4
    left = (USED - len(emptied)) * Decimal(PRICE)
    assert f"in use, which cost {left:.2f} an hour" in last.split("\n")[0]


def _await_completed(cluster: Cluster) -> None:
    with closing(cluster.api_client()) as api:
        wait_until(
            "the plan to be completed",
            lambda: [
                one.get("status", {}).get("phase")
                for one in Objects(api).list_all("PackingPlan")
            ],
            lambda phases: "Completed" in phases,
            timeout_s=HANG_S,
        )


def _emptied(cluster: Cluster) -> list[str]:
    with closing(cluster.api_client()) as api:
        nodes = Objects(api).list_all("Node")
    labelled = (one["metadata"] for one in nodes)
    return [
        one["name"]
        for one in labelled
        if "stowage.dev/emptied" in one.get("labels", {})
    ]
