"""`stowage-optimizer serve` as a process: it starts and ends without a trace."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import grpc
import psutil
import pytest
import strategies_under_test
from snapshot_builder import figure_1

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.contract import optimizer_pb2_grpc as pb_grpc
from stowage_testbed.base.wait import HANG_S, wait_until

Serve = Callable[..., subprocess.Popen[str]]
ANSWER_S = 10.0
COMMAND = [sys.executable, "-c", "from stowage_optimizer.cli import main; main()"]


@pytest.fixture
def path(socket_folder: Path, request: pytest.FixtureRequest) -> Path:
    """Return a socket path of this test's own, short enough for the kernel."""
    return socket_folder / f"{abs(hash(request.node.name)) % 10**8}.sock"


@pytest.fixture
def serve(path: Path) -> Iterator[Serve]:
    """Return a function that starts the service; whatever is left is killed."""
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [*COMMAND, "serve", "--socket", str(path), *arguments],
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        if process.stderr is not None:
            process.stderr.close()


def probe(path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, "probe", "--socket", str(path), "--timeout-s", "5"],
        capture_output=True,
        text=True,
        check=False,
    )


def wait_for_serving(path: Path) -> None:
    wait_until(
        "the service to be ready",
        lambda: probe(path).stdout,
        lambda said: said == "SERVING\n",
        timeout_s=60,
    )


def solved(path: Path) -> pb.SolveUpdate:
    """Return the last update of a call with the paper's first example."""
    request = pb.SolveRequest(snapshot=figure_1())
    with grpc.insecure_channel(f"unix:{path}") as channel:
        *_, last = pb_grpc.OptimizerStub(channel).Solve(request, timeout=ANSWER_S)
    return last


def alive(processes: list[psutil.Process]) -> list[int]:
    return [
        process.pid
        for process in processes
        if process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    ]


def wait_for_end(processes: list[psutil.Process]) -> None:
    wait_until(
        "every child to be gone",
        lambda: alive(processes),
        lambda pids: not pids,
        timeout_s=HANG_S,
    )


def test_sigterm_ends_it_with_code_0_and_leaves_no_child_and_no_socket(
    serve: Serve, path: Path
) -> None:
    """What Kubernetes sends must be enough, also with a solve going on."""
    process = serve()
    wait_for_serving(path)
    children = psutil.Process(process.pid).children(recursive=True)

    process.send_signal(signal.SIGTERM)

    assert process.wait(HANG_S) == 0
    assert children
    wait_for_end(children)
    assert not path.exists()


