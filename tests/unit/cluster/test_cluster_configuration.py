"""The configuration for kwokctl and kind: problematic defaults are overridden."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from stowage_testbed.cluster import kwokctl_config
from stowage_testbed.cluster.kind import config as kind_config
from stowage_testbed.cluster.kwokctl_config import AUDIT_POLICY, merged_arguments, metrics_arguments, render_config
from stowage_testbed.cluster.ports import Ports
from stowage_testbed.scenario.subset import find_differences

WANTED = yaml.safe_load(Path(__file__).with_name("configuration.yaml").read_text())
OWN = {"kube-apiserver": {"v": "4"}}
ONE = Path("/one")


@pytest.fixture
def configurations(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[Any]]:
    """Return the documents of each configuration."""
    monkeypatch.setattr(kwokctl_config, "tool_path", lambda name, *_: f"/tools/{name}")
    metrics, ports = merged_arguments(metrics_arguments(ONE), OWN), Ports(1, 2, 3, 4, 5)
    audit = ONE / "audit.log"
    text = kind_config.render_config("x", "image", 6000, audit, {"/a": ONE})
    kind = yaml.safe_load(text)
    patches = kind["nodes"][0]["kubeadmConfigPatches"]
    kind["nodes"][0]["kubeadmConfigPatches"] = [yaml.safe_load(p) for p in patches]
    return {
        "kwokctl": [*yaml.safe_load_all(render_config("1.37", ports, OWN))],
        "kwokctl with metrics": [*yaml.safe_load_all(render_config("1.37", ports, metrics))],
        "kind": [kind],
    }


@pytest.mark.parametrize("what", ["kwokctl", "kwokctl with metrics", "kind"])
def test_defaults_are_overridden(configurations: dict[str, list[Any]], what: str) -> None:
    """Each for the reason that stands beside it."""
    assert list(find_differences(WANTED[what], configurations[what][0])) == []


def test_nothing_is_there_that_nobody_has_asked_for(configurations: dict[str, list[Any]]) -> None:
    """Metrics take time, and give a certificate rights."""
    text = str(configurations["kwokctl"][0])

    assert "enable-crds" not in text
    assert "requestheader" not in text


def test_nothing_happens_by_chance_or_takes_time_by_itself(configurations: dict[str, list[Any]]) -> None:
    """KWOK jitters delays and weighs stages with a generator that has no seed."""
    documents = configurations["kwokctl"]
    stages = [one["spec"] for one in documents if one["kind"] == "Stage"]
    matches = [
        [
            [rule["key"], rule["operator"], *rule.get("values", ())]
            for rule in stage["selector"]["matchExpressions"]
            if rule["key"] in {".metadata.deletionTimestamp", ".status.phase"}
        ]
        for stage in stages
        if stage["resourceRef"]["kind"] == "Pod"
    ]

    assert [one["delay"] for one in stages if "delay" in one] == WANTED["delays"]
    assert matches == WANTED["matches"]
    assert not [key for one in stages for key in one if key.startswith("weight")]


def test_bindings_and_evictions_are_audited_with_their_body() -> None:
    """They are what a run is judged by."""
    policy = yaml.safe_load(AUDIT_POLICY.read_text(encoding="utf-8"))

    (rule,) = [rule for rule in policy["rules"] if rule["level"] == "Request"]

    assert rule["resources"][0]["resources"] == ["pods/binding", "pods/eviction"]
