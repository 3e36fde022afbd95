"""The configuration for kwokctl and kind: problematic defaults are overridden."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from stowage_testbed.cluster import kwokctl_config
from stowage_testbed.cluster.kind import config as kind_config
from stowage_testbed.cluster.kwokctl_config import (
    AUDIT_POLICY,
    ExtraArgs,
    merged_arguments,
    metrics_arguments,
    render_config,
)
from stowage_testbed.cluster.ports import Ports

PORTS = Ports(1, 2, 3, 4, 5)
Documents = list[dict[str, Any]]
OWN = {"kube-apiserver": {"v": "4"}}


@pytest.fixture(autouse=True)
def _no_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kwokctl_config, "tool_path", lambda name, *_: f"/tools/{name}")


def rendered(extra: ExtraArgs) -> Documents:
    """Return the documents of one cluster's configuration."""
    text = render_config("1.37", PORTS, extra)
    return list(yaml.safe_load_all(text))


@pytest.fixture
def documents() -> Documents:
    return rendered(OWN)


def stages(documents: Documents) -> Documents:
    return [d["spec"] for d in documents if d["kind"] == "Stage"]


def test_no_stage_draws_lots(documents: Documents) -> None:
    """KWOK jitters delays and weighs stages with a generator that has no seed."""
    for stage in stages(documents):
        assert not [key for key in stage if key.startswith("weight")]
        assert not [key for key in stage.get("delay", {}) if "jitter" in key]


def test_nothing_takes_time_but_what_pods_ask_for_and_a_graceful_end(
    documents: Documents,
) -> None:
    """A pause of KWOK's own would be counted as the scheduler's.

    A pod that ends in no time is missed by controllers, which take the next one of its
    name for it.
    """
    delays = [stage["delay"] for stage in stages(documents) if "delay" in stage]
    moment = delays[-1].pop("durationMilliseconds")

    assert 0 < moment < 1000  # within the shortest grace period
    assert delays == [
        {"durationFrom": {"jq": {"expression": f".metadata.annotations[{name}]"}}}
        for name in ('"stowage.dev/lifetime"', '"stowage.dev/ends-in"')
    ]


def test_no_two_stages_match_one_pod(documents: Documents) -> None:
    """Among several matches KWOK draws lots."""
    pods = [s for s in stages(documents) if s["resourceRef"]["kind"] == "Pod"]
    conditions = [
        {rule["key"]: (rule["operator"], rule.get("values")) for rule in rules}
        for rules in (stage["selector"]["matchExpressions"] for stage in pods)
    ]
    deleted = [c[".metadata.deletionTimestamp"] for c in conditions]
    phases = [c[".status.phase"] for c in conditions if ".status.phase" in c]

    assert sorted(deleted) == [
        ("DoesNotExist", None), ("DoesNotExist", None), ("Exists", None),
    ]  # fmt: skip
    assert phases == [("In", ["Pending"]), ("In", ["Running"])]


def test_defaults_of_kwokctl_are_overridden(documents: Documents) -> None:
    """Each for a reason of its own."""
    wanted = {
        # kwokctl's default is every interface, with an administrator's rights on etcd.
        "bindAddress": "127.0.0.1",
        # Two schedulers of one name would race for every pod.
        "disable": ["kube-scheduler"],
        # A release without a permission must fail as it would elsewhere.
        "securePort": True,
        "kubeAuthorization": True,
        # kwokctl counts down from one fixed port: two starts at once would collide.
        "kubeApiserverPort": 1,
        "etcdPort": 2,
        "etcdPeerPort": 3,
        "kubeControllerManagerPort": 4,
        "kwokControllerPort": 5,
    }
    options = documents[0]["options"]

    assert {name: options.get(name) for name in wanted} == wanted


def arguments(documents: Documents, component: str) -> dict[str, str]:
    """Return a component's further arguments."""
    patches = {p["name"]: p["extraArgs"] for p in documents[0]["componentsPatches"]}
    return {one["key"]: one["value"] for one in patches[component]}


