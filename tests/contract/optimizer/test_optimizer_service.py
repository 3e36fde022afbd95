"""The service keeps its promises to a real client on a real socket."""

from __future__ import annotations

import signal
import stat
import threading
from collections.abc import Callable
from contextlib import suppress

import grpc
import psutil
import pytest
from crowded_clusters import crowded
from snapshot_builder import SnapshotBuilder, figure_1

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.contract import optimizer_pb2_grpc as pb_grpc
from stowage_optimizer.service.server import SERVICE, Service
from stowage_optimizer.service.settings import ServiceSettings
from stowage_optimizer.verify import verify_plan
from stowage_testbed.base.wait import HANG_S, wait_until

Solve = Callable[[pb.SolveRequest], list[pb.SolveUpdate]]

AT_WORK_S = 0.5
"""CPU time of a child that has read its request and asked a solver."""

LIMIT_S = 1.0
PODS = 5_000
"""About as many as the service under test takes, and much to read."""


def request(strategy: str = "paper", time_limit_s: float = 30.0) -> pb.SolveRequest:
    return pb.SolveRequest(
        snapshot=figure_1(),
        options=pb.SolveOptions(strategy=strategy, time_limit_s=time_limit_s),
    )


def counted(service: Service, name: str) -> float:
    return service.metrics.registry.get_sample_value(name) or 0.0


def children() -> list[psutil.Process]:
    """Return the processes two steps below this one: children of the fork server."""
    return [
        child
        for fork_server in psutil.Process().children()
        if "stowage_optimizer.service.fork_server" in fork_server.cmdline()
        for child in fork_server.children()
    ]


def await_one_child(
    what: str, least_cpu_s: float = 0.0, timeout_s: float = 60
) -> psutil.Process:
    """Return the only child that has used so much CPU."""
    (found,) = wait_until(
        what,
        lambda: [child for child in children() if cpu_s(child) >= least_cpu_s],
        lambda found: len(found) == 1,
        timeout_s=timeout_s,
    )
    return found


def await_one_ready() -> psutil.Process:
    """Return the child that stands by: a forked one sleeps only once it is ready."""
    (found,) = wait_until(
        "a child to stand by",
        lambda: [(child, status(child)) for child in children()],
        lambda found: [state for _, state in found] == [psutil.STATUS_SLEEPING],
        timeout_s=HANG_S,
    )
    return found[0]


def await_end(processes: list[psutil.Process], left: int = 0) -> None:
    wait_until(
        "the child to be gone",
        lambda: [child.pid for child in processes if child.is_running()],
        lambda alive: len(alive) <= left,
        timeout_s=HANG_S,
    )


def test_figure_1_is_answered_with_one_move(solve: Solve) -> None:
    """The paper's own example, through every layer."""
    updates = solve(request())

    last = updates[-1]
    assert last.end_reason == pb.END_REASON_OPTIMAL
    assert last.plan.snapshot_id == "snapshot-1"
    assert (len(last.plan.placements), len(last.plan.moves)) == (1, 1)
    assert not last.plan.evictions
    assert last.durations.total_s > last.durations.solve_s > 0


def test_only_the_last_update_is_marked_and_every_one_can_stand_alone(
    solve: Solve,
) -> None:
    """A client that loses the stream may carry out what it has."""
    updates = solve(request())

    assert [update.last for update in updates] == [False] * (len(updates) - 1) + [True]
    for update in updates:
        assert verify_plan(figure_1(), update.plan, pb.POLICY_STRICT) == []


def test_the_socket_is_for_its_owner_only(
    service: Service, service_settings: ServiceSettings
) -> None:
    """Whoever may write to the socket may have pods moved."""
    del service

    mode = service_settings.socket.stat().st_mode

    assert stat.S_ISSOCK(mode)
    assert stat.S_IMODE(mode) == 0o600


