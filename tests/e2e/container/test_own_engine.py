"""An engine of our own lives as long as its command, however that ends."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from benchmarks.engine.requirements import unstartable_reasons
from benchmarks.engine.sysctls import NAMES, ROOT
from stowage_testbed.base.wait import HANG_S, wait_until

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.container,
    pytest.mark.nightly,
    pytest.mark.skipif(
        bool(unstartable_reasons()),
        reason=f"no engine can be started: {unstartable_reasons()}",
    ),
]

BESIDE_AN_ENGINE = ("python", "-m", "benchmarks", "docker", "--")

# A cluster that is kept: the record of one whose node is a container.
KEPT = """
from stowage_testbed.base.layout import clusters_folder
from stowage_testbed.cluster.backend import Backend
from stowage_testbed.cluster.owner import Owner, write_owner
from stowage_testbed.cluster.ports import Ports

folder = clusters_folder() / "one"
folder.mkdir(parents=True)
ports = Ports(1, 2, 3, 4, 5)
write_owner(folder, Owner.this_process(ports, "id", Backend.KIND).as_kept())
"""


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[dict[str, str]]:
    """Return one in which no engine answers, with a cache of its own."""
    kept = {key: value for key, value in os.environ.items() if key != "DOCKER_HOST"}
    # Short, as sockets live below it.
    with_cache = {"STOWAGE_CACHE": f"/tmp/sto-{os.getpid()}"}
    away = {"DOCKER_HOST": f"unix://{tmp_path}/none.sock"}
    yield {**kept, **with_cache, **away}
    subprocess.run(["rm", "-rf", with_cache["STOWAGE_CACHE"]], check=True)


def engines() -> list[int]:
    """Return the dockerds that are descendants of this process or orphans of it."""
    mark = f"/tmp/sto-{os.getpid()}"
    return [
        process.pid
        for process in psutil.process_iter(["cmdline"])
        if any(mark in word for word in process.info["cmdline"] or ())
    ]


def settings() -> dict[str, str]:
    return {name: (ROOT / name).read_text() for name in NAMES if (ROOT / name).exists()}


def test_the_command_s_exit_code_is_passed_on_and_nothing_is_left(
    environment: dict[str, str],
) -> None:
    """Containers that a command forgot are gone with the engine."""
    before = settings()
    script = "docker network create forgotten && docker info >/dev/null && exit 7"

    done = subprocess.run(
        [*BESIDE_AN_ENGINE, "sh", "-c", script],
        env=environment,
        check=False,
    )

    assert done.returncode == 7
    assert engines() == []
    assert settings() == before
    assert not list(Path("/sys/fs/cgroup").glob("**/stowage-docker/*/"))


def test_no_cluster_is_remembered_whose_containers_went_with_the_engine(
    environment: dict[str, str],
) -> None:
    """Nobody could remove it: no engine answers that knows of its containers."""
    subprocess.run(
        [*BESIDE_AN_ENGINE, "python", "-c", KEPT], env=environment, check=True
    )

    assert not Path(environment["STOWAGE_CACHE"], "clusters", "one").exists()


def test_a_killed_command_line_takes_its_engine_along(
    environment: dict[str, str],
) -> None:
    """Nobody cleans up after SIGKILL, so that the kernel has to."""
    with subprocess.Popen(
        [*BESIDE_AN_ENGINE, "sh", "-c", "echo up; exec sleep 60"],
        env=environment,
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as command:
        assert command.stdout is not None
        assert command.stdout.readline() == b"up\n"
        assert engines() != []
        child = psutil.Process(command.pid)
        family = [child, *child.children(recursive=True)]
        os.kill(command.pid, signal.SIGKILL)
        wait_until(
            "the engine to die", engines, lambda pids: not pids, timeout_s=HANG_S
        )
        for process in family:
            if process.is_running():
                process.kill()