def test_the_components_arguments_bound_what_they_do(documents: Documents) -> None:
    """Of other nodes' pods, of the disk, and of metrics that nobody has asked for."""
    server = arguments(documents, "kube-apiserver")
    kwok = arguments(documents, "kwok-controller")

    assert kwok["manage-all-nodes"] == "false"
    assert "enable-crds" not in kwok
    assert server["v"] == "4"
    assert int(server["audit-log-maxsize"]) <= 1000
    assert 0 < int(server["audit-log-maxbackup"]) <= 9
    assert not any(key.startswith("requestheader") for key in server)


def test_metrics_and_other_arguments_go_together(tmp_path: Path) -> None:
    """A caller's own arguments for the same component are kept."""
    documents = rendered(merged_arguments(metrics_arguments(tmp_path), OWN))

    kwok = arguments(documents, "kwok-controller")
    assert kwok["enable-crds"] == "Metric,ClusterResourceUsage"
    server = arguments(documents, "kube-apiserver")
    assert server["v"] == "4"
    assert server["requestheader-client-ca-file"] == f"{tmp_path}/pki/ca.crt"
    # Any other certificate of that authority must not speak for users.
    assert server["requestheader-allowed-names"] == "kwok-admin"


def test_etcd_listens_in_the_cluster_s_folder_only(documents: Documents) -> None:
    """Whoever reaches it on a port has commands run as this user."""
    patches = {p["name"]: p["extraArgs"] for p in documents[0]["componentsPatches"]}
    replaced = [one for one in patches["etcd"] if one.get("override")]

    assert {one["key"] for one in replaced} == {
        "listen-client-urls", "listen-peer-urls",
    }  # fmt: skip
    assert all(one["value"].startswith("unix://") for one in replaced)


def test_bindings_and_evictions_are_audited_with_their_body() -> None:
    """They are what a run is judged by."""
    policy = yaml.safe_load(AUDIT_POLICY.read_text(encoding="utf-8"))

    (rule,) = [rule for rule in policy["rules"] if rule["level"] == "Request"]

    assert rule["resources"][0]["resources"] == ["pods/binding", "pods/eviction"]


class KindConfig:
    """What kind is given for one cluster, taken apart."""

    def __init__(self, logs: Path) -> None:
        audit = logs / "audit.log"
        text = kind_config.render_config("x", "image", 6000, audit, {"/a": logs})
        self.whole = yaml.safe_load(text)
        (node,) = self.whole["nodes"]
        self.mounts = {mount["containerPath"]: mount for mount in node["extraMounts"]}
        patches = [yaml.safe_load(patch) for patch in node["kubeadmConfigPatches"]]
        self.patches = {patch["kind"]: patch for patch in patches}
        self.server = self.patches["ClusterConfiguration"]["apiServer"]
        self.arguments = {one["name"]: one["value"] for one in self.server["extraArgs"]}


def test_kind_listens_on_loopback_and_runs_only_what_is_needed(tmp_path: Path) -> None:
    """What kubeadm adds by default would be placed by the scheduler under test."""
    config = KindConfig(tmp_path)

    assert config.whole["networking"]["apiServerAddress"] == "127.0.0.1"
    assert config.whole["networking"]["kubeProxyMode"] == "none"
    skipped = config.patches["InitConfiguration"]["skipPhases"]
    assert {"addon/coredns", "addon/kube-proxy"} <= set(skipped)
    assert config.mounts["/a"]["readOnly"]
    assert config.mounts[config.arguments["audit-policy-file"]]["readOnly"]


def test_kind_s_audit_log_can_be_closed_when_it_is_too_long(tmp_path: Path) -> None:
    """A file that is mounted cannot be renamed: nothing would be written any more."""
    config = KindConfig(tmp_path)
    log = Path(config.arguments["audit-log-path"])
    mount = config.mounts[str(log.parent)]
    volumes = [
        (volume["mountPath"], volume["pathType"], volume["readOnly"])
        for volume in config.server["extraVolumes"]
        if volume["hostPath"] == str(log.parent)
    ]

    assert log.name == "audit.log"
    assert (mount["hostPath"], mount["readOnly"]) == (str(tmp_path), False)
    assert volumes == [(str(log.parent), "Directory", False)]
    assert int(config.arguments["audit-log-maxsize"]) <= 1000
    assert 0 < int(config.arguments["audit-log-maxbackup"]) <= 9
