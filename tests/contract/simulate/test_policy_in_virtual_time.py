"""A PackingPolicy on a day in virtual time, by the real binary and optimiser."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from stowage_testbed.base.wait import HANG_S
from stowage_testbed.optimizer_service.service import running_service
from stowage_testbed.simulate import find_profile
from stowage_testbed.toolchain.location import tool_path
from stowage_testbed.toolchain.minors import choose_minor

Event = dict[str, Any]
HOUR_S = 3600
APPS, REPLICAS, NODES = 6, 4, 8


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return the profile with the optimiser, which is ready."""
    path = tmp_path_factory.mktemp("profile") / "profile.yaml"
    profile = yaml.safe_load(find_profile("optimizer-deterministic").read_text())
    with running_service() as service:
        arguments = {
            "socket": str(service.socket), "trigger": "Manual",
            "deterministic": True, "minPodAgeSeconds": 1,
        }  # fmt: skip
        profile["profiles"][0]["pluginConfig"] = [
            {"name": "PriorityOptimizer", "args": arguments}
        ]
        path.write_text(yaml.safe_dump(profile))
        yield path


def make_day() -> list[Event]:
    """Return a day on whose first minute half of the replicas go."""
    events: list[Event] = [
        {
            "at": 0,
            "settings": {
                "began": "2026-01-05T00:00:00Z",
                "startsAfter": 20,
                "emptiedNodesGoAfter": 600,
                "coolDown": HOUR_S,
            },
        }
    ]
    for number in range(NODES):
        name = f"n{number}"
        labels = {"kubernetes.io/hostname": name, "stowage.dev/hourly-price": "0.25"}
        room = {"cpu": "4", "memory": "16Gi", "pods": "20"}
        node = {"metadata": {"name": name, "labels": labels}}
        events.append({"at": 0, "node": {**node, "status": {"allocatable": room}}})
    for number in range(APPS):
        app = f"a{number}"
        labels = {"app": app}
        requests = {"cpu": "1", "memory": "1Gi"}
        container = {"name": "c", "image": "i", "resources": {"requests": requests}}
        pod = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
        budget = {"maxUnavailable": "50%", "selector": {"matchLabels": labels}}
        metadata = {"name": app, "namespace": "shop"}
        kind = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget"}
        events += [
            {"at": 0, "template": {"id": app, "pod": pod}},
            {"at": 0, "object": {**kind, "metadata": metadata, "spec": budget}},
        ]
    window = {"schedule": "0 1 * * *", "durationSeconds": HOUR_S}
    spec = {
        "approval": "Automatic", "objective": "Consolidate", "windows": [window],
        "coolDownSeconds": HOUR_S, "timeLimitSeconds": 5,
    }  # fmt: skip
    events.append({"at": 0, "policy": {"metadata": {"name": "night"}, "spec": spec}})
    for replica in range(REPLICAS):
        for number in range(APPS):
            app = f"a{number}"
            owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": app}
            pod = {"name": f"shop/{app}-{replica}", "of": app, "owner": owner}
            events.append({"at": 1, "pod": pod})
    # Half of the replicas of each workload go before the window opens.
    for number in range(APPS):
        events += [
            {"at": 60 + number, "podGone": f"shop/a{number}-{replica}"}
            for replica in (0, 2)
        ]
    return [*events, {"at": 3 * HOUR_S, "state": True}]


def pass_day(config: Path) -> dict[str, list[Any]]:
    """Return the lines of the answer by what they are about."""
    binary = tool_path("stowage-simulate", choose_minor(None))
    answer = subprocess.run(
        [str(binary), "--config", str(config), "--virtual-time"],
        input="\n".join(json.dumps(event) for event in make_day()),
        capture_output=True,
        text=True,
        check=True,
        timeout=HANG_S,
    )
    told: dict[str, list[Any]] = {}
    for text in answer.stdout.splitlines():
        line = json.loads(text)
        about = "life" if "of" in line else next(iter(line))
        told.setdefault(about, []).append(line if about == "life" else line[about])
    return told


def test_a_policy_empties_nodes_and_breaks_nothing(config: Path) -> None:
    """Twelve pods of a core are left on eight nodes of four: three are enough."""
    told = pass_day(config)

    (window,), (passed,), (state,) = told["window"], told["passed"], told["state"]
    assert window["phase"] == "Closed"
    assert window["nodesEmptied"] >= NODES - 3 - 1
    assert len(told["nodeGone"]) == window["nodesEmptied"]
    assert len(state["nodes"]) == NODES - window["nodesEmptied"]
    assert float(window["hourlySaving"]) == 0.25 * window["nodesEmptied"]
    assert {pod["status"]["phase"] for pod in state["pods"]} == {"Running"}
    evictions = passed["evictions"]
    assert evictions["evicted"] == window["moves"] > 0
    assert evictions["budgetsBroken"] == evictions["withinCoolDown"] == 0
    assert 0 < passed["saved"] < 2 * float(window["hourlySaving"])


def test_the_day_is_the_same_again(config: Path) -> None:
    """With a deterministic optimiser two policies differ in what they do only."""
    first, second = (pass_day(config)["life"] for _ in range(2))
    assert first == second
