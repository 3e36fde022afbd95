"""The commands as users type them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from stowage_testbed.cli import app

pytestmark = pytest.mark.e2e

RUN = ("--cells", "n4-p4-k1-u105", "--sample", "1", "--limits", "0.2")


def invoke(*arguments: str) -> str:
    answer = CliRunner().invoke(app, arguments)
    assert answer.exit_code == 0, answer.output
    return answer.output


@pytest.mark.smoke
def test_shards_are_merged_and_reported_on(tmp_path: Path) -> None:
    """Two CI jobs, and one that puts their artefacts together."""
    parts = [str(tmp_path / name) for name in ("a", "b")]
    for number, part in enumerate(parts, start=1):
        shard = ("--shard", f"{number}/2", "--results", part)
        invoke("reproduce", "paper", *RUN, "--sample", "2", *shard)
    whole = tmp_path / "whole"

    said = invoke("reproduce", "merge", *parts, "--results", str(whole))
    again = invoke("reproduce", "report", str(whole))

    assert "Shares of all instances" in said
    assert said == again
    figures = json.loads((whole / "figures.json").read_text(encoding="utf-8"))
    by_name = {one["name"]: one["value"] for one in figures["figures"]}
    assert by_name["instances"] == 2
    assert (whole / "index.html").is_file()


def test_a_second_run_solves_nothing_again(tmp_path: Path) -> None:
    """Results are kept, and more limits are added to them."""
    results = ("--results", str(tmp_path))
    invoke("reproduce", "paper", *RUN, *results)
    before = (tmp_path / "results.jsonl").read_bytes()
    invoke("reproduce", "paper", *RUN[:-1], "0.2,0.3", *results)
    after = (tmp_path / "results.jsonl").read_bytes()
    assert after.startswith(before)
    assert len(after.splitlines()) == 2 * len(before.splitlines())


def test_a_cluster_in_a_file_is_asked_about(tmp_path: Path) -> None:
    """Figure 1 of the paper as kubectl would print it."""
    file = tmp_path / "all.json"
    items = [
        *_nodes(),
        _pod("a", 2, "n0", owner="web"),
        _pod("b", 2, "n1", owner="web"),
        _pod("c", 3),
    ]
    file.write_text(json.dumps({"kind": "List", "items": items}))

    words = invoke("whatif", "--file", str(file))
    found = json.loads(invoke("whatif", "--file", str(file), "--json"))

    assert "0 of the waiting pods fit as things are." in words
    assert "1 fit after 1 move, proved" in words
    assert (found["fits_now"], found["fits_after"]) == (0, 1)
    assert (found["used_nodes"], found["needed_nodes"]) == (2, 1)


@pytest.mark.parametrize(
    ("budget", "moves"),
    [
        ({"currentHealthy": 2, "desiredHealthy": 2}, 1),
        ({"currentHealthy": 1, "desiredHealthy": 2}, 0),
        ({"currentHealthy": 1, "desiredHealthy": 2, "policy": "AlwaysAllow"}, 1),
        ({"currentHealthy": 2, "desiredHealthy": 0}, 0),
    ],
)
def test_pods_that_are_not_ready_make_room_where_the_eviction_api_lets_them(
    tmp_path: Path, budget: dict[str, object], moves: int
) -> None:
    """That no plan places a pod is proved of what Kubernetes allows, or not at all."""
    rules = tmp_path / "values.yaml"
    rules.write_text("priorityOptimizer: {evictNotReady: true, minPodAgeSeconds: 0}\n")
    file = tmp_path / "all.json"
    status = {"disruptionsAllowed": 0, **budget}
    items = [
        *_nodes(),
        *(_pod(f"ready-{n}", 0, "n1", owner="web") for n in range(2)),
        _pod("broken", 2, "n0", owner="web", ready="False"),
        _pod("other", 2, "n1", owner="other"),
        _pod("waits", 3),
        {
            "kind": "PodDisruptionBudget",
            "apiVersion": "policy/v1",
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {
                "minAvailable": 2,
                "selector": {"matchLabels": {"of": "web"}},
                "unhealthyPodEvictionPolicy": status.pop("policy", "IfHealthyBudget"),
            },
            "status": status,
        },
    ]
    file.write_text(json.dumps({"kind": "List", "items": items}))

    said = invoke("whatif", "--file", str(file), "--values", str(rules), "--json")

    found = json.loads(said)
    assert [one["pod"] for one in found["moves"]] == ["default/broken"] * moves
    assert (found["fits_now"], found["fits_after"]) == (0, moves)
    assert found["proved"]


@pytest.mark.parametrize(
    ("annotations", "emptied"),
    [
        ({}, ["n0"]),
        ({"n0": "karpenter.sh/do-not-disrupt"}, ["n1"]),
        ({"n0": "cluster-autoscaler.kubernetes.io/scale-down-disabled"}, ["n1"]),
        (dict.fromkeys(("n0", "n1"), "karpenter.sh/do-not-disrupt"), []),
    ],
)
def test_nodes_that_autoscalers_may_not_remove_are_left_and_named(
    tmp_path: Path, annotations: dict[str, str], emptied: list[str]
) -> None:
    """Nobody takes them away: to empty them saves nothing. They may take pods."""
    file = tmp_path / "all.json"
    nodes = _nodes()
    for node in nodes:
        metadata: Any = node["metadata"]
        if reason := annotations.get(metadata["name"]):
            metadata["annotations"] = {reason: "true"}
    pods = [_pod(f"{node}-{n}", 1, node, owner="web") for node in ("n0", "n1")
            for n in range(1 if node == "n0" else 2)]  # fmt: skip
    file.write_text(json.dumps({"kind": "List", "items": [*nodes, *pods]}))

    words = invoke("defragment", "--file", str(file))
    found = json.loads(invoke("defragment", "--file", str(file), "--json"))
    asked = json.loads(invoke("whatif", "--file", str(file), "--json"))

    assert [one["name"] for one in found["emptied"]] == emptied == asked["emptied"]
    assert found["least"]["nodes"] == found["after"]["nodes"] == 2 - len(emptied)
    kept = [{"name": node, "reason": why} for node, why in annotations.items()]
    assert found["irremovable"] == asked["irremovable"] == kept
    assert all(f"Nodes that stay by {why}: n" in words for why in annotations.values())


def _nodes() -> list[dict[str, object]]:
    room = {"cpu": "4", "memory": "4Gi", "pods": "110"}
    return [
        {
            "kind": "Node",
            "apiVersion": "v1",
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
            "status": {"allocatable": room, "capacity": room},
        }
        for name in ("n0", "n1")
    ]


def _pod(
    name: str,
    gib: int,
    node: str | None = None,
    owner: str = "",
    ready: str = "True",
) -> dict[str, object]:
    requests = {"cpu": "100m", "memory": f"{gib}Gi"}
    container = {"name": "c", "image": "i", "resources": {"requests": requests}}
    spec: dict[str, object] = {"containers": [container]}
    if node:
        spec["nodeName"] = node
    condition = {"type": "Ready", "status": ready}
    controller = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner or name,
                  "uid": f"owner-{owner or name}", "controller": True}  # fmt: skip
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"uid-{name}",
            "labels": {"of": owner or name},
            "ownerReferences": [controller],
        },
        "spec": spec,
        "status": {"phase": "Running", "conditions": [condition]}
        if node
        else {"phase": "Pending"},
    }
