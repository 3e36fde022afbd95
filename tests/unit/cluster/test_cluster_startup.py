"""How a cluster is configured, and what one that does not come up says."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from stowage_testbed.base.errors import StowageError
from stowage_testbed.cluster import base, kwok_binary, kwokctl_config
from stowage_testbed.cluster import kind as kind_cluster
from stowage_testbed.cluster.components import CONTROL_PLANE, HOST_PODS, await_state
from stowage_testbed.cluster.kwok_binary import KwokBinaryCluster
from stowage_testbed.cluster.kwokctl_config import AUDIT_POLICY, arguments_of, merged_arguments, render_config
from stowage_testbed.cluster.ports import Ports
from stowage_testbed.scenario.check import find_differences

# It is ready, and has what a controller would write, but nothing that a kubelet would.
READY = {"ready": lambda: "ok", "namespaces_without_account": list, "has_lease": lambda _node: False}
SHORT_S = 0.2


@pytest.mark.parametrize(
    ("what", "component", "state"),
    [
        ("the components", "kwokctl", {}),
        ("default service accounts", "kube-controller-manager", {"namespaces_without_account": lambda: ["default"]}),
        ("the host's node", HOST_PODS, {}),
    ],
)
def test_the_log_of_what_was_waited_for_is_quoted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str, component: str, state: dict[str, Any]
) -> None:
    """That of the API server, which is well, sends whoever reads it astray."""
    kwokctl = tmp_path / "kwokctl"
    started = CONTROL_PLANE[1:] if component == "kwokctl" else CONTROL_PLANE
    logs = (f"echo said by {one} > $HOME/logs/{one}.log" for one in (*CONTROL_PLANE, HOST_PODS))
    pids = (f"echo $! > $HOME/pids/{one}.pid" for one in started)
    kwokctl.write_text("\n".join(["#!/bin/sh", "echo said by kwokctl", "sleep 60 &", *logs, *pids]))
    kwokctl.chmod(0o755)

    def await_soon(workdir: Path, waited: str, *state: Any, timeout_s: float, **more: Any) -> None:
        await_state(workdir, waited, *state, timeout_s=SHORT_S if waited == what else timeout_s, **more)

    monkeypatch.setenv("STOWAGE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(base, "install_tools", lambda *_, **__: None)
    monkeypatch.setattr(kwokctl_config, "tool_path", lambda name, *_: name)
    for name, made in {
        "tool_path": lambda _: kwokctl,
        "listens": bool,
        "start_host_pods": lambda *_: None,
        "await_state": await_soon,
        "ApiProbe": lambda *_: SimpleNamespace(**{**READY, **state}),
    }.items():
        monkeypatch.setattr(kwok_binary, name, made)

    with pytest.raises(StowageError) as caught:
        KwokBinaryCluster("one").up()

    said = str(caught.value)
    assert f"for {what};" in said
    assert f"The last lines of {component}:\n  said by {component}\n" in said
    assert said.count("said by") == 1


WANTED = yaml.safe_load(Path(__file__).with_name("configuration.yaml").read_text())
OWN = {"kube-apiserver": {"v": "4"}}
ONE = Path("/one")


@pytest.fixture
def configurations(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[Any]]:
    """Return the documents of each configuration."""
    monkeypatch.setattr(kwokctl_config, "tool_path", lambda name, *_: f"/tools/{name}")
    metrics, ports = merged_arguments(arguments_of("metrics", workdir=ONE), OWN), Ports(1, 2, 3, 4, 5)
    audit = ONE / "audit.log"
    text = kind_cluster.render_config("x", "image", 6000, audit, {})
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
    rules = [one["selector"]["matchExpressions"] for one in stages if one["resourceRef"]["kind"] == "Pod"]
    (resized,) = {rule["key"] for of_stage in rules for rule in of_stage if ".resources" in rule["key"]}
    names = {resized: "resized"}
    matches = [
        [
            [names.get(rule["key"], rule["key"]), rule["operator"], *rule.get("values", ())]
            for rule in of_stage
            if rule["key"].startswith((".metadata.deletion", ".status.phase")) or rule["key"] in names
        ]
        for of_stage in rules
    ]

    assert [one["delay"] for one in stages if "delay" in one] == WANTED["delays"]
    assert matches == WANTED["matches"]
    assert not [key for one in stages for key in one if key.startswith("weight")]


def test_bindings_and_evictions_are_audited_with_their_body() -> None:
    """They are what a run is judged by."""
    policy = yaml.safe_load(AUDIT_POLICY.read_text(encoding="utf-8"))

    (rule,) = [rule for rule in policy["rules"] if rule["level"] == "Request"]

    assert rule["resources"][0]["resources"] == ["pods/binding", "pods/eviction"]
