"""How a cluster is configured, and what one that does not come up says."""

import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.wait import HANG_S
from stowage_testbed.cluster import kind as kind_cluster
from stowage_testbed.cluster import kwokctl_config
from stowage_testbed.cluster.components import CONTROL_PLANE, HOST_PODS, log_file, pid_file
from stowage_testbed.cluster.kwok_binary import Startup
from stowage_testbed.cluster.kwokctl_config import AUDIT_POLICY, merged_arguments, metrics_arguments, render_config
from stowage_testbed.cluster.ports import Ports
from stowage_testbed.cluster.probes import ApiProbe
from stowage_testbed.scenario.check import find_differences
from stowage_testbed.toolchain.location import binary_file
from stowage_testbed.toolchain.manifest import load_manifest

KWOKCTL = "kwokctl"
SHORT_S = 0.2
# It is ready, and has nothing that a controller or a kubelet would write.
PROBE = SimpleNamespace(
    ready=lambda: "ok", namespaces_without_account=lambda: ["default"], has_lease=lambda _node: False
)


@pytest.fixture
def startup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Startup]:
    """Yield a cluster of which everything runs, and does nothing."""
    monkeypatch.setenv("STOWAGE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(ApiProbe, "of", lambda *_: PROBE)
    kwokctl = binary_file(load_manifest().tool(KWOKCTL))
    kwokctl.parent.mkdir(parents=True)
    kwokctl.write_text(f"#!/bin/sh\necho said by {KWOKCTL}\n")
    kwokctl.chmod(0o755)
    workdir = tmp_path / "one"
    for folder in ("logs", "pids"):
        (workdir / folder).mkdir(parents=True)
    idle = subprocess.Popen(["sleep", "600"])
    for component in (*CONTROL_PLANE, HOST_PODS):
        log_file(workdir, component).write_text(f"said by {component}\n")
        pid_file(workdir, component).write_text(str(idle.pid))
    with socket.create_server(("", 0)) as kwok:
        ports = Ports(0, 0, 0, 0, kwok.getsockname()[1])
        yield Startup(workdir, ports, HANG_S)
    idle.kill()
    idle.wait()


@pytest.mark.parametrize(
    ("wait", "what", "component"),
    [
        ("start", "the components", KWOKCTL),
        ("settle", "default service accounts", "kube-controller-manager"),
        ("await_host_node", "the host's node", HOST_PODS),
    ],
)
def test_the_log_of_what_was_waited_for_is_quoted(startup: Startup, wait: str, what: str, component: str) -> None:
    """That of the API server, which is well, sends whoever reads it astray."""
    if wait == "start":
        os.remove(pid_file(startup.workdir, CONTROL_PLANE[0]))
    else:
        startup.start()
    startup.timeout_s = SHORT_S
    with pytest.raises(StowageError) as caught:
        getattr(startup, wait)()

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
    metrics, ports = merged_arguments(metrics_arguments(ONE), OWN), Ports(1, 2, 3, 4, 5)
    audit = ONE / "audit.log"
    text = kind_cluster.render_config("x", "image", 6000, audit)
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
