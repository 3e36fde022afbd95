"""However a command ends, nothing is left of it, and the culprit is named."""

import os
import secrets
import signal
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from amounts import size
from kubernetes.client import CoordinationV1Api
from stowage_run import MAIN, STOWAGE, StowageRun, nothing_is_left

from stowage_testbed.base import layout
from stowage_testbed.base.errors import RunEndedError, StowageError
from stowage_testbed.base.wait import HANG_S, SystemClock, wait_until
from stowage_testbed.cluster import KwokBinaryCluster, NodePool, create_nodes
from stowage_testbed.cluster.components import (
    API_SERVER,
    CONTROLLER_MANAGER,
    ETCD,
    HOST_PODS,
    KWOK,
    component_process,
    has_ended,
    pid_file,
    processes_of,
    start_host_pods,
)
from stowage_testbed.cluster.interruption import running_cluster
from stowage_testbed.cluster.listing import find_cluster, read_owner
from stowage_testbed.cluster.supervision import supervised

pytestmark = pytest.mark.e2e

VAIN = str(Path(__file__).with_name("vain.yaml"))
TOO = str(Path(__file__).with_name("vain-too.yaml"))
UP, SERVE, WAITS = "cluster run-", "serve with profile deterministic", "(wait"
ENDED = 3
"""The exit code of what ended early."""

SESSION = """\
import threading

def test_waits(stowage_cluster):
    print(f"\\ncluster {stowage_cluster.name}: up\\n(wait", flush=True)
    threading.Event().wait(200)

def test_comes_after(stowage_cluster):
    print("the next test began")
"""
SMALL_DISK = (
    *("unshare", "--user", "--map-root-user", "--mount", "sh", "-c"),
    'mount -t tmpfs -o size=192m tmpfs "$1" && shift && exec "$@"',
    "sh",
)
"""Gives a process, and nobody else, a disk of its own; needs no rights."""

Act = Callable[[StowageRun], object]


def signalled(number: signal.Signals) -> Act:
    """Signal the whole group, as a terminal does: Helm and kwokctl are hit as well."""
    return lambda run: os.killpg(run.process.pid, number)


def killed(name: str) -> Act:
    """Kill a component of the cluster, or a container of the release."""

    def kill(run: StowageRun) -> None:
        (file,) = run.workdir.rglob(f"{name}.pid")
        os.kill(int(file.read_text()), signal.SIGKILL)

    return kill


def worker_killed(run: StowageRun) -> None:
    owner = read_owner(run.workdirs[1])
    assert owner is not None
    os.kill(owner.pid, signal.SIGKILL)


def arms_killed(run: StowageRun) -> None:
    for turn in (1, 2):
        run.wait_for_line("): wait:", turn)  # the failure of the first arm names its step too
        (arm,) = (one for one in processes_of(run.workdir) if "scheduler" in one.name())
        arm.kill()


def disk_filled(run: StowageRun) -> None:
    folder = Path(f"/proc/{run.process.pid}/root{run.folder}/results")
    usage = os.statvfs(folder)
    with (folder / "filler").open("wb") as filler:
        os.posix_fallocate(filler.fileno(), 0, usage.f_bavail * usage.f_frsize)


@dataclass(frozen=True, slots=True)
class Row:
    """A command, the line at which something happens to it, and what it comes to."""

    command: tuple[str, ...]
    at: str
    act: Act
    code: int
    said: str = ""
    clusters: int = 1
    disk: tuple[str, ...] = ()


RUN = ("run", VAIN, "--junit", "{folder}/junit.xml")
TWO = ("run", VAIN, TOO, "--jobs", "2")
ROWS = {
    "Ctrl-C while its cluster comes up": Row(RUN, UP, signalled(signal.SIGINT), 130),
    "its terminal is closed while Helm waits": Row(RUN, SERVE, signalled(signal.SIGHUP), 129),
    "SIGTERM while the optimiser packs": Row(("run", "paper/figure-1"), "): pack:", signalled(signal.SIGTERM), 143),
    "Ctrl-C while two clusters come up": Row(TWO, UP, signalled(signal.SIGINT), 130, clusters=2),
    "killed with its workers left": Row(TWO, WAITS, lambda run: run.process.kill(), -signal.SIGKILL, clusters=2),
    "a worker is killed": Row(TWO, WAITS, worker_killed, ENDED, "early: worker process ", clusters=2),
    "etcd is killed": Row(RUN, WAITS, killed(ETCD), ENDED, "etcd has ended"),
    "the API server is killed while Helm waits": Row(RUN, SERVE, killed(API_SERVER), ENDED, "kube-apiserver has ended"),
    "the scheduler's container is killed": Row(
        RUN, WAITS, killed("scheduler"), ENDED, "container scheduler of pod stowage-system/stowage-"
    ),
    "the disk is full": Row(
        ("run", VAIN),
        WAITS,
        disk_filled,
        ENDED,
        "the disk of {folder}/results is full",
        disk=(*SMALL_DISK, "{folder}/results"),
    ),
    "both arms of a comparison are killed": Row(
        ("compare", VAIN, "--arms", "default,stowage-score-cache", "--repeat", "1"),
        WAITS,
        arms_killed,
        1,
        "arm stowage-score-cache ended by itself with 137",
    ),
    "the fake kubelet of a pytest session is killed": Row(
        ("pytest", "{folder}/test_session.py"), WAITS, killed(KWOK), 2, f"Exit: {KWOK} has ended, and the run with it"
    ),
}


