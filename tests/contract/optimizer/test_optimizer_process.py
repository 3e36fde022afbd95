"""`stowage-optimizer serve` as a process: it starts and ends without a trace."""

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
from typing import Any

import grpc
import psutil
import pytest
import strategies_under_test
from snapshot_builder import figure_1

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.contract import optimizer_pb2_grpc as pb_grpc
from stowage_testbed.base.wait import HANG_S, wait_until

Serve = Callable[..., subprocess.Popen[str]]
COMMAND = [sys.executable, "-c", "from stowage_optimizer.cli import main; main()"]


@pytest.fixture
def path(socket_folder: Path, request: pytest.FixtureRequest) -> Path:
    return socket_folder / f"{abs(hash(request.node.name)) % 10**8}.sock"


@pytest.fixture
def serve(path: Path) -> Iterator[Serve]:
    """Return a function that starts the service; whatever is left is killed."""
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [*COMMAND, "serve", "--socket", str(path), *arguments], stderr=subprocess.PIPE, text=True
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        if process.stderr is not None:
            process.stderr.close()


def probe(path: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, "probe", "--socket", str(path), "--timeout-s", f"{HANG_S:g}", *options],
        capture_output=True,
        text=True,
        check=False,
    )


def wait_for_serving(path: Path) -> None:
    answer = probe(path, "--wait")
    assert (answer.returncode, answer.stdout) == (0, "SERVING\n")


def request(**options: Any) -> pb.SolveRequest:
    return pb.SolveRequest(snapshot=figure_1(), options=pb.SolveOptions(**options))


def solved(path: Path) -> pb.SolveUpdate:
    with grpc.insecure_channel(f"unix:{path}") as channel:
        *_, last = pb_grpc.OptimizerStub(channel).Solve(request(), timeout=HANG_S)
    return last


def wait_for_end(processes: list[psutil.Process]) -> None:
    wait_until(
        "every child to be gone",
        lambda: [
            process.pid for process in processes if process.is_running() and process.status() != psutil.STATUS_ZOMBIE
        ],
        lambda pids: not pids,
    )


def test_it_serves_metrics_and_sigterm_leaves_no_child_and_no_socket(serve: Serve, path: Path) -> None:
    """What Kubernetes sends must be enough; logs are joined with plans by a machine."""
    with socket.socket() as probing:
        probing.bind(("127.0.0.1", 0))
        port = int(probing.getsockname()[1])
    process = serve("--metrics-port", str(port))
    wait_for_serving(path)
    solved(path)
    children = psutil.Process(process.pid).children(recursive=True)
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        metrics = answer.read().decode()

    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=HANG_S)

    assert process.returncode == 0
    assert children
    wait_for_end(children)
    assert not path.exists()
    labels = 'end_reason="OPTIMAL",strategy="lexicographic"'
    solves = f"solves_total{{{labels}}} 1.0"
    for name in (solves, "solve_seconds_count", "killed_total", "verify_failures_total"):
        assert f"stowage_optimizer_{name}" in metrics
    lines = [json.loads(line) for line in said.splitlines()]
    assert all("snapshot" in line for line in lines)
    ended = next(line for line in lines if line["event"] == "solve ended")
    assert (ended["snapshot"], ended["end_reason"]) == ("snapshot-1", "OPTIMAL")


def test_its_death_kills_a_child_that_is_deaf_to_everything_else(
    serve: Serve, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A solver without a waiting caller must not use the node's CPU for ever."""
    monkeypatch.setenv("PYTHONPATH", str(Path(strategies_under_test.__file__).parent), prepend=os.pathsep)
    process = serve("--strategies", strategies_under_test.PATH)
    wait_for_serving(path)
    with grpc.insecure_channel(f"unix:{path}") as channel:
        stub = pb_grpc.OptimizerStub(channel)
        call = stub.Solve(request(strategy="hang", time_limit_s=60))
        next(iter(call))
        children = psutil.Process(process.pid).children(recursive=True)

        process.kill()
        process.wait()
        call.cancel()

    assert len(children) >= 2
    wait_for_end(children)


def test_a_second_service_on_one_socket_is_refused(serve: Serve, path: Path) -> None:
    """Stealing the socket of a live service would cut off its scheduler."""
    nobody = probe(path)
    serve()
    wait_for_serving(path)

    second = serve()
    _, said = second.communicate(timeout=HANG_S)

    assert second.returncode == 1
    assert "another process serves on" in said
    assert probe(path).returncode == 0
    # An exec probe reads the exit code only.
    assert (nobody.returncode, "UNAVAILABLE" in nobody.stderr) == (1, True)


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


def test_it_is_not_ready_before_a_child_can_take_a_call(
    serve: Serve, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The scheduler would hold pods for a solve that cannot begin."""
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    monkeypatch.setenv(strategies_under_test.GATE, str(gate))
    monkeypatch.setenv("PYTHONPATH", str(Path(strategies_under_test.__file__).parent), prepend=os.pathsep)
    serve("--strategies", strategies_under_test.GATED)

    def open_to_write() -> int:
        with suppress(OSError):
            return os.open(gate, os.O_WRONLY | os.O_NONBLOCK)
        return -1

    held = wait_until("the fork server to load its strategies", open_to_write, lambda found: found >= 0)
    early = wait_until(
        "an answer by the socket", lambda: probe(path), lambda answer: "SERVING" in answer.stdout + answer.stderr
    )
    os.close(held)
    wait_for_serving(path)

    assert (early.returncode, early.stderr) == (1, "NOT_SERVING\n")
    assert solved(path).end_reason == pb.END_REASON_OPTIMAL
