"""Names, ports, owners and processes of clusters, and which are leftovers."""

import base64
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
import yaml
from typer.testing import CliRunner

from stowage_testbed.base.errors import StowageError
from stowage_testbed.cli import app
from stowage_testbed.cluster import KwokBinaryCluster
from stowage_testbed.cluster.backend import Backend
from stowage_testbed.cluster.choice import existing_cluster, fitness_of, new_cluster
from stowage_testbed.cluster.components import API_SERVER, kill_processes, marked_environment, pid_file, processes_of
from stowage_testbed.cluster.kind import write_certificates
from stowage_testbed.cluster.listing import (
    Owner,
    check_name,
    claim_cluster,
    list_clusters,
    purge_clusters,
    read_owner,
    write_owner,
)
from stowage_testbed.cluster.ports import FIRST, LAST, Ports, choose_ports, port_beside
from stowage_testbed.images.docker_engine import EngineUnreachableError

NOBODY = "unix:///nowhere/docker.sock"


@pytest.fixture(autouse=True)
def clusters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of clusters in an empty cache."""
    monkeypatch.setenv("STOWAGE_CACHE", str(tmp_path))
    monkeypatch.delenv("STOWAGE_CLUSTERS", raising=False)
    return tmp_path / "clusters"


@pytest.fixture
def taken_port() -> Iterator[int]:
    """Return a port that this very process listens on."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        yield holder.getsockname()[1]


def a_cluster(clusters: Path, name: str = "one") -> tuple[Path, Owner]:
    folder = clusters / name
    return folder, claim_cluster(folder, None, claim_id=name)


def of_a_dead_process(folder: Path, owner: Owner) -> None:
    write_owner(folder, replace(owner, started_s=1.0))


def kept_and_running(folder: Path, owner: Owner) -> None:
    write_owner(folder, replace(owner, kept=True))
    # Stands for the API server: it need only be alive.
    pid_file(folder, API_SERVER).write_text(str(os.getpid()))


def test_only_names_that_can_be_folders_of_ours_are_taken() -> None:
    """The folder is removed with everything in it when the cluster ends."""
    for name in ("a", "run-1", "9lives", "a" * 30):
        assert check_name(name) == name
    for name in ("", "-a", "a-", "A", "a_b", "a.b", "../etc", "a/b", ".lock", "a" * 31):
        with pytest.raises(StowageError, match="lower-case letters"):
            check_name(name)


def test_ports_lie_below_those_of_outgoing_connections_and_differ(clusters: Path) -> None:
    """Any connection could take such a port; the first is the one asked for.

    Clusters that are starting have bound nothing yet.
    """
    ports = choose_ports(None, taken=(), start=LAST - FIRST - 1)
    asked_for = ports.kube_apiserver
    (_, first), (_, second) = (a_cluster(clusters, name) for name in ("one", "two"))

    assert len(set(ports.all())) == len(ports.all())
    assert all(FIRST <= port < LAST for port in ports.all())
    assert choose_ports(asked_for, taken=(), start=0).kube_apiserver == asked_for
    assert not set(first.ports.all()) & set(second.ports.all())


def test_a_port_that_was_chosen_is_left_to_whoever_chose_it_for_a_minute(clusters: Path) -> None:
    """It is bound seconds later, and clusters of other folders are not known here.

    Schedulers beside a cluster have ports that are none of a control plane's.
    """
    first, second = (choose_ports(None, taken=(), start=0).all() for _ in range(2))
    beside, other = (port_beside("mine") for _ in range(2))
    reserved = clusters.parent / "ports"

    assert not {*first} & {*second}
    assert beside != other
    assert not FIRST <= beside < LAST
    for mark in reserved.glob("[0-9]*"):
        os.utime(mark, (0, 0))
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", beside))
        holder.listen()
        later = port_beside("mine")
    assert later != beside
    assert [mark.name for mark in reserved.glob("[0-9]*")] == [str(later)]


def test_a_name_in_use_is_refused_and_its_cluster_left_alone(clusters: Path) -> None:
    """Two runs would stop each other's control plane, or a user's work of hours."""
    folder, owner = a_cluster(clusters)
    with pytest.raises(StowageError, match=f"process {os.getpid()}"):
        a_cluster(clusters)
    kept_and_running(folder, owner)
    cluster = KwokBinaryCluster("one")

    with pytest.raises(StowageError, match=r"is up already.*stowage down one"):
        cluster.up()
    cluster.down()
    assert folder.is_dir()

    # Running again after a kill must simply work.
    (folder / "old").touch()
    of_a_dead_process(folder, owner)
    a_cluster(clusters)
    assert not (folder / "old").exists()


def test_purge_removes_leftovers_alone(clusters: Path) -> None:
    """Dead owners, records that cannot be read, kept clusters that do not run."""
    of_a_dead_process(*a_cluster(clusters, "dead"))
    (clusters / "bare").mkdir()
    (clusters / ".claim-killed").mkdir()
    stopped, owner = a_cluster(clusters, "stopped")
    write_owner(stopped, replace(owner, kept=True))
    kept_and_running(*a_cluster(clusters, "kept"))
    a_cluster(clusters, "mine")
    states = {entry.name: (entry.state, entry.owner_pid) for entry in list_clusters()}

    assert purge_clusters() == ["bare", "dead", "stopped"]

    up = {"kept": ("up", None), "mine": ("owned", os.getpid())}
    assert states.items() >= {**up, "dead": ("leftover", None)}.items()
    assert [entry.name for entry in list_clusters()] == list(up)
    assert not (clusters / ".claim-killed").exists()


