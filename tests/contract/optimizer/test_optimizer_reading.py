"""Reading a request has a limit of its own: that of the call is the solver's."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable

import psutil
import pytest
from snapshot_builder import SnapshotBuilder, figure_1

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.service.solving import grace_s
from stowage_testbed.wait import wait_until

Solve = Callable[[pb.SolveRequest], list[pb.SolveUpdate]]

LIMIT_S = 1.0
PODS = 5_000
"""About as many as the service under test takes, and much to read."""


@pytest.fixture(scope="module")
def large() -> pb.Snapshot:
    """Return a snapshot that takes long to read."""
    builder = SnapshotBuilder().node("n", cpu_milli=PODS, pods=PODS)
    builder.pod("p0", cpu_milli=1, node="n")
    pod = builder.message.pods[0]
    for number in range(1, PODS):
        copied = builder.message.pods.add()
        copied.CopyFrom(pod)
        copied.uid = copied.name = f"p{number}"
    return builder.message


def a_child_stands_by() -> psutil.Process:
    """Return the one child of the fork server, which waits for a request."""
    return wait_until(
        "one child to stand by",
        lambda: [
            child
            for fork_server in psutil.Process().children()
            if "stowage_optimizer.service.fork_server" in fork_server.cmdline()
            for child in fork_server.children()
        ],
        lambda found: len(found) == 1,
        timeout_s=30,
    )[0]


def test_the_solver_gets_its_whole_limit_however_long_reading_takes(
    solve: Solve, large: pb.Snapshot
) -> None:
    """At the default limit nothing was left of it for 50,000 pods."""
    solve(pb.SolveRequest(snapshot=figure_1()))
    a_child_stands_by()

    last = solve(
        pb.SolveRequest(
            snapshot=large,
            options=pb.SolveOptions(strategy="tell-limit", time_limit_s=LIMIT_S),
        )
    )[-1]

    # Only what the call waited for its turn is missing.
    given_s = float(last.message)
    assert given_s <= LIMIT_S
    assert given_s + last.durations.decode_s > LIMIT_S


def test_a_child_that_hangs_while_it_reads_is_killed_and_the_next_one_works(
    solve: Solve,
) -> None:
    """Its caller is answered when the contract says, and the turn is free (R4)."""
    solve(pb.SolveRequest(snapshot=figure_1()))
    child = a_child_stands_by()
    child.send_signal(signal.SIGSTOP)
    request = pb.SolveRequest(
        snapshot=figure_1(), options=pb.SolveOptions(time_limit_s=LIMIT_S)
    )

    began = time.monotonic()
    (last,) = solve(request)
    took_s = time.monotonic() - began

    assert last.end_reason == pb.END_REASON_TIME_LIMIT
    assert "the snapshot was not read" in last.message
    assert last.durations.decode_s > 0
    assert took_s < LIMIT_S + grace_s(request.ByteSize())
    wait_until(
        "the child to be gone", child.is_running, lambda runs: not runs, timeout_s=10
    )
    assert solve(request)[-1].end_reason == pb.END_REASON_OPTIMAL


def test_every_stage_is_timed_also_of_a_solve_that_was_killed(solve: Solve) -> None:
    """It must be visible what took long."""
    request = pb.SolveRequest(
        snapshot=figure_1(),
        options=pb.SolveOptions(strategy="hang", time_limit_s=LIMIT_S),
    )

    last = solve(request)[-1]

    assert last.end_reason == pb.END_REASON_TIME_LIMIT
    durations = last.durations
    assert min(durations.decode_s, durations.solve_s, durations.verify_s) > 0
    assert durations.total_s > LIMIT_S