def test_a_solve_that_hangs_is_killed_and_its_best_plan_returned(
    solve: Solve, service: Service
) -> None:
    """The solver's own limit is not to be trusted (R4)."""
    killed = counted(service, "stowage_optimizer_killed_total")

    last = solve(request("hang", time_limit_s=LIMIT_S))[-1]

    assert last.end_reason == pb.END_REASON_TIME_LIMIT
    assert (len(last.plan.placements), len(last.plan.moves)) == (1, 1)
    # It must be visible what took long.
    durations = last.durations
    assert min(durations.decode_s, durations.solve_s, durations.verify_s) > 0
    assert durations.total_s > LIMIT_S
    assert counted(service, "stowage_optimizer_killed_total") == killed + 1
    assert solve(request())[-1].end_reason == pb.END_REASON_OPTIMAL


def test_a_solve_that_hangs_at_once_is_answered_without_a_plan(solve: Solve) -> None:
    """Never hang, whatever happens (R4)."""
    last = solve(request("hang-at-once", time_limit_s=0.2))[-1]

    assert last.end_reason == pb.END_REASON_TIME_LIMIT
    assert not last.HasField("plan")


def test_a_solve_that_eats_all_memory_is_an_error_and_the_next_one_works(
    solve: Solve,
) -> None:
    """The limit is the child's own, so that the service lives (R5)."""
    last = solve(request("eat-memory"))[-1]

    assert last.end_reason == pb.END_REASON_ERROR
    assert "--memory-limit-bytes" in last.message
    assert solve(request())[-1].end_reason == pb.END_REASON_OPTIMAL


def test_a_child_that_is_killed_is_told_with_its_signal_and_best_plan(
    channel: grpc.Channel, solve: Solve
) -> None:
    """The kernel's memory killer gives no other notice."""
    wait_for_turn(solve)
    updates = iter(pb_grpc.OptimizerStub(channel).Solve(request("hang")))
    best = next(update for update in updates if update.plan.placements)
    await_one_child("a child to be at work", AT_WORK_S).kill()

    last = list(updates)[-1]
    assert last.end_reason == pb.END_REASON_ERROR
    assert "SIGKILL" in last.message
    assert last.plan.placements == best.plan.placements
    assert solve(request())[-1].end_reason == pb.END_REASON_OPTIMAL


def test_a_strategy_that_crashes_is_an_error_with_its_cause(solve: Solve) -> None:
    """A bug is reported, not hidden behind an empty plan."""
    last = solve(request("crash"))[-1]

    assert last.end_reason == pb.END_REASON_ERROR
    assert "RuntimeError: a bug in the strategy" in last.message


def test_a_plan_that_fails_the_checker_never_leaves(
    solve: Solve, service: Service
) -> None:
    """Wrong answers of the solver must not reach a cluster (R12)."""
    failures = counted(service, "stowage_optimizer_verify_failures_total")

    updates = solve(request("lie"))

    assert len(updates) == 1
    assert updates[0].end_reason == pb.END_REASON_ERROR
    assert not updates[0].HasField("plan")
    assert "capacity" in updates[0].message
    after = counted(service, "stowage_optimizer_verify_failures_total")
    assert after == failures + 1


def test_every_issue_of_a_snapshot_is_reported_at_once(solve: Solve) -> None:
    """One round trip is enough to correct everything."""
    builder = SnapshotBuilder().node("n", cpu_milli=-1).node("n")
    builder.pod("p", of="missing", node="nowhere")

    last = solve(
        pb.SolveRequest(
            snapshot=builder.message,
            options=pb.SolveOptions(strategy="magic", alpha=2, time_limit_s=-1),
        )
    )[-1]

    assert last.end_reason == pb.END_REASON_INFEASIBLE_INPUT
    for part in ("cpu_milli", "'n' appears twice", "missing", "nowhere"):
        assert part in last.message
    for part in ("options.strategy", "options.alpha", "options.time_limit_s"):
        assert part in last.message


def test_bytes_of_no_request_are_refused_as_such(channel: grpc.Channel) -> None:
    """Garbage in, nothing out (R11)."""
    call: grpc.UnaryStreamMultiCallable[bytes, bytes] = channel.unary_stream(
        f"/{SERVICE}/Solve"
    )

    with pytest.raises(grpc.RpcError) as caught:
        list(call(b"\xff\xff\xff\xff"))

    assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert "same contract" in str(caught.value.details())


