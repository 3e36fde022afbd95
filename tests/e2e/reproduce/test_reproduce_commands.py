"""The commands as users type them."""

from __future__ import annotations

import json
from pathlib import Path

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
    emptying = found["emptying"]
    assert (emptying["in_use"], emptying["in_use_after"]) == (2, 1)


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
    name: str, gib: int, node: str | None = None, owner: str = ""
) -> dict[str, object]:
    requests = {"cpu": "100m", "memory": f"{gib}Gi"}
    container = {"name": "c", "image": "i", "resources": {"requests": requests}}
    spec: dict[str, object] = {"containers": [container]}
    if node:
        spec["nodeName"] = node
    ready = {"type": "Ready", "status": "True"}
    controller = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner or name,
                  "uid": f"owner-{owner or name}", "controller": True}  # fmt: skip
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"uid-{name}",
            "ownerReferences": [controller],
        },
        "spec": spec,
        "status": {"phase": "Running", "conditions": [ready]}
        if node
        else {"phase": "Pending"},
    }
