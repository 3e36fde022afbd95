"""Clusters come up, stand side by side, and leave nothing behind, however they end."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
from amounts import size

from stowage_testbed.base import layout
from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.wait import HANG_S, wait_until
from stowage_testbed.cluster import KwokBinaryCluster, NodePool, create_nodes
from stowage_testbed.cluster.components import (
    API_SERVER,
    CONTROLLER_MANAGER,
    KWOK,
    SCHEDULER,
    component_process,
    pid_file,
)
from stowage_testbed.cluster.interruption import running_cluster
from stowage_testbed.cluster.listing import find_cluster, purge_clusters
from stowage_testbed.cluster.processes import processes_of
from stowage_testbed.toolchain import choose_minor

pytestmark = pytest.mark.e2e

STOWAGE = [sys.executable, "-c", "from stowage_testbed.cli import main; main()"]
UP_AND_WAIT = """
import sys
from stowage_testbed.cluster import KwokBinaryCluster

KwokBinaryCluster(sys.argv[1]).up()
print("up", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def name() -> Iterator[str]:
    """Return a new cluster's name; whatever the test leaves of it is removed."""
    chosen = f"test-{secrets.token_hex(3)}"
    yield chosen
    KwokBinaryCluster(chosen).down()


def nothing_is_left(name: str) -> bool:
    workdir = layout.clusters_folder() / name
    return not workdir.exists() and not processes_of(workdir)


def test_two_clusters_stand_side_by_side(name: str) -> None:
    """On free ports, and the same name twice is refused while the first is in use."""
    other = KwokBinaryCluster(f"{name}-b")

    with running_cluster(KwokBinaryCluster(name)), running_cluster(other):
        ports = {find_cluster(n).api_port for n in (name, other.name)}
        assert len(ports) == 2
        with pytest.raises(StowageError, match=f"process {os.getpid()}"):
            KwokBinaryCluster(name).up()
        assert find_cluster(name).state == "owned"

    assert nothing_is_left(name)
    assert nothing_is_left(other.name)


def test_a_killed_owners_cluster_is_purged(name: str) -> None:
    """Nothing can be cleaned up by a process that gets no time to."""
    owner = subprocess.Popen(
        [sys.executable, "-c", UP_AND_WAIT, name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == b"up\n"
        owner.kill()
    assert find_cluster(name).state == "leftover"
    assert processes_of(layout.clusters_folder() / name)

    assert name in purge_clusters()

    assert nothing_is_left(name)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_start_leaves_nothing(name: str, number: int) -> None:
    """CI systems end jobs in the middle of anything."""
    started = subprocess.Popen([*STOWAGE, "up", name], stderr=subprocess.PIPE)
    wait_until(
        "the API server to be started",
        pid_file(layout.clusters_folder() / name, API_SERVER).is_file,
        bool,
        timeout_s=60,
    )

    started.send_signal(number)
    started.communicate(timeout=60)

    assert started.returncode != 0
    assert nothing_is_left(name)


@pytest.mark.parametrize("component", [API_SERVER, CONTROLLER_MANAGER])
def test_a_failed_start_shows_the_failing_components_words(
    name: str, component: str
) -> None:
    """A time-out would tell nothing, and come minutes later."""
    broken = KwokBinaryCluster(name, extra_args={component: {"no-such-flag": "1"}})

    with pytest.raises(StowageError, match=f"{component} ended") as caught:
        broken.up()

    assert "unknown flag: --no-such-flag" in str(caught.value)
    assert nothing_is_left(name)


def test_by_hand_nothing_but_the_cache_is_written(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`~/.kube` is the user's way to real clusters."""
    monkeypatch.setenv("STOWAGE_CACHE", str(layout.cache_folder()))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)

    def stowage(*arguments: str) -> str:
        run = subprocess.run(
            [*STOWAGE, *arguments],
            check=True,
            capture_output=True,
            text=True,
        )
        return run.stdout

    made = stowage("up", name, "--nodes", "count=2,cpu=4,memory=8Gi")
    assert f"cluster {name} of Kubernetes {choose_minor()} is up with 2 nodes" in made
    assert Path(stowage("kubeconfig", name).strip()).is_file()
    assert find_cluster(name).state == "up"
    assert name not in purge_clusters()
    stowage("down", name)

    assert nothing_is_left(name)
    assert list(tmp_path.iterdir()) == []


def test_a_cluster_is_brought_up_and_shown(name: str) -> None:
    """Until Ctrl-C, which ends the page and leaves the cluster."""
    with subprocess.Popen(
        [*STOWAGE, "up", name, "--page"], stdout=subprocess.PIPE, text=True
    ) as shown:
        assert shown.stdout is not None
        said = [shown.stdout.readline() for _ in range(4)]
        shown.send_signal(signal.SIGINT)
        assert shown.wait(HANG_S) == 0

    assert said[-1].startswith("page: http://127.0.0.1:")
    assert find_cluster(name).state == "up"


def test_components_that_gave_up_waiting_are_started_again(name: str) -> None:
    """On a slow machine the API server comes later than they are willing to wait."""
    impatient = (KWOK, CONTROLLER_MANAGER)
    workdir = layout.clusters_folder() / name

    def give_up() -> None:
        for component in impatient:
            process = wait_until(
                f"{component} to be started",
                partial(component_process, workdir, component),
                bool,
                timeout_s=60,
            )
            assert process is not None
            process.kill()

    with ThreadPoolExecutor(1) as pool:
        gone = pool.submit(give_up)
        with running_cluster(KwokBinaryCluster(name)) as cluster:
            gone.result()
            with cluster.api_client() as api:
                nodes = create_nodes(api, [NodePool("node", 1, size(1000, 2**30))])

    assert nodes == ["node-0"]


def test_a_cluster_by_hand_has_the_stock_scheduler(name: str) -> None:
    """It lives with the cluster, is named when it dies, and bars a second one."""

    def stowage(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*STOWAGE, *arguments], capture_output=True, text=True, check=False
        )

    stowage("up", name, "--nodes", "count=1,cpu=4,memory=8Gi")
    workdir = layout.clusters_folder() / name
    scheduler = component_process(workdir, SCHEDULER)
    assert scheduler is not None
    refused = stowage("run", "paper/figure-1", "--cluster", name)
    assert f"stowage up {name} --scheduler none" in refused.stdout + refused.stderr
    scheduler.kill()
    wait_until(
        f"{SCHEDULER} to end",
        lambda: component_process(workdir, SCHEDULER),
        lambda process: process is None,
        timeout_s=HANG_S,
    )
    assert f"{SCHEDULER} has ended" in stowage("list").stdout
    stowage("down", name)

    assert nothing_is_left(name)
