"""Clusters of kind: the same placements as without containers, and as clear failures."""

import json
import secrets
import subprocess
from pathlib import Path
from typing import Any

import psutil
import pytest

from stowage_testbed.base import layout
from stowage_testbed.cluster.interruption import running_cluster
from stowage_testbed.cluster.kind import KindCluster, create_network
from stowage_testbed.cluster.listing import find_cluster, purge_clusters
from stowage_testbed.images.docker_engine import DockerCommandError, EngineUnreachableError, docker

pytestmark = [pytest.mark.e2e, pytest.mark.container, pytest.mark.nightly]


def a_name() -> str:
    return f"kind-{secrets.token_hex(3)}"


def test_its_ports_are_offered_to_this_machine_only() -> None:
    """Docker publishes to the whole network by default."""
    with running_cluster(KindCluster(a_name())) as cluster:
        published = docker("ps", "--filter", f"name={cluster.name}", "--format", "{{.Ports}}").split()

    ports = [port for port in published if "->" in port]
    assert len(ports) == 1
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_a_network_that_is_in_the_way_is_named() -> None:
    """Somebody's own network must not be joined, and not be removed either."""
    name = a_name()
    create_network(name)
    try:
        with pytest.raises(DockerCommandError, match="already exists"):
            KindCluster(name).up()
    finally:
        if docker("network", "ls", "--quiet", "--filter", f"name={name}"):
            docker("network", "rm", f"stowage-{name}")


def test_a_killed_owner_s_containers_are_purged() -> None:
    """A killed test job must not eat the machine."""
    name = a_name()
    code = (
        "import os, signal;"
        "from stowage_testbed.cluster.kind import KindCluster;"
        f"KindCluster({name!r}).up(); os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run(["python", "-c", code], check=False)
    assert docker("ps", "--quiet", "--filter", f"name={name}") != ""
    assert find_cluster(name).state == "leftover"

    assert name in purge_clusters()

    assert docker("ps", "--all", "--quiet", "--filter", f"name={name}") == ""
    assert docker("network", "ls", "--quiet", "--filter", f"name={name}") == ""


def test_without_an_engine_the_way_out_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the first thing that goes wrong on a new machine."""
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    cluster = KindCluster(a_name())

    with pytest.raises(EngineUnreachableError, match="DOCKER_HOST"):
        cluster.up()

    assert not (layout.clusters_folder() / cluster.name).exists()


pytestmark = [pytest.mark.e2e, pytest.mark.container, pytest.mark.nightly]

SCENARIOS = ("paper/figure-1",)
# As asserted without containers by `tests/e2e/scenarios`: placements are deterministic.
BACKENDS = ("kwok-binary", "kind")


def run_on(backend: str, folder: Path) -> Any:
    file = folder / f"{backend}.json"
    command = ["stowage", "run", *SCENARIOS, "--backend", backend]
    files = ["--json", str(file), "--results", str(folder / backend)]
    done = subprocess.run([*command, *files], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(file.read_text("utf-8"))


def test_the_placements_are_those_without_containers_and_nothing_is_left(tmp_path: Path) -> None:
    """A scenario's figures mean the same wherever it was run, as users deploy it.

    No container, network, volume, process or folder stays, whichever backend it was.
    """
    runs = {backend: run_on(backend, tmp_path) for backend in BACKENDS}

    hashes = {}
    for backend, document in runs.items():
        assert document["passed"]
        assert all(not one["skipped"] for one in document["scenarios"])
        hashes[backend] = [
            (one["name"], one["placement_hash"])
            for scenario in document["scenarios"]
            for one in scenario["checkpoints"]
        ]
        cluster = document["cluster"]
        assert not (layout.clusters_folder() / cluster).exists()
        assert docker("ps", "--all", "--quiet", "--filter", f"name={cluster}") == ""
        assert docker("network", "ls", "--quiet", "--filter", f"name={cluster}") == ""
        assert not [
            process.pid
            for process in psutil.process_iter(["cmdline"])
            if any(cluster in word for word in process.info["cmdline"] or ())
        ]
    assert hashes["kind"] == hashes["kwok-binary"]
    assert docker("volume", "ls", "--quiet") == ""
