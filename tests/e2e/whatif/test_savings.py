"""A cluster in a file is asked what could be saved, with the real scheduler's word."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import yaml
from typer.testing import CliRunner

from stowage_testbed.api_client import Objects
from stowage_testbed.cli import app
from stowage_testbed.cluster import KwokBinaryCluster
from stowage_testbed.errors import StowageError
from stowage_testbed.plan import PlanApi
from stowage_testbed.prices import INSTANCE_TYPE
from stowage_testbed.toolchain import install_tools
from stowage_testbed.wait import wait_until

pytestmark = pytest.mark.e2e

CRDS = Path(__file__).parents[3] / "charts" / "stowage" / "crds"
STARTED = "2026-01-01T00:00:00Z"
PRICES = """\
currency: EUR
prices:
- {instanceType: small, price: 0.096}
- {instanceType: large, price: 1.536}
"""


def _node(name: str, cores: int, kind: str) -> dict[str, Any]:
    room = {"cpu": str(cores), "memory": "64Gi", "pods": "110"}
    labels = {INSTANCE_TYPE: kind, "kubernetes.io/hostname": name}
    ready = [{"type": "Ready", "status": "True"}]
    status = {"allocatable": room, "capacity": room, "conditions": ready}
    return {
        "kind": "Node",
        "metadata": {"name": name, "uid": name, "labels": labels},
        "status": status,
    }


def _pod(
    name: str, cores: int, node: str, owner: str = "ReplicaSet", **of_spec: Any
) -> dict[str, Any]:
    requests = {"requests": {"cpu": str(cores), "memory": "1Gi"}}
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": STARTED}
    return {
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "kube-system" if owner == "DaemonSet" else "shop",
            "uid": name,
            "creationTimestamp": STARTED,
            "ownerReferences": [
                {"apiVersion": "apps/v1", "kind": owner, "name": owner, "uid": owner,
                 "controller": True}
            ],
        },
        "spec": {
            "nodeName": node,
            "schedulerName": "default-scheduler",
            "priority": 0,
            "terminationGracePeriodSeconds": 30,
            "containers": [{"name": "c", "image": "c", "resources": requests}],
            **of_spec,
        },
        "status": {"phase": "Running", "startTime": STARTED, "conditions": [ready]},
    }  # fmt: skip


DATA: Any = {"volumes": [{"name": "v", "emptyDir": {}}]}
"""Local storage, with which the default rules move no pod."""

CLUSTER = (
    *(_node(f"small-{k}", 2, "small") for k in range(2)),
    _node("large", 4, "large"),
    _node("other", 4, "unknown"),
    _node("spare", 2, "small"),
    *(
        _pod(f"daemon-{name}", 0, name, "DaemonSet")
        for name in ("small-0", "small-1", "large", "other", "spare")
    ),
    _pod("a", 1, "small-0"),
    _pod("b", 1, "small-1"),
    _pod("c", 2, "large"),
    _pod("d", 2, "other", **DATA),
)
"""Into the room on `other`, whose pod stays, go the pods of both small nodes, or that
of the large one."""


@pytest.fixture(scope="module", autouse=True)
def _tools() -> None:
    install_tools(("stowage-simulate",), quiet=True)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "all.json"
    path.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": CLUSTER}))
    (tmp_path / "prices.yaml").write_text(PRICES)
    return path


def ask(command: str, file: Path, *options: str) -> str:
    answer = CliRunner().invoke(app, [command, "--file", str(file), *options])
    assert answer.exit_code == 0, answer.exception
    return answer.output


def emptied(found: Mapping[str, Any]) -> set[str]:
    return {one["node"] for one in found["emptied"]}


def test_dear_nodes_are_emptied_and_the_limit_is_reached(file: Path) -> None:
    """Whoever pays for nodes does not count them."""
    prices = ("--prices", str(file.parent / "prices.yaml"))
    found = json.loads(ask("savings", file, *prices, "--json"))

    # All pods need five cores beside `other`'s two, which are there and on a small one.
    saved = found["savings"]
    assert "large" in emptied(found)
    assert saved["saved_an_hour"] <= saved["at_most_an_hour"]
    assert saved["saved_an_hour"] >= 1.536
    assert saved["currency"] == "EUR"
    assert saved["without_price"] == [["other", "no price for unknown"]]
    assert [one["node"] for one in found["idle"]] == ["spare"]
    assert saved["idle_an_hour"] == 0.096
    assert [(one["rule"], one["nodes"]) for one in found["kept"]] == [
        ("local-storage", 1)
    ]


def test_daemonsets_of_any_namespace_keep_no_node_in_use(file: Path) -> None:
    """Every real node runs some of `kube-system`; none could ever be emptied else."""
    found = json.loads(ask("whatif", file, "--json"))["emptying"]

    assert found["in_use"] == 4
    assert found["in_use_after"] == found["fewest"] == 2
    assert found["savings"] is None


def test_defragment_as_a_dry_run_fits_on_a_screen_and_names_the_moves(
    file: Path,
) -> None:
    """It is what people search for, and they want to see it before it happens."""
    said = ask("defragment", file, "--dry-run", "--max-moves", "1")

    assert "5 nodes, 4 in use, 1 empty but for DaemonSets." in said
    assert "1 more would be after 1 move." in said
    assert "Nothing was moved." in said
    assert len(said.splitlines()) <= 40


def test_an_older_release_is_not_made_to_place_pods() -> None:
    """It would drop the objective in silence, and plan something else."""
    install_tools(quiet=True)
    cluster = KwokBinaryCluster(f"savings-{uuid4().hex[:6]}")
    cluster.up()
    try:
        with closing(cluster.api_client()) as api:
            plans = PlanApi(api)
            with pytest.raises(StowageError, match="install the chart first"):
                plans.ask_to_empty(1.0)
            Objects(api).create(_older_definition())
            wait_until(
                "the kind is served",
                lambda: _refusal(plans),
                lambda said: "install the chart first" not in said,
                timeout_s=60,
            )
            assert "makes no plans that empty nodes: upgrade" in _refusal(plans)
            assert plans.plans() == []
    finally:
        cluster.down()


def _refusal(plans: PlanApi) -> str:
    with pytest.raises(StowageError) as refused:
        plans.ask_to_empty(1.0)
    return str(refused.value)


def _older_definition() -> dict[str, Any]:
    """Return the definition of plans without an objective, as it was."""
    text = (CRDS / "packingplans.stowage.dev.yaml").read_text()
    definition: dict[str, Any] = yaml.safe_load(text)
    (version,) = definition["spec"]["versions"]
    spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    spec["properties"].pop("objective", None)
    spec["x-kubernetes-validations"] = [
        rule
        for rule in spec["x-kubernetes-validations"]
        if "objective" not in rule["rule"]
    ]
    return definition
