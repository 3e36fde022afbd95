"""The service keeps its promises to a real client on a real socket."""

import signal
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import grpc
import psutil
import pytest
from made_snapshots import crowded_cluster
from snapshot_builder import SnapshotBuilder, figure_1

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.contract import optimizer_pb2_grpc as pb_grpc
from stowage_optimizer.service.server import SERVICE, Service
from stowage_optimizer.service.settings import MIB, ServiceSettings
from stowage_optimizer.verify import verify_plan
from stowage_testbed.base.wait import wait_until

Solve = Callable[[pb.SolveRequest], list[pb.SolveUpdate]]

AT_WORK_S = 0.5
"""CPU time of a child that has read its request and asked a solver."""

LIMIT_S = 1.0
PODS = 5_000
"""About as many as the service under test takes, and much to read."""


def request(strategy: str = "paper", time_limit_s: float = 30.0) -> pb.SolveRequest:
    return pb.SolveRequest(snapshot=figure_1(), options=pb.SolveOptions(strategy=strategy, time_limit_s=time_limit_s))


def counted(service: Service, name: str) -> float:
    metrics = service.metrics.registry
    return metrics.get_sample_value(f"stowage_optimizer_{name}") or 0.0


def children() -> list[psutil.Process]:
    """Return the processes two steps below this one: children of the fork server."""
    return [
        child
        for fork_server in psutil.Process().children()
        if "stowage_optimizer.service.fork_server" in fork_server.cmdline()
        for child in fork_server.children()
    ]


def cpu_s(process: psutil.Process) -> float:
    with suppress(psutil.NoSuchProcess):
        return float(process.cpu_times().user)
    return 0.0


def status(process: psutil.Process) -> str:
    with suppress(psutil.NoSuchProcess):
        return str(process.status())
    return psutil.STATUS_DEAD


def await_one_at_work() -> psutil.Process:
    (found,) = wait_until(
        "a child to be at work",
        lambda: [child for child in children() if cpu_s(child) >= AT_WORK_S],
        lambda found: len(found) == 1,
    )
    return found


def await_one_ready() -> psutil.Process:
    """Return the child that stands by: a forked one sleeps only once it is ready."""
    (found,) = wait_until(
        "a child to stand by",
        lambda: [(child, status(child)) for child in children()],
        lambda found: [state for _, state in found] == [psutil.STATUS_SLEEPING],
    )
    return found[0]


def await_end(processes: list[psutil.Process], left: int = 0) -> None:
    wait_until(
        "the child to be gone",
        lambda: [child.pid for child in processes if child.is_running()],
        lambda alive: len(alive) <= left,
    )


def outcome(solve: Solve) -> object:
    try:
        return solve(request())[-1].end_reason
    except grpc.RpcError as error:
        return error.code()


def wait_for_turn(solve: Solve) -> None:
    wait_until("the turn to be free", lambda: outcome(solve), lambda found: found == pb.END_REASON_OPTIMAL)


def test_figure_1_is_answered_with_one_move(solve: Solve) -> None:
    """Through every layer; a client that loses the stream may carry out what it has."""
    updates = solve(request())

    last = updates[-1]
    assert last.end_reason == pb.END_REASON_OPTIMAL
    assert last.plan.snapshot_id == "snapshot-1"
    assert (len(last.plan.placements), len(last.plan.moves)) == (1, 1)
    assert not last.plan.evictions
    assert last.durations.total_s > last.durations.solve_s > 0
    assert [update.last for update in updates] == [False] * (len(updates) - 1) + [True]
    for update in updates:
        assert verify_plan(figure_1(), update.plan, pb.POLICY_STRICT) == []


def test_the_socket_is_for_its_owner_only(service: Service, service_settings: ServiceSettings) -> None:
    """Whoever may write to the socket may have pods moved."""
    del service
    mode = service_settings.socket.stat().st_mode
    assert stat.S_ISSOCK(mode)
    assert stat.S_IMODE(mode) == 0o600