def on_backend(clusters: Path, name: str, backend: Backend, engine: str = "") -> Path:
    workdir, owner = a_cluster(clusters, name)
    write_owner(workdir, replace(owner, backend=backend, engine=engine))
    return workdir


def test_a_cluster_remembers_how_it_is_run(clusters: Path) -> None:
    """Commands know it by its name; it may be up while Stowage is updated."""
    for backend in Backend:
        workdir = on_backend(clusters, backend.value, backend)
        assert existing_cluster(backend.value).backend is backend
        assert new_cluster(backend, "two").backend is backend
    assert {entry.owner.backend for entry in list_clusters() if entry.owner} == set(Backend)

    file = workdir / "owner.json"
    raw = json.loads(file.read_text())
    for key in ("backend", "engine", "node_address"):
        raw.pop(key)
    file.write_text(json.dumps(raw))
    owner = read_owner(workdir)

    assert owner is not None
    assert owner.backend is Backend.KWOK_BINARY
    # A full disk leaves such files; purge must still work.
    for text in ("", "{", "{}", "[]", '{"pid": 1}'):
        file.write_text(text)
        assert read_owner(workdir) is None


def test_containers_of_an_absent_engine_are_not_forgotten(clusters: Path) -> None:
    """Nobody would know of them later; who needs no Docker is not stopped by it."""
    workdir = on_backend(clusters, "one", Backend.KIND, NOBODY)
    with pytest.raises(EngineUnreachableError, match="nowhere"):
        purge_clusters(everything=True)
    owner = read_owner(workdir)
    assert owner is not None

    of_a_dead_process(workdir, owner)
    of_a_dead_process(*a_cluster(clusters, "two"))

    assert purge_clusters() == ["two"]
    assert [entry.name for entry in list_clusters()] == ["one"]


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


def test_the_doctor_names_every_cause_with_its_way_out() -> None:
    """A script asks it before it begins; one cause a call would take many calls."""
    found = fitness_of(Backend.KIND, lambda: "no socket")
    reasons = "\n".join(found.unavailable_reasons)
    said = CliRunner().invoke(app, ["doctor", "kwok-binary"])

    assert "stowage tools install --group kind" in reasons
    assert "no Docker engine answers (no socket)" in reasons
    assert said.exit_code == 1
    assert "kwok-binary: does not work here" in said.stdout
    as_json = CliRunner().invoke(app, ["doctor", "--json"])
    assert [one["backend"] for one in json.loads(as_json.stdout)] == list(Backend)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        # Most often the name was mistyped.
        ("kubeconfig two", "there are mine"),
        # The API server would say it only in its log, seconds later.
        ("up --port {port}", "port {port} of 127.0.0.1 is in use by process {pid} ("),
    ],
)
def test_what_there_is_is_named(clusters: Path, taken_port: int, command: str, said: str) -> None:
    """And nothing comes of it."""
    a_cluster(clusters, "mine")
    result = CliRunner().invoke(app, command.format(port=taken_port).split())

    assert isinstance(result.exception, StowageError)
    assert said.format(port=taken_port, pid=os.getpid()) in str(result.exception)
    assert [path.name for path in clusters.glob("[!.]*")] == ["mine"]


def test_an_idle_purge_is_not_refused() -> None:
    """Scripts that clean up go on."""
    run = CliRunner().invoke
    assert run(app, ["list"]).stdout == ""
    assert run(app, ["down", "--stale"]).stdout == "nothing to remove\n"


WAIT = "import sys; print('up', flush=True); sys.stdin.read()"
WITH_CHILD = (
    f"import subprocess, sys\nchild = subprocess.Popen([sys.executable, '-c', {WAIT!r}], env={{}})\nsys.stdin.read()"
)

Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """Start Python programs that wait; they are gone after the test."""
    started: list[subprocess.Popen[bytes]] = []

    def start_one(code: str, environment: dict[str, str]) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-c", code], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        return process

    yield start_one
    for process in started:
        process.kill()
        process.communicate()


def test_marked_processes_are_killed_with_their_own(start: Start, tmp_path: Path) -> None:
    """Others are the user's; a release's container has an environment of its own."""
    process = start(WAIT, marked_environment(tmp_path, os.environ))
    other = start(WAIT, marked_environment(tmp_path / "other", os.environ))
    unmarked = start(WAIT, dict(os.environ))
    assert [found.pid for found in processes_of(tmp_path)] == [process.pid]
    parent = start(WITH_CHILD, marked_environment(tmp_path, os.environ))
    (child,) = psutil.Process(parent.pid).children()

    kill_processes(tmp_path)

    assert process.poll() is not None
    assert processes_of(tmp_path) == []
    assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE
    assert (other.poll(), unmarked.poll()) == (None, None)


def test_only_the_process_that_wrote_its_name_is_the_owner(start: Start) -> None:
    """Ids are reused, and a dead one lingers until its parent has collected it."""
    process = start(WAIT, dict(os.environ))
    started_s = psutil.Process(process.pid).create_time()
    ports = Ports(1, 2, 3, 4, 5)
    owner = Owner(process.pid, started_s, kept=False, claim_id="claim", ports=ports)
    assert owner.is_alive()
    assert not replace(owner, started_s=1.0).is_alive()

    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)

    assert not owner.is_alive()
