"""Each backend's own parts, as far as they need no engine."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from stowage_testbed.base import layout
from stowage_testbed.base.errors import StowageError
from stowage_testbed.cli import app
from stowage_testbed.cluster.backend import Backend
from stowage_testbed.cluster.choice import existing_cluster, new_cluster
from stowage_testbed.cluster.fitness import fitness_of
from stowage_testbed.cluster.kind.cluster import write_certificates
from stowage_testbed.cluster.kind.config import render_config
from stowage_testbed.cluster.listing import list_clusters, purge_clusters
from stowage_testbed.cluster.owner import Owner, read_owner, write_owner
from stowage_testbed.cluster.ports import Ports
from stowage_testbed.images.docker_engine import EngineUnreachableError

PORTS = Ports(1, 2, 3, 4, 5)
NOBODY = "unix:///nowhere/docker.sock"


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STOWAGE_CACHE", str(tmp_path))


def a_cluster(
    name: str, backend: Backend, engine: str = "", *, dead: bool = False
) -> Path:
    workdir = layout.clusters_folder() / name
    workdir.mkdir(parents=True)
    owner = replace(Owner.this_process(PORTS, "id", backend), engine=engine)
    write_owner(workdir, replace(owner, started_s=1.0) if dead else owner)
    return workdir


@pytest.mark.parametrize("backend", Backend)
def test_a_cluster_remembers_how_it_is_run(backend: Backend) -> None:
    """`stowage down` and `--cluster` know it by its name only."""
    a_cluster("one", backend)

    assert existing_cluster("one").backend is backend
    assert [entry.backend for entry in list_clusters()] == [backend]
    assert new_cluster(backend, "two").backend is backend


def test_a_record_of_an_older_version_is_a_cluster_without_containers() -> None:
    """It may be up while Stowage is updated."""
    workdir = a_cluster("one", Backend.KWOK_BINARY)
    file = workdir / "owner.json"
    raw = json.loads(file.read_text())
    for key in ("backend", "engine", "node_address"):
        raw.pop(key)
    file.write_text(json.dumps(raw))

    owner = read_owner(workdir)

    assert owner is not None
    assert owner.backend is Backend.KWOK_BINARY


def test_a_cluster_that_is_not_there_is_missing_on_any_backend() -> None:
    """The error says how to bring one up."""
    with pytest.raises(StowageError, match="stowage up one"):
        existing_cluster("one")


def test_containers_of_an_engine_that_is_away_are_not_forgotten() -> None:
    """With its folder gone, nobody would know of them when the engine is back."""
    workdir = a_cluster("one", Backend.KIND, NOBODY)

    with pytest.raises(EngineUnreachableError, match="nowhere"):
        purge_clusters(everything=True)

    assert workdir.exists()


def test_they_do_not_keep_others_from_being_purged() -> None:
    """Who needs no Docker should not be stopped by its absence."""
    a_cluster("one", Backend.KIND, NOBODY, dead=True)
    a_cluster("two", Backend.KWOK_BINARY, dead=True)

    assert purge_clusters() == ["two"]
    assert [entry.name for entry in list_clusters()] == ["one"]


class KindConfig:
    """What kind is given for one cluster, taken apart."""

    def __init__(self, logs: Path) -> None:
        text = render_config("x", "image", 6000, logs / "audit.log", {"/a": logs})
        self.whole = yaml.safe_load(text)
        (node,) = self.whole["nodes"]
        self.mounts = {mount["containerPath"]: mount for mount in node["extraMounts"]}
        patches = [yaml.safe_load(patch) for patch in node["kubeadmConfigPatches"]]
        self.patches = {patch["kind"]: patch for patch in patches}
        self.server = self.patches["ClusterConfiguration"]["apiServer"]
        self.arguments = {one["name"]: one["value"] for one in self.server["extraArgs"]}


def test_kind_listens_on_loopback_and_runs_nothing_that_nobody_needs(
    tmp_path: Path,
) -> None:
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


def test_the_administrator_s_key_is_for_this_user_s_eyes_only(tmp_path: Path) -> None:
    """Whoever reads it owns the cluster."""
    data = base64.b64encode(b"secret").decode()
    kubeconfig = tmp_path / "kubeconfig.yaml"
    cluster = {"cluster": {"certificate-authority-data": data}}
    user = {"client-certificate-data": data, "client-key-data": data}
    content = {"clusters": [cluster], "users": [{"user": user}]}
    kubeconfig.write_text(yaml.safe_dump(content))

    write_certificates(kubeconfig, tmp_path)

    key = tmp_path / "pki" / "admin.key"
    assert key.read_bytes() == b"secret"
    assert key.stat().st_mode & 0o077 == 0


def test_a_backend_s_fitness_names_every_cause_with_its_way_out() -> None:
    """One a call would take as many calls as there are causes."""
    found = fitness_of(Backend.KIND, lambda: "no socket")

    said = "\n".join(found.unavailable_reasons)
    assert "stowage tools install --group kind" in said
    assert "no Docker engine answers (no socket)" in said
    assert "stowage images build scheduler" in said


def test_the_doctor_fails_where_what_was_asked_for_does_not_work() -> None:
    """A script asks it before it begins."""
    said = CliRunner().invoke(app, ["doctor", "kwok-binary"])

    assert said.exit_code == 1
    assert "kwok-binary: does not work here" in said.stdout
    as_json = CliRunner().invoke(app, ["doctor", "--json"])
    assert [one["backend"] for one in json.loads(as_json.stdout)] == list(Backend)


def test_measured_usage_is_refused_where_it_cannot_be_had() -> None:
    """Else an autoscaler would wait for it in vain."""
    said = CliRunner().invoke(app, ["up", "x", "--metrics", "--backend", "kind"])

    assert "kind has no usage" in str(said.exception)
    assert list_clusters() == []