def test_its_death_kills_a_child_that_is_deaf_to_everything_else(
    serve: Serve, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A solver without a waiting caller must not use the node's CPU for ever."""
    monkeypatch.setenv("PYTHONPATH", str(Path(strategies_under_test.__file__).parent))
    process = serve("--strategies", strategies_under_test.PATH)
    wait_for_serving(path)
    with grpc.insecure_channel(f"unix:{path}") as channel:
        call = pb_grpc.OptimizerStub(channel).Solve(
            pb.SolveRequest(
                snapshot=figure_1(),
                options=pb.SolveOptions(strategy="hang", time_limit_s=60),
            )
        )
        next(iter(call))
        children = psutil.Process(process.pid).children(recursive=True)

        process.kill()
        process.wait()
        call.cancel()

    assert len(children) >= 2
    wait_for_end(children)


def test_a_second_service_on_the_same_socket_is_refused(
    serve: Serve, path: Path
) -> None:
    """Stealing the socket of a live service would cut off its scheduler."""
    serve()
    wait_for_serving(path)

    second = serve()
    _, said = second.communicate(timeout=HANG_S)

    assert second.returncode == 1
    assert "another process serves on" in said
    assert probe(path).returncode == 0


def test_metrics_are_served_on_the_loopback_port(serve: Serve, path: Path) -> None:
    """What a Prometheus on the same machine would scrape."""
    port = free_port()
    serve("--metrics-port", str(port))
    wait_for_serving(path)
    solved(path)

    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        text = answer.read().decode()

    labels = 'end_reason="OPTIMAL",strategy="lexicographic"'
    solves = f"stowage_optimizer_solves_total{{{labels}}} 1.0"
    assert solves in text
    for name in ("solve_seconds_count", "killed_total", "verify_failures_total"):
        assert f"stowage_optimizer_{name}" in text


def test_a_metrics_port_in_use_is_one_clear_message(serve: Serve) -> None:
    """No traceback, and the way out."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        process = serve("--metrics-port", str(taken.getsockname()[1]))
        _, said = process.communicate(timeout=HANG_S)

    assert process.returncode == 1
    assert "choose another --metrics-port" in said
    assert "Traceback" not in said


def test_every_log_line_is_json_and_names_its_snapshot(
    serve: Serve, path: Path
) -> None:
    """Logs must be joined with plans by a machine."""
    process = serve()
    wait_for_serving(path)
    solved(path)
    process.send_signal(signal.SIGTERM)

    _, said = process.communicate(timeout=HANG_S)

    lines = [json.loads(line) for line in said.splitlines()]
    assert all("snapshot" in line for line in lines)
    ended = next(line for line in lines if line["event"] == "solve ended")
    assert (ended["snapshot"], ended["end_reason"]) == ("snapshot-1", "OPTIMAL")


def test_the_probe_can_wait_for_the_warm_up(serve: Serve, path: Path) -> None:
    """One process instead of many, while the node has most to do."""
    serve()

    answer = subprocess.run(
        [*COMMAND, "probe", "--socket", str(path), "--wait", "--timeout-s", "60"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (answer.returncode, answer.stdout) == (0, "SERVING\n")


def test_it_is_not_ready_before_a_child_can_take_a_call(
    serve: Serve, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The scheduler would hold pods for a solve that cannot begin."""
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    monkeypatch.setenv(strategies_under_test.GATE, str(gate))
    monkeypatch.setenv("PYTHONPATH", str(Path(strategies_under_test.__file__).parent))
    serve("--strategies", strategies_under_test.GATED)
    held = open_to_write(gate)

    early = wait_until(
        "an answer by the socket",
        lambda: probe(path),
        lambda answer: "SERVING" in answer.stdout + answer.stderr,
        timeout_s=60,
    )
    os.close(held)
    wait_for_serving(path)

    assert (early.returncode, early.stderr) == (1, "NOT_SERVING\n")
    assert solved(path).end_reason == pb.END_REASON_OPTIMAL


def open_to_write(pipe: Path) -> int:
    """Return a descriptor once there is a reader."""

    def look() -> int:
        with suppress(OSError):
            return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        return -1

    return wait_until(
        "the fork_server to load its strategies",
        look,
        lambda found: found >= 0,
        timeout_s=60,
    )


def test_the_probe_says_no_when_nobody_serves(path: Path) -> None:
    """An exec probe reads the exit code only."""
    answer = probe(path)

    assert answer.returncode == 1
    assert "UNAVAILABLE" in answer.stderr


@pytest.mark.parametrize(
    "modules",
    [
        "stowage_optimizer.cli.probe, stowage_optimizer.cli",
        "stowage_optimizer.cli.serve",
        "stowage_optimizer.service.fork_server",
    ],
    ids=["the probe", "the serving process", "the fork server at first"],
)
def test_the_solver_is_not_loaded_where_it_is_not_used(modules: str) -> None:
    """Only the fork server and its children may be brought down by it.

    The probe runs every few seconds. The fork server starts another compiler first: to
    import the solver takes as long as a part of the compiling.
    """
    script = (
        f"import sys, {modules}\n"
        "assert not {'numba', 'numpy', 'ortools'} & sys.modules.keys()\n"
    )

    subprocess.run(
        [sys.executable, "-c", script],
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


def free_port() -> int:
    with socket.socket() as probing:
        probing.bind(("127.0.0.1", 0))
        return int(probing.getsockname()[1])