@pytest.mark.parametrize("row", ROWS.values(), ids=list(ROWS))
def test_nothing_is_left_and_the_culprit_is_named(row: Row, tmp_path: Path) -> None:
    """It said nothing for minutes, spoke of connections, or left a control plane."""
    (tmp_path / "results").mkdir()
    (tmp_path / "test_session.py").write_text(SESSION)
    command = [word.format(folder=tmp_path) for word in row.command]
    disk = tuple(word.format(folder=tmp_path) for word in row.disk)
    if disk and subprocess.run([*disk, "true"], check=False).returncode:
        pytest.skip("this machine lets nobody mount a disk of their own")
    run = StowageRun(tmp_path, *command, before=disk)
    try:
        run.wait_for_line(": up\n", row.clusters)
        run.wait_for_line(row.at)
        row.act(run)
        code = run.process.wait(HANG_S)
    finally:
        run.end()

    assert code == row.code, run.said
    assert row.said.format(folder=tmp_path) in run.said
    assert "Traceback" not in run.said
    assert "the next test began" not in run.said
    if code == -signal.SIGKILL:
        wait_until("nothing to be left", run.left, lambda left: not left)
    assert run.left() == []
    assert len(run.workdirs) == row.clusters
    if row.command is RUN and code == ENDED:
        (error,) = ET.parse(tmp_path / "junit.xml").getroot().iter("error")  # noqa: S314 - written by the code under test
        assert row.said.format(folder=tmp_path) in error.attrib["message"]


def test_what_a_killed_run_leaves_the_next_one_removes(tmp_path: Path) -> None:
    """SIGKILL leaves no time to clean up."""
    (tmp_path / "again").mkdir()
    first = StowageRun(tmp_path, "run", VAIN)
    first.wait_for_line(SERVE)
    first.process.kill()
    first.process.wait(HANG_S)
    assert find_cluster(first.workdir.name).state == "leftover"
    assert processes_of(first.workdir) != []

    again = StowageRun(tmp_path / "again", "run", VAIN)
    try:
        again.wait_for_line(f"leftover cluster {first.workdir.name}: removed")
    finally:
        again.end()

    assert first.left() == []


def test_a_start_by_hand_that_is_ended_leaves_nothing(cluster_name: str) -> None:
    """CI systems end jobs in the middle of anything."""
    started = subprocess.Popen([*STOWAGE, MAIN, "up", cluster_name], stderr=subprocess.PIPE)
    wait_until(
        "the API server to be started", pid_file(layout.clusters_folder() / cluster_name, API_SERVER).is_file, bool
    )

    started.terminate()
    started.communicate(timeout=HANG_S)

    assert started.returncode == 128 + signal.SIGTERM
    assert nothing_is_left(cluster_name)


@pytest.mark.parametrize("component", [API_SERVER, CONTROLLER_MANAGER])
def test_a_start_that_fails_shows_the_failing_components_words(cluster_name: str, component: str) -> None:
    """A time-out would tell nothing, and come minutes later."""
    broken = KwokBinaryCluster(cluster_name, extra_args={component: {"no-such-flag": "1"}})

    with pytest.raises(StowageError, match=f"{component} ended") as caught:
        broken.up()

    assert "unknown flag: --no-such-flag" in str(caught.value)
    assert nothing_is_left(cluster_name)


@pytest.fixture(scope="module")
def kept() -> Iterator[KwokBinaryCluster]:
    """Yield a cluster that supervision does not take down."""
    made = KwokBinaryCluster(f"test-{secrets.token_hex(3)}")
    with running_cluster(made):
        made.keep()
        yield made


@pytest.mark.parametrize("component", [CONTROLLER_MANAGER, HOST_PODS])
def test_no_other_process_of_a_cluster_is_lost_unnoticed(kept: KwokBinaryCluster, component: str) -> None:
    """Nobody would guess which part failed; what is kept can be started again."""
    process = component_process(kept.workdir, component)
    assert process is not None

    def lose() -> None:
        with supervised(kept):
            process.kill()
            SystemClock().pause(HANG_S)

    with pytest.raises(RunEndedError, match=f"{component} has ended"):
        lose()

    kept.start_again()
    if component == HOST_PODS:
        start_host_pods(kept.workdir, kept.kubeconfig)
    assert component_process(kept.workdir, component) is not None


def test_fake_nodes_are_at_work_once_the_cluster_is_started_again(kept: KwokBinaryCluster) -> None:
    """The KWOK that was killed holds leases on them, which take minutes to run out."""
    with kept.api_client() as api:
        leases: Any = CoordinationV1Api(api)
        (node,) = create_nodes(api, [NodePool("leased", 1, size(1000, 2**30))])

        def holder() -> Any:
            found = leases.list_namespaced_lease("kube-node-lease").items
            spec = {one.metadata.name: one.spec for one in found}.get(node)
            return spec.holder_identity if spec else ""

        before = wait_until("a lease", holder, bool)
        lease = leases.read_namespaced_lease(node, "kube-node-lease").spec
        kwok = component_process(kept.workdir, KWOK)
        assert kwok is not None
        kwok.kill()
        wait_until("KWOK to end", lambda: has_ended(kept.workdir, KWOK), bool)

        kept.start_again()

        wait_until(
            "the next one to hold it",
            holder,
            lambda now: now not in {"", before},
            timeout_s=lease.lease_duration_seconds / 2,
        )