def test_a_hanging_solve_ends_with_its_best(solve: Solve, service: Service) -> None:
    """The solver's own limit is not to be trusted (R4)."""
    killed = counted(service, "killed_total")

    last = solve(request("hang", time_limit_s=LIMIT_S))[-1]

    assert last.end_reason == pb.END_REASON_TIME_LIMIT
    assert (len(last.plan.placements), len(last.plan.moves)) == (1, 1)
    # It must be visible what took long.
    durations = last.durations
    assert min(durations.decode_s, durations.solve_s, durations.verify_s) > 0
    assert durations.total_s > LIMIT_S
    assert counted(service, "killed_total") == killed + 1
    assert solve(request())[-1].end_reason == pb.END_REASON_OPTIMAL


@pytest.mark.parametrize(
    ("strategy", "limit_s", "reason", "said"),
    [
        # Never hang, whatever happens (R4).
        ("hang-at-once", 0.2, pb.END_REASON_TIME_LIMIT, ""),
        # The limit is the child's own, so that the service lives (R5).
        ("eat-memory", 30.0, pb.END_REASON_ERROR, "--memory-limit-bytes"),
        ("crash", 30.0, pb.END_REASON_ERROR, "RuntimeError: a bug in the strategy"),
    ],
)
def test_a_strategy_that_fails_is_told_with_its_cause_and_the_next_one_works(
    solve: Solve, strategy: str, limit_s: float, reason: pb.EndReason, said: str
) -> None:
    """A bug is reported, not hidden behind an empty plan; one found before is kept."""
    last = solve(request(strategy, time_limit_s=limit_s))[-1]
    assert last.end_reason == reason
    assert said in last.message
    assert bool(last.plan.placements) is (strategy == "eat-memory")
    assert solve(request())[-1].end_reason == pb.END_REASON_OPTIMAL


def test_a_killed_child_leaves_its_plan(channel: grpc.Channel, solve: Solve) -> None:
    """The kernel's memory killer gives no other notice."""
    wait_for_turn(solve)
    updates = iter(pb_grpc.OptimizerStub(channel).Solve(request("hang")))
    best = next(update for update in updates if update.plan.placements)
    await_one_at_work().kill()

    last = list(updates)[-1]
    assert last.end_reason == pb.END_REASON_ERROR
    assert "SIGKILL" in last.message
    assert last.plan.placements == best.plan.placements
    assert solve(request())[-1].end_reason == pb.END_REASON_OPTIMAL


@pytest.mark.parametrize("fork_server", [False, True])
def test_whatever_is_killed_while_nobody_calls_is_replaced(solve: Solve, fork_server: bool) -> None:
    """The kernel's memory killer may take it; the service heals itself.

    Every call gets a child of its own: nothing of one solve reaches the next.
    """
    solve(request())
    spare = await_one_ready()
    killed = spare.parent() if fork_server else spare
    assert killed is not None

    killed.kill()
    wait_until(
        "whatever was killed to be gone",
        lambda: {status(one) for one in (killed, spare)},
        lambda found: found <= {psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD},
    )

    assert solve(request())[-1].end_reason == pb.END_REASON_OPTIMAL
    assert await_one_ready().pid != spare.pid


def test_a_plan_that_fails_checks_never_leaves(solve: Solve, service: Service) -> None:
    """Wrong answers of the solver must not reach a cluster (R12)."""
    failures = counted(service, "verify_failures_total")
    (only,) = solve(request("lie"))
    assert (only.end_reason, only.HasField("plan")) == (pb.END_REASON_ERROR, False)
    assert "capacity" in only.message
    assert counted(service, "verify_failures_total") == failures + 1
    assert solve(request())[-1].end_reason == pb.END_REASON_OPTIMAL


