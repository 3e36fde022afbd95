"""The child process: solves one request, streams what it finds, and ends.

It is forked from the fork server, where the solver is imported already, reports that it
is ready, and waits for its one request. Nothing of it is trusted: the parent checks
each plan and kills the child at the limit.

What the stages publish on the way goes out from the outbox's thread, the newest only;
the last solution is written and sent here, past the outbox.
"""

import ctypes
import gc
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from multiprocessing.connection import Connection

from stowage_optimizer.contract import optimizer_pb2 as pb
from stowage_optimizer.model.decode import decode_options, decode_snapshot
from stowage_optimizer.model.encode import encode_plan, encode_refusals
from stowage_optimizer.model.issues import InvalidInputError, Issues
from stowage_optimizer.model.options import SolveOptions
from stowage_optimizer.model.packing import Assignment
from stowage_optimizer.model.snapshot import Snapshot
from stowage_optimizer.model.solution import Solution
from stowage_optimizer.model.time_budget import TimeBudget
from stowage_optimizer.search.cache import BackgroundCompiler
from stowage_optimizer.service.outbox import Outbox
from stowage_optimizer.service.settings import READ, READY, WorkerSettings
from stowage_optimizer.service.updates import progress_of_tiers
from stowage_optimizer.service.warmup import warm_up, warm_up_child, warm_up_devices
from stowage_optimizer.stages import pipeline
from stowage_optimizer.strategies.registry import load_strategies
from stowage_optimizer.strategies.strategy import Strategy

_PR_SET_PDEATHSIG = 1


def confine(memory_limit_bytes: int) -> None:
    """Confine the calling process.

    Parameters
    ----------
    memory_limit_bytes
        Address space that may be added to what is mapped now.
    """
    parent = os.getppid()
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        # The parent died before the kernel began to watch it.
        os._exit(1)
    # A terminal's Ctrl-C goes to the whole group; only the parent answers it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    limit = mapped_bytes() + memory_limit_bytes
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def mapped_bytes() -> int:
    """Return the size of this process's address space in bytes."""
    with open("/proc/self/statm", encoding="ascii") as statm:
        pages = int(statm.read().split()[0])
    return pages * resource.getpagesize()


@dataclass(slots=True)
class UpdateWriter:
    """Writes plans as updates.

    Parameters
    ----------
    started, decoded
        When the request had come, and when the solve began; in the clock's seconds.
    """

    send: Callable[[bytes], object]
    strategy: str
    started: float
    decoded: float
    _sent: Assignment | None = field(init=False, default=None)

    def write(self, solution: Solution, found: float) -> None:
        """Send ``solution``; only its progress if its changes have been sent before."""
        update = pb.SolveUpdate(
            strategy=self.strategy,
            durations=pb.Durations(decode_s=self.decoded - self.started, solve_s=found - self.decoded),
        )
        if solution.assignment == self._sent:
            # There is nothing in it for the service to check anew.
            progress = progress_of_tiers(solution.tiers)
            if progress is None:
                return
            update.progress.CopyFrom(progress)
        else:
            update.plan.CopyFrom(encode_plan(solution))
        self._sent = solution.assignment
        self.send(update.SerializeToString())


def solve_one(connection: Connection, settings: WorkerSettings, strategies: Mapping[str, Strategy]) -> None:
    """Get ready, take one request from ``connection``, answer it and return.

    The request comes as two messages: the seconds of the solve, and the contract's
    `SolveRequest`. After reading them it sends `READ`, and the seconds begin. Each
    answer is a `SolveUpdate`.
    """
    confine(settings.memory_limit_bytes)
    warm_up_child()
    connection.send_bytes(READY)
    try:
        time_limit_s = float(connection.recv_bytes().decode())
        body = connection.recv_bytes()
    except EOFError:
        return
    try:
        last = _answer(connection, body, time_limit_s, settings, strategies)
    except InvalidInputError as error:
        last = pb.SolveUpdate(end_reason=pb.END_REASON_INFEASIBLE_INPUT, message=str(error))
    except MemoryError:
        last = pb.SolveUpdate(
            end_reason=pb.END_REASON_ERROR, message="out of memory: raise --memory-limit-bytes or send fewer pods"
        )
    except Exception as error:  # the edge of the process
        traceback.print_exc(file=sys.stderr)
        last = pb.SolveUpdate(end_reason=pb.END_REASON_ERROR, message=f"{type(error).__name__}: {error}")
    last.last = True
    connection.send_bytes(last.SerializeToString())


def _answer(
    connection: Connection,
    body: bytes,
    time_limit_s: float,
    settings: WorkerSettings,
    strategies: Mapping[str, Strategy],
) -> pb.SolveUpdate:
    started = time.monotonic()
    # All of a snapshot stays: looking for garbage in it again and again took as long
    # as decoding it.
    gc.disable()
    request = pb.SolveRequest.FromString(body)
    snapshot, options = _decode(request, settings, strategies)
    packings = pipeline.Packings(snapshot)
    if not packings.asks_for_relations:
        # What every strategy begins with; it does not count as solving.
        _ = packings.plain
    gc.freeze()
    gc.enable()
    connection.send_bytes(READ)
    decoded = time.monotonic()
    writer = UpdateWriter(connection.send_bytes, options.strategy, started, decoded)
    # Steps must not depend on how long anything took.
    if not options.deterministic:
        options = replace(options, time_limit_s=time_limit_s)
    budget = TimeBudget.begin(options, time.monotonic)
    with Outbox(writer.write, clock=time.monotonic) as outbox:
        solution = pipeline.solve(strategies[options.strategy], packings, budget, outbox.publish)
    return pb.SolveUpdate(
        plan=encode_plan(solution),
        end_reason=pb.EndReason.Name(solution.end_reason.value),
        refusals=encode_refusals(solution.refusals),
        message=solution.message,
        durations=pb.Durations(decode_s=decoded - started, solve_s=time.monotonic() - decoded),
        strategy=options.strategy,
    )


def _decode(
    request: pb.SolveRequest, settings: WorkerSettings, strategies: Mapping[str, Strategy]
) -> tuple[Snapshot, SolveOptions]:
    issues = Issues()
    snapshot = decode_snapshot(request.snapshot, issues)
    options = decode_options(
        request.options,
        issues,
        strategies=strategies.keys(),
        default_time_limit_s=settings.time_limit_s,
        default_workers=settings.workers,
    )
    issues.raise_if_any()
    return snapshot, options


def prepare(settings: WorkerSettings, compiler: BackgroundCompiler) -> Callable[[Connection], None]:
    """Load and warm up what the children share; return what each of them does."""
    solve = partial(solve_one, settings=settings, strategies=load_strategies(settings.strategies))
    warm_up(compiler)
    if compiler.has_devices():
        warm_up_devices()
    gc.enable()
    return solve
