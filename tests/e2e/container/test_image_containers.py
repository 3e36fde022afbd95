"""The images hold what they need and nothing else, and work under the tightest settings."""

import json
import tarfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from snapshot_builder import SnapshotBuilder

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_testbed.base.errors import StowageError
from stowage_testbed.base.wait import HANG_S, wait_until
from stowage_testbed.images.docker_engine import DockerCommandError, docker
from stowage_testbed.images.optimizer_container import OptimizerContainer
from stowage_testbed.toolchain.manifest import choose_minor, find_minor

pytestmark = [pytest.mark.e2e, pytest.mark.container, pytest.mark.nightly]

MIB = 1 << 20


@pytest.fixture(scope="module")
def optimizer(optimizer_image: str) -> Iterator[OptimizerContainer]:
    with OptimizerContainer(optimizer_image) as container:
        yield container


def a_long_one() -> pb.Snapshot:
    """Too many unequal pods for any proof within its time."""
    builder = SnapshotBuilder()
    for index in range(60):
        builder.node(f"n{index}", cpu_milli=1000)
    for index in range(420):
        builder.pod(f"p{index}", cpu_milli=97 + index * 7 % 211, priority=index % 4)
    return builder.message


def request(snapshot: pb.Snapshot, time_limit_s: float) -> pb.SolveRequest:
    options = pb.SolveOptions(time_limit_s=time_limit_s)
    return pb.SolveRequest(snapshot=snapshot, options=options)


def inspected(container: OptimizerContainer) -> Any:
    (state,) = json.loads(docker("inspect", str(container.get_container_id())))
    return state


def in_container(container: OptimizerContainer, code: str) -> str:
    return docker("exec", str(container.get_container_id()), "python3", "-c", code)


def test_a_plan_comes_over_the_socket(optimizer: OptimizerContainer) -> None:
    """The image has all that the solver needs, and the socket is the caller's."""
    builder = SnapshotBuilder()
    for name in ("a", "b"):
        builder.node(name, cpu_milli=4)
        builder.pod(f"on-{name}", cpu_milli=2, priority=0, node=name)
    # Figure 1 of the paper: it fits only if another one moves.
    builder.pod("third", cpu_milli=4, priority=0)

    answer = optimizer.solve(request(builder.message, 5))

    assert answer.end_reason == pb.END_REASON_OPTIMAL
    assert len(answer.plan.placements) == 1
    assert len(answer.plan.moves) == 1
    assert not answer.plan.evictions


def test_nothing_that_it_does_not_need_is_open_to_it(optimizer: OptimizerContainer) -> None:
    """What the chart promises of the pod must be possible for the image.

    What it compiles goes to its own temporary files.
    """
    host = inspected(optimizer)["HostConfig"]
    status = in_container(optimizer, "print(open('/proc/self/status').read())")
    interfaces = in_container(optimizer, "import os; print(os.listdir('/sys/class/net'))")

    assert host["ReadonlyRootfs"]
    assert host["CapDrop"] == ["ALL"]
    assert "CapEff:\t0000000000000000" in status
    assert "NoNewPrivs:\t1" in status
    assert "Uid:\t0\t" not in status
    assert interfaces == "['lo']"
    with pytest.raises(DockerCommandError, match="Read-only file system"):
        in_container(optimizer, "open('/opt/stowage/planted', 'w')")


def test_hot_loops_come_compiled_with_the_image(optimizer: OptimizerContainer) -> None:
    """Else each start of the container compiles for seconds on every core."""
    listed = in_container(
        optimizer,
        "import glob; print(len(glob.glob('/tmp/stowage-compiled-*/*/*/*.nbc')),"
        " len(glob.glob('/opt/stowage/compiled/*/*/*.nbc')))",
    )

    here, shipped = map(int, listed.split())
    assert here == shipped > 0


def test_killed_in_the_middle_of_a_solve_it_says_so_and_leaves_nothing(optimizer_image: str) -> None:
    """A caller must not hang on a container that is gone."""
    seen: list[BaseException] = []
    with OptimizerContainer(optimizer_image) as container:
        name = str(container.get_container_id())

        def ask() -> None:
            try:
                container.solve(request(a_long_one(), 60))
            except StowageError as error:
                seen.append(error)

        caller = threading.Thread(target=ask)
        caller.start()
        wait_until(
            "the solver's process",
            lambda: docker("top", name, "-o", "pid").count("\n"),
            lambda processes: processes > 2,
        )
        docker("kill", "--signal", "KILL", name)
        caller.join(HANG_S)
        folder = container.socket.parent

    assert [type(error) for error in seen] == [StowageError]
    assert not folder.exists()
    assert docker("ps", "--all", "--quiet", "--filter", f"id={name}") == ""


def test_over_its_memory_the_solve_dies_and_the_caller_hears_of_it(optimizer_image: str) -> None:
    """A limit that nobody enforces protects no node."""
    limit = 160 * MIB
    with OptimizerContainer(optimizer_image, memory_bytes=limit) as container:
        assert inspected(container)["HostConfig"]["Memory"] == limit
        with pytest.raises(DockerCommandError):
            in_container(container, f"bytearray({4 * limit})")


def test_one_that_cannot_start_says_why(optimizer_image: str) -> None:
    """A time-out without the container's words is a riddle."""
    broken = OptimizerContainer(optimizer_image, arguments=("--no-such-option",))

    with pytest.raises(TimeoutError, match="exited") as error:
        broken.start()

    assert "no-such-option" in " ".join(getattr(error.value, "__notes__", ()))
    assert not broken.socket.parent.exists()


pytestmark = [pytest.mark.e2e, pytest.mark.container, pytest.mark.nightly]

CLOSED = ("--rm", "--read-only", "--cap-drop=ALL", "--network=none")


def test_it_runs_without_rights_and_offers_no_shell(scheduler_image: str) -> None:
    """The chart gives it no more; what is not there serves nobody who breaks in."""
    said = docker("run", *CLOSED, scheduler_image, "--version")
    user = docker("inspect", "--format", "{{.Config.User}}", scheduler_image)

    assert said == f"Kubernetes {find_minor(choose_minor()).kubernetes}"
    assert user == "65532:65532"
    with pytest.raises(DockerCommandError, match=r"no such file|not found"):
        docker("run", *CLOSED, "--entrypoint", "/bin/sh", scheduler_image)


def test_it_is_one_file_in_one_layer(scheduler_image: str, tmp_path: Path) -> None:
    """A base image would bring parts that nobody here looks after."""
    file = tmp_path / "image.tar"
    docker("save", "--output", str(file), scheduler_image)
    with tarfile.open(file) as archive:
        manifest = json.load(archive.extractfile("manifest.json") or _absent())
        (layer,) = manifest[0]["Layers"]
        with tarfile.open(fileobj=archive.extractfile(layer)) as files:
            programs = [one.name for one in files if one.isfile()]

    assert programs == ["usr/local/bin/kube-scheduler"]


def _absent() -> tarfile.ExFileObject:
    raise AssertionError("the archive has no manifest")