def test_every_issue_of_a_snapshot_is_reported_at_once(solve: Solve) -> None:
    """One round trip is enough to correct everything."""
    builder = SnapshotBuilder().node("n", cpu_milli=-1).node("n")
    builder.pod("p", of="missing", node="nowhere")
    options = pb.SolveOptions(strategy="magic", alpha=2, time_limit_s=-1)

    last = solve(pb.SolveRequest(snapshot=builder.message, options=options))[-1]

    assert last.end_reason == pb.END_REASON_INFEASIBLE_INPUT
    parts = ("cpu_milli", "'n' appears twice", "missing", "nowhere",
             "options.strategy", "options.alpha", "options.time_limit_s")  # fmt: skip
    assert [part for part in parts if part not in last.message] == []


@pytest.mark.parametrize(
    ("sent", "code", "said"),
    [
        (b"\xff\xff\xff\xff", grpc.StatusCode.INVALID_ARGUMENT, "same contract"),
        # Memory is bounded before anything is parsed (R5).
        (b"\0" * (3 * MIB // 2), grpc.StatusCode.RESOURCE_EXHAUSTED, ""),
        (b"\0" * (3 * MIB), grpc.StatusCode.RESOURCE_EXHAUSTED, ""),
    ],
    ids=["no request", "too large", "far too large"],
)
def test_bytes_of_no_request_or_too_many_are_refused(
    channel: grpc.Channel, sent: bytes, code: grpc.StatusCode, said: str
) -> None:
    """Garbage in, nothing out (R11)."""
    call: grpc.UnaryStreamMultiCallable[bytes, bytes] = channel.unary_stream(f"/{SERVICE}/Solve")
    with pytest.raises(grpc.RpcError) as caught:
        list(call(sent))
    assert caught.value.code() == code
    assert said in str(caught.value.details())


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
    options = pb.SolveOptions(strategy=strategy, time_limit_s=300)
    call = pb_grpc.OptimizerStub(channel).Solve(pb.SolveRequest(snapshot=crowded_cluster(1, nodes=60), options=options))
    at_work = await_one_at_work()
    assert call.is_active()

    call.cancel()

    await_end([at_work])
    wait_for_turn(solve)


def test_calls_in_several_threads_are_all_answered(solve: Solve) -> None:
    """Refused or solved, but never mixed up."""
    wait_for_turn(solve)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: outcome(solve), range(8)))
    assert {pb.END_REASON_OPTIMAL} <= set(found)
    allowed = {pb.END_REASON_OPTIMAL, grpc.StatusCode.RESOURCE_EXHAUSTED}
    assert set(found) <= allowed


def test_the_solver_gets_its_whole_limit_however_long_reading_is(solve: Solve) -> None:
    """At the default limit nothing was left of it for 50,000 pods."""
    builder = SnapshotBuilder().node("n", cpu_milli=PODS, pods=PODS)
    builder.pod("p0", cpu_milli=1, node="n")
    large = builder.message
    for number in range(1, PODS):
        copied = large.pods.add()
        copied.CopyFrom(large.pods[0])
        copied.uid = copied.name = f"p{number}"
    solve(request())
    await_one_ready()

    options = pb.SolveOptions(strategy="tell-limit", time_limit_s=LIMIT_S)
    last = solve(pb.SolveRequest(snapshot=large, options=options))[-1]

    # Only what the call waited for its turn is missing.
    given_s = float(last.message)
    assert given_s <= LIMIT_S
    assert given_s + last.durations.decode_s > LIMIT_S


def test_a_child_that_hangs_while_it_reads_is_killed(solve: Solve) -> None:
    """Its caller is answered when the contract says, and the turn is free (R4)."""
    solve(request())
    child = await_one_ready()
    child.send_signal(signal.SIGSTOP)

    (last,) = solve(request(time_limit_s=LIMIT_S))

    assert last.end_reason == pb.END_REASON_TIME_LIMIT
    assert "the snapshot was not read" in last.message
    assert last.durations.decode_s > 0
    await_end([child])
    assert solve(request())[-1].end_reason == pb.END_REASON_OPTIMAL