@pytest.mark.parametrize("factor", [1.5, 3])
def test_a_request_over_the_limit_is_refused(
    channel: grpc.Channel, service_settings: ServiceSettings, factor: float
) -> None:
    """Memory is bounded before anything is parsed (R5)."""
    call: grpc.UnaryStreamMultiCallable[bytes, bytes] = channel.unary_stream(
        f"/{SERVICE}/Solve"
    )

    with pytest.raises(grpc.RpcError) as caught:
        list(call(b"\0" * int(factor * service_settings.max_request_bytes)))

    assert caught.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED


def test_a_call_beyond_the_queue_is_refused_and_a_client_that_leaves_frees_the_turn(
    channel: grpc.Channel, solve: Solve
) -> None:
    """One solve at a time; an abandoned one must not hold up the next (R21)."""
    stub = pb_grpc.OptimizerStub(channel)
    hanging = stub.Solve(request("hang"))
    next(iter(hanging))
    hung = children()

    with pytest.raises(grpc.RpcError) as caught:
        solve(request())
    hanging.cancel()

    assert caught.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert "call again" in str(caught.value.details())
    await_end(hung, left=1)
    wait_for_turn(solve)


@pytest.mark.parametrize("strategy", ["lexicographic", "cpsat-aggregated", "milp"])
def test_a_call_that_is_cancelled_stops_its_child_inside_any_solver(
    channel: grpc.Channel, solve: Solve, strategy: str
) -> None:
    """CP-SAT and HiGHS run on for minutes unless they are stopped (R21)."""
    wait_for_turn(solve)
    call = pb_grpc.OptimizerStub(channel).Solve(
        pb.SolveRequest(
            snapshot=crowded(1, nodes=60),
            options=pb.SolveOptions(strategy=strategy, time_limit_s=300),
        )
    )
    at_work = await_one_child("a child to be at work", AT_WORK_S)
    assert call.is_active()

    call.cancel()

    await_end([at_work])
    wait_for_turn(solve)


def cpu_s(process: psutil.Process) -> float:
    with suppress(psutil.NoSuchProcess):
        return float(process.cpu_times().user)
    return 0.0


def status(process: psutil.Process) -> str:
    with suppress(psutil.NoSuchProcess):
        return str(process.status())
    return psutil.STATUS_DEAD


def test_calls_in_several_threads_are_all_answered(solve: Solve) -> None:
    """Refused or solved, but never mixed up."""
    wait_for_turn(solve)
    outcomes: list[object] = []
    threads = [
        threading.Thread(target=lambda: outcomes.append(_outcome(solve)))
        for _ in range(8)
    ]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(outcomes) == 8
    allowed = {pb.END_REASON_OPTIMAL, grpc.StatusCode.RESOURCE_EXHAUSTED}
    assert set(outcomes) <= allowed
    assert pb.END_REASON_OPTIMAL in outcomes


def wait_for_turn(solve: Solve) -> None:
    """Wait until a client that left earlier no longer holds the turn."""
    wait_until(
        "the turn to be free",
        lambda: _outcome(solve),
        lambda outcome: outcome == pb.END_REASON_OPTIMAL,
        timeout_s=HANG_S,
    )


def _outcome(solve: Solve) -> object:
    try:
        return solve(request())[-1].end_reason
    except grpc.RpcError as error:
        return error.code()


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


def test_the_solver_gets_its_whole_limit_however_long_reading_takes(
    solve: Solve, large: pb.Snapshot
) -> None:
    """At the default limit nothing was left of it for 50,000 pods."""
    solve(request())
    await_one_ready()

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
    solve(request())
    child = await_one_ready()
    child.send_signal(signal.SIGSTOP)
    asked = request(time_limit_s=LIMIT_S)

    (last,) = solve(asked)

    assert last.end_reason == pb.END_REASON_TIME_LIMIT
    assert "the snapshot was not read" in last.message
    assert last.durations.decode_s > 0
    await_end([child])
    assert solve(asked)[-1].end_reason == pb.END_REASON_OPTIMAL
